package versioning

import (
	"context"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
)

// progress tells of the steps of an operation. What was noted is stored with the next step that is awaited, or at the latest
// with the end of the operation, so that a quick operation does not wait for the disk once a step.
type progress struct {
	v          *Versioning
	op         *definitions.Operation
	operation  string
	repository string
	branch     string
	// silent tells that nobody is to know.
	silent  bool
	noted   []*catalogue.VersionProgress
	stepped time.Time
	flushed time.Time
}

func (v *Versioning) progress(op *definitions.Operation, operation, repositoryID, branch string) *progress {
	now := v.Clock.Now()
	return &progress{v: v, op: op, operation: operation, repository: repositoryID, branch: branch, stepped: now, flushed: now}
}

// patience is how long a step waits to be told of.
const patience = 500 * time.Millisecond

// step notes that a step begins.
func (p *progress) step(ctx context.Context, name, message string) {
	if p.silent {
		return
	}
	p.note(name, message)
	if p.v.Clock.Now().Sub(p.flushed) >= patience {
		p.flush(ctx)
	}
}

func (p *progress) note(name, message string) *catalogue.VersionProgress {
	p.op.Step(name)
	now := p.v.Clock.Now()
	payload := &catalogue.VersionProgress{
		Operation: p.operation, OperationID: p.op.ID, Step: name, Message: message, StartedAt: p.op.StartedAt,
		StepDuration: now.Sub(p.stepped).Milliseconds(), RepositoryID: p.repository, Branch: p.branch,
	}
	p.stepped = now
	p.noted = append(p.noted, payload)
	return payload
}

// flush stores what was noted. A failure to tell does not fail the operation.
func (p *progress) flush(ctx context.Context) {
	if err := p.v.DB.Tx(ctx, func(tx *sqldb.Tx) error { return p.store(ctx, tx) }); err != nil {
		p.v.Log.WarnContext(ctx, "the progress of an operation could not be told", "error", err)
		return
	}
	p.noted, p.flushed = nil, p.v.Clock.Now()
}

// store stores what was noted in the transaction that ends the operation.
func (p *progress) store(ctx context.Context, tx *sqldb.Tx) error {
	for _, payload := range p.noted {
		if err := p.v.Definitions.Emit(ctx, tx, p.op.Workspace.ID, payload); err != nil {
			return err
		}
	}
	return nil
}

// failed tells that the operation failed.
func (p *progress) failed(ctx context.Context, failure error) {
	shown := errs.From(failure).Show()
	p.note("error", shown.Message).Error = &shown
	p.flush(context.WithoutCancel(ctx))
}
