package bulk

import (
	"context"
	"encoding/json"
	"errors"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// may refuses what can be refused without looking at any workspace, and fills in what was left out.
func (b *Bulk) may(ctx context.Context, o *Options) (repositories.Repository, error) {
	if _, err := b.Door.May(ctx, b.DB, access.PlatformWorkspace, access.ActionUpdate); err != nil {
		return repositories.Repository{}, err
	}
	r, err := b.repository(o.RepositoryID)
	if err != nil {
		return r, err
	}
	o.RepositoryID = r.ID
	if o.Kind == Importing {
		return r, r.MayPull()
	}
	if err := (versioning.Push{Name: o.Name}).Check(); err != nil {
		return r, err
	}
	if err := b.unknown(o.Groups, func(string) bool { return false }); err != nil {
		return r, err
	}
	return r, r.MayPush()
}

// Plan tells what a bulk operation would do.
func (b *Bulk) Plan(ctx context.Context, o Options) (Plan, error) {
	repository, err := b.may(ctx, &o)
	if err != nil {
		return Plan{}, err
	}
	o.PlanID = ""
	leave, err := b.Versioning.Look()
	if err != nil {
		return Plan{}, err
	}
	defer leave()
	shared, err := b.Versioning.Share(ctx, repository)
	if err != nil {
		return Plan{}, err
	}
	defer shared.Close(ctx)
	found, err := b.list(ctx, o, shared)
	if err != nil {
		return Plan{}, err
	}
	return found.plan(), nil
}

// ongoing is the plan of the operation of a bulk: it is not rolled back but taken up again.
const ongoing = `{"bulk":true}`

// Start begins a bulk operation of a caller that may update the platform workspace. Another one that runs is resource_locked.
func (b *Bulk) Start(ctx context.Context, o Options) (*Run, error) {
	repository, err := b.may(ctx, &o)
	if err != nil {
		return nil, err
	}
	r := &running{options: o, repository: repository, feed: newFeed(), answer: &answer{}}
	if err := b.begin(ctx, r); err != nil {
		return nil, err
	}
	failpoint.At("bulk.begun")
	job, err := b.Versioning.Go(ctx, r.row.ID, func(ctx context.Context) (any, error) { return b.carryOut(ctx, r) })
	if err != nil {
		return nil, errors.Join(err, b.withdraw(ctx, r, err))
	}
	return &Run{ID: r.row.ID, job: job, feed: r.feed, answer: r.answer}, nil
}

// begin takes the lock of the platform workspace, and notes what was asked for.
func (b *Bulk) begin(ctx context.Context, r *running) error {
	options, err := json.Marshal(r.options)
	if err != nil {
		return err
	}
	principal, err := json.Marshal(access.From(ctx))
	if err != nil {
		return err
	}
	return b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		r.op, err = b.Definitions.BeginIn(ctx, tx, access.PlatformWorkspace, definitions.Start{Reason: r.options.Kind, RepositoryID: r.repository.ID, Plan: ongoing})
		if err != nil {
			return err
		}
		r.row = store.Bulk{
			ID: r.op.ID, Kind: r.options.Kind, Epoch: r.op.Epoch, RepositoryID: r.repository.ID, Place: r.repository.Fingerprint(),
			Options: string(options), Principal: string(principal), StartedAt: r.op.StartedAt, StartedBy: definitions.Author(ctx),
		}
		return store.PutBulk(ctx, tx, r.row)
	})
}

// withdraw ends an operation that did nothing, and of which only the caller knows.
func (b *Bulk) withdraw(ctx context.Context, r *running, failure error) error {
	ctx = context.WithoutCancel(ctx)
	return b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := store.EndBulk(ctx, tx, r.row, b.Definitions.Now()); err != nil {
			return err
		}
		return r.op.AbandonIn(ctx, tx, failure)
	})
}

// freeze keeps the workspaces of the operation, and tells of them.
func (b *Bulk) freeze(ctx context.Context, r *running, found listing) error {
	if found.options.Kind == Pushing && found.options.Name == "" {
		found.options.Name = versioning.AutoName(r.row.StartedAt, 1)
	}
	options, err := json.Marshal(found.options)
	if err != nil {
		return err
	}
	r.options, r.row.Options, r.row.Source, r.row.Listed = found.options, string(options), found.source, true
	rows := make([]store.BulkItem, 0, len(found.items))
	r.items, r.outcomes = found.items, make([]*outcome, len(found.items))
	for i, one := range found.items {
		if one.Status != "" && one.Status != Candidate { // nothing is done to it
			o := one.begun()
			r.outcomes[i] = &o
		}
		row, err := rowOf(i, one, r.outcomes[i])
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := r.op.Extend(ctx, tx); err != nil {
			return err
		}
		if err := store.FreezeBulk(ctx, tx, r.row, rows); err != nil {
			return err
		}
		return b.emit(ctx, tx, &catalogue.BulkStarted{Bulk: catalogue.Bulk(r.options.operation())}, found.started())
	})
}

func rowOf(position int, one item, came *outcome) (store.BulkItem, error) {
	text, err := json.Marshal(one)
	if err != nil {
		return store.BulkItem{}, err
	}
	row := store.BulkItem{Position: position, Item: string(text)}
	if came != nil {
		text, err = json.Marshal(came)
		row.Outcome = string(text)
	}
	return row, err
}

// refusal deals with an operation that could not begin: the client that waits gets the error, otherwise an event tells.
func (b *Bulk) refusal(ctx context.Context, r *running, failure error) error {
	ctx = context.WithoutCancel(ctx)
	if r.answer != nil && r.answer.settle(told) {
		return errors.Join(failure, b.withdraw(ctx, r, failure))
	}
	if err := b.end(ctx, r, failure); err != nil {
		return errors.Join(failure, err)
	}
	return failure
}
