package runs

import (
	"context"
	"time"

	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
)

// finishing removes runs that are done, many in one commit, until there are no more. When ctx has ended, nothing is tried twice.
func (r *Runs) finishing(ctx context.Context) {
	const most = 256
	for first := range r.finish {
		batch := []*job{first}
	collect:
		for len(batch) < most {
			select {
			case j, ok := <-r.finish:
				if !ok {
					break collect
				}
				batch = append(batch, j)
			default:
				break collect
			}
		}
		r.removeAll(ctx, batch)
	}
}

// removeAll removes runs, through failures that may pass. A run that cannot be removed is begun anew later, and does nothing twice.
func (r *Runs) removeAll(ctx context.Context, batch []*job) {
	const patience = 10 * time.Second
	for {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		err := r.DB.Tx(limited, func(tx *sqldb.Tx) error { return removeRows(limited, tx, batch) })
		cancel()
		failpoint.At("runs.removed")
		if err == nil {
			return
		}
		r.Log.WarnContext(ctx, "runs that are done cannot be removed; trying again", "runs", len(batch), "error", err)
		if !passing(err) || !r.pause(ctx, troublePause) {
			return
		}
	}
}
