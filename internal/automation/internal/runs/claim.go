package runs

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"atelier/internal/sqldb"
)

const (
	// How often the table is looked at for runs that are nobody's.
	claimEvery = time.Second
	// claimLanes is how many workspaces are looked at in one round, claimRuns how many runs of each are taken at most.
	claimLanes, claimRuns = 100, 64
)

// claiming takes runs that are nobody's until ctx ends, of all workspaces in turn.
func (r *Runs) claiming(ctx context.Context) {
	after := ""
	for {
		more, next, err := r.claim(ctx, after)
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "runs that wait cannot be read; trying again", "error", err)
		}
		after = next
		if more && err == nil && ctx.Err() == nil {
			continue
		}
		timer := r.Clock.NewTimer(claimEvery)
		select {
		case <-timer.C():
		case <-r.pool.claimers:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// claim takes some runs of the workspaces that come after one. More tells that there are workspaces left in this round.
func (r *Runs) claim(ctx context.Context, after string) (more bool, next string, err error) {
	waiting, err := r.withFreeRuns(ctx, after)
	if err != nil || len(waiting) == 0 {
		return false, "", err
	}
	me := r.owner.get()
	for _, workspaceID := range waiting {
		room := min(r.pool.room(workspaceID, true), claimRuns)
		if room == 0 {
			r.pool.spill(workspaceID, true)
			continue
		}
		jobs, err := r.take(ctx, me, workspaceID, room)
		if err != nil {
			return false, "", err
		}
		r.pool.spill(workspaceID, len(jobs) == room)
		r.pool.add(jobs...)
	}
	if len(waiting) < claimLanes {
		return false, "", nil
	}
	return true, waiting[len(waiting)-1], nil
}

// withFreeRuns lists workspaces with runs that are nobody's, each found by one step through the index however many runs it has.
func (r *Runs) withFreeRuns(ctx context.Context, after string) ([]string, error) {
	return sqldb.All(ctx, r.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`WITH RECURSIVE waiting (id) AS (
			SELECT MIN(workspace_id) FROM runs WHERE owner = '' AND workspace_id > $1
			UNION ALL
			SELECT (SELECT MIN(workspace_id) FROM runs WHERE owner = '' AND workspace_id > waiting.id) FROM waiting WHERE waiting.id IS NOT NULL
		) SELECT id FROM waiting WHERE id IS NOT NULL LIMIT $2`, after, claimLanes)
}

// take makes runs of a workspace this instance's, those who wait longest first.
func (r *Runs) take(ctx context.Context, me, workspaceID string, most int) (jobs []*job, err error) {
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		rows, err := sqldb.All(ctx, tx, scanRow, `UPDATE runs SET owner = $1 WHERE owner = '' AND id IN (
			SELECT id FROM runs WHERE owner = '' AND workspace_id = $2 ORDER BY position, id LIMIT $3) RETURNING `+rowColumns, me, workspaceID, most)
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.position, b.position) })
		jobs = make([]*job, len(rows))
		for i, one := range rows {
			jobs[i] = &job{row: one}
		}
		return err
	})
	return jobs, err
}
