package bulk

import (
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
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
		completed, ended, err := run.Wait(ctx, nil)
		if err != nil || !ended {
			if ctx.Err() == nil {
				log.ErrorContext(ctx, "the import at the start failed", "error", err)
			}
			return
		}
		done, _ := completed.(ImportCompleted)
		log = log.With("created", len(done.CreatedWorkspaceIDs), "updated", len(done.UpdatedWorkspaceIDs), "skipped", len(done.SkippedWorkspaceIDs), "errors", len(done.Errors))
		if len(done.Errors) > 0 {
			log.ErrorContext(ctx, "the import at the start ended with errors", "first", done.Errors[0].Message)
			return
		}
		log.InfoContext(ctx, "imported at the start")
	}
}
