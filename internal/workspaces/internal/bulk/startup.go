package bulk

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/store"
)

// betweenGroups is how long the import at the start waits before the next group, for what the last one started to settle.
const betweenGroups = 30 * time.Second

// importAtStart imports the groups that the operator wants to be there, one after another, as nobody in particular. Of several
// instances that start, the one that gets the lock of the platform workspace does it. It ends at the first group with errors:
// the next ones may need what is missing.
func (b *Bulk) importAtStart(ctx context.Context) {
	ctx = access.With(ctx, System())
	for n, group := range b.Platform.StartupGroups {
		if n > 0 && !b.pause(ctx, betweenGroups) {
			return
		}
		log := b.Log.With("group", group, "repository", b.Platform.StartupRepository)
		run, err := b.Start(ctx, Options{Kind: Importing, RepositoryID: b.Platform.StartupRepository, Groups: []string{group}})
		if errs.CodeOf(err) == errs.Locked {
			log.InfoContext(ctx, "the import at the start is left to somebody else, who is at it")
			return
		}
		if err != nil {
			log.ErrorContext(ctx, "the import at the start failed", "error", err)
			return
		}
		if !b.wentWell(ctx, run, log) {
			return
		}
		log.InfoContext(ctx, "imported at the start")
	}
}

// wentWell waits for the end of an import, whoever brings it there, and tells whether there were no errors.
func (b *Bulk) wentWell(ctx context.Context, run *Run, log *slog.Logger) bool {
	completed, ended, err := run.Wait(ctx, nil)
	if err == nil && !ended && ctx.Err() == nil { // another instance has it now
		log.InfoContext(ctx, "another instance goes on with the import at the start")
		completed, err = b.followed(ctx, run.ID)
	}
	if err != nil || ctx.Err() != nil {
		if ctx.Err() == nil {
			log.ErrorContext(ctx, "the import at the start failed", "error", err)
		}
		return false
	}
	done, _ := completed.(ImportCompleted)
	log = log.With("created", len(done.CreatedWorkspaceIDs), "updated", len(done.UpdatedWorkspaceIDs), "skipped", len(done.SkippedWorkspaceIDs), "errors", len(done.Errors))
	if len(done.Errors) > 0 {
		log.ErrorContext(ctx, "the import at the start ended with errors", "first", done.Errors[0].Message)
		return false
	}
	return true
}

// followed waits until an operation that another instance goes on with has ended, and gives what came of it.
func (b *Bulk) followed(ctx context.Context, id string) (any, error) {
	for {
		row, err := store.GetBulk(ctx, b.DB, id)
		if err != nil {
			return nil, err
		}
		if row.Status != store.Running {
			return b.outcomeOf(ctx, row)
		}
		if !b.pause(ctx, recoverEvery) {
			return nil, ctx.Err()
		}
	}
}

// outcomeOf is what came of an operation that has ended; an error when it did not get to its end.
func (b *Bulk) outcomeOf(ctx context.Context, row store.Bulk) (any, error) {
	r := &running{row: row}
	if err := b.load(ctx, r); err != nil {
		return nil, err
	}
	if !row.Listed || slices.Contains(r.outcomes, nil) {
		return nil, errors.New("another instance could not finish it")
	}
	return b.completed(r, nil), nil
}
