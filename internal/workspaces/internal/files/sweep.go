package files

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/sqldb"
)

const (
	// sweepEvery is how long a file that has ended may still take room.
	sweepEvery = 10 * time.Minute
	// grace is how long a content stays that nothing refers to: far longer than any request, or a backup, takes.
	grace = 24 * time.Hour
	// removeWithin bounds the removal of one content; claimedFor is after what an instance that claimed one is taken for dead.
	removeWithin = time.Minute
	claimedFor   = 30 * time.Minute
	sweepBatch   = 100
)

// Run removes what has ended, now and every few minutes, until ctx ends. Several instances may do so at the same time.
func (f *Files) Run(ctx context.Context) error {
	for {
		if err := f.Sweep(ctx); err != nil && ctx.Err() == nil {
			f.Log.WarnContext(ctx, "expired files could not be removed; the next round tries again", "error", err.Error())
		}
		timer := f.Clock.NewTimer(sweepEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Sweep removes files that have ended, and contents that nothing has referred to for a day.
func (f *Files) Sweep(ctx context.Context) error {
	if err := f.sweepFiles(ctx); err != nil {
		return err
	}
	return f.sweepContents(ctx)
}

func (f *Files) sweepFiles(ctx context.Context) error {
	for removed := sweepBatch; removed == sweepBatch; {
		err := f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			gone, err := removeExpired(ctx, tx, f.now(), sweepBatch)
			if err != nil {
				return err
			}
			removed = len(gone)
			if err := f.release(ctx, tx, gone...); err != nil {
				return err
			}
			return f.emit(ctx, tx, catalogue.Deleted, gone...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepContents looks at everything that is due once: what cannot be removed now is left for a later round, and does not
// keep the rest.
func (f *Files) sweepContents(ctx context.Context) (failed error) {
	after := ""
	for ctx.Err() == nil {
		due, err := f.due(ctx, after)
		if err != nil || len(due) == 0 {
			return errors.Join(failed, err)
		}
		for _, hash := range due {
			if err := f.settle(ctx, hash); err != nil {
				failed = err
			}
		}
		after = due[len(due)-1]
	}
	return ctx.Err()
}

// due lists contents whose time has come, in the order of their hashes.
func (f *Files) due(ctx context.Context, after string) ([]string, error) {
	before, abandoned := f.deadlines()
	return sqldb.All(ctx, f.DB, func(rows *sql.Rows) (hash string, err error) { return hash, rows.Scan(&hash) },
		`SELECT hash FROM ws_contents WHERE since <= $1 AND (claimed_at = 0 OR claimed_at <= $2) AND hash > $3 ORDER BY hash LIMIT $4`,
		before, abandoned, after, sweepBatch)
}

// deadlines are the last moments at which a content of today was noted, and a dead instance claimed one.
func (f *Files) deadlines() (noted, claimed int64) {
	now := f.Clock.Now()
	return sqldb.Millis(now.Add(-grace)), sqldb.Millis(now.Add(-claimedFor))
}

// settle takes a content that is in use from the list, and removes one that is not.
func (f *Files) settle(ctx context.Context, hash string) error {
	before, abandoned := f.deadlines()
	mine := sqldb.Millis(f.Clock.Now())
	claimed := false
	err := f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		used, err := f.used(ctx, tx, hash)
		if err != nil {
			return err
		}
		if used {
			_, err := tx.Exec(ctx, `DELETE FROM ws_contents WHERE hash = $1 AND since <= $2 AND claimed_at = 0`, hash, before)
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE ws_contents SET claimed_at = $1 WHERE hash = $2 AND since <= $3 AND (claimed_at = 0 OR claimed_at <= $4)`,
			mine, hash, before, abandoned)
		claimed = n == 1
		return err
	})
	if err != nil || !claimed {
		return err
	}
	return f.discard(ctx, hash, mine)
}

// used tells whether anything refers to a content.
func (f *Files) used(ctx context.Context, tx *sqldb.Tx, hash string) (bool, error) {
	var one int
	err := tx.QueryRow(ctx, `SELECT 1 FROM ws_files WHERE hash = $1 LIMIT 1`, hash).Scan(&one)
	if err == nil {
		return true, nil
	}
	if !sqldb.IsNotFound(err) {
		return false, err
	}
	return f.Referenced(ctx, tx, hash)
}

// discard removes a content that was claimed, and its claim.
func (f *Files) discard(ctx context.Context, hash string, claim int64) error {
	bounded, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	if err := f.Blobs.Delete(bounded, hash); err != nil {
		return err
	}
	return f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM ws_contents WHERE hash = $1 AND claimed_at = $2`, hash, claim)
		return err
	})
}

// Purge removes all files of a workspace, in the transaction that removes the workspace itself. Their contents follow.
func (f *Files) Purge(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	if _, err := tx.Exec(ctx, `INSERT INTO ws_contents (hash, since, claimed_at) SELECT DISTINCT hash, CAST($1 AS BIGINT), 0 FROM ws_files WHERE workspace_id = $2
		ON CONFLICT (hash) DO UPDATE SET since = excluded.since WHERE ws_contents.claimed_at = 0`, sqldb.Millis(f.Clock.Now()), workspaceID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM ws_files WHERE workspace_id = $1`, workspaceID)
	return err
}
