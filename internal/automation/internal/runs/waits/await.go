package waits

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
)

// Await waits for the first event that is wanted; false when the time is over. A wait of a run that is begun anew goes on, or gives
// what it gave before.
func (s *Store) Await(ctx context.Context, w Wait) (event any, came bool, err error) {
	woken := s.register(w.ID)
	defer s.unregister(w.ID)
	at, err := s.open(ctx, w)
	if err != nil {
		return nil, false, err
	}
	failpoint.At("waits.opened")
	if w.RunID == "" {
		defer s.discard(ctx, w.ID)
	}
	if at.state == pending {
		w.Since = at.since
		if err := s.lookBack(ctx, w); err != nil {
			return nil, false, err
		}
	}
	timer := s.Clock.NewTimer(sqldb.Time(at.expires).Sub(s.Clock.Now()))
	defer timer.Stop()
	for {
		if at, err = s.read(ctx, w.ID); err != nil {
			return nil, false, err
		}
		if at.state != pending {
			return at.result()
		}
		select {
		case <-woken:
		case <-timer.C():
			if err := s.expire(ctx, w.ID); err != nil {
				return nil, false, err
			}
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// row is a wait as it is stored.
type row struct {
	state   string
	event   string
	since   bus.Position
	expires int64
}

func (r row) result() (any, bool, error) {
	if r.state != fulfilled {
		return nil, false, nil
	}
	event, err := value.Decode(r.event)
	return event, true, err
}

// open stores the wait, unless it was stored before: then it begins where it began, and ends when it would have ended.
func (s *Store) open(ctx context.Context, w Wait) (at row, err error) {
	wanted, err := w.Wanted.text()
	if err != nil {
		return at, err
	}
	expires := sqldb.Millis(s.Clock.Now().Add(w.Timeout))
	err = s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `INSERT INTO run_waits (id, run_id, workspace_id, wanted, since, expires_at, state, event)
			VALUES ($1, $2, $3, $4, $5, $6, 'pending', '') ON CONFLICT (id) DO NOTHING`,
			w.ID, w.RunID, w.WorkspaceID, wanted, int64(w.Since), expires)
		if err != nil {
			return err
		}
		if n == 0 {
			at, err = stored(ctx, tx, w.ID)
			return err
		}
		at = row{state: pending, since: w.Since, expires: expires}
		if err := s.checkRoom(ctx, tx, w.WorkspaceID); err != nil {
			return err
		}
		for eventType := range w.Wanted.types() {
			_, err := tx.Exec(ctx, `INSERT INTO run_wait_types (workspace_id, type, wait_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
				w.WorkspaceID, eventType, w.ID)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return at, err
}

// checkRoom refuses one wait too many.
func (s *Store) checkRoom(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	var count int
	err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM run_wait_types WHERE workspace_id = $1 LIMIT $2) AS waiting`, workspaceID, s.Most).Scan(&count)
	if err == nil && count >= s.Most {
		return machine.Fail(machine.QuotaExceeded, "Too many automations of this workspace wait for events; let some of them end first.").
			With(map[string]any{"limit": s.Most})
	}
	return err
}

func stored(ctx context.Context, r sqldb.Reader, id string) (at row, err error) {
	err = r.QueryRow(ctx, `SELECT state, event, since, expires_at FROM run_waits WHERE id = $1`, id).Scan(&at.state, &at.event, &at.since, &at.expires)
	return at, err
}

// read gives the wait as it is; one that is gone counts as over, because its run is.
func (s *Store) read(ctx context.Context, id string) (row, error) {
	at, err := stored(ctx, s.DB, id)
	if sqldb.IsNotFound(err) {
		return row{state: expired}, nil
	}
	return at, err
}

// expire ends the wait, unless it was fulfilled at the last moment.
func (s *Store) expire(ctx context.Context, id string) error {
	return s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE run_waits SET state = 'expired' WHERE id = $1 AND state = 'pending'`, id)
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM run_wait_types WHERE wait_id = $1`, id)
		return err
	})
}

// discard removes a wait that nobody comes back for.
func (s *Store) discard(ctx context.Context, id string) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.DB.Tx(ctx, func(tx *sqldb.Tx) error { return remove(ctx, tx, id) })
	if err != nil {
		s.Log.WarnContext(ctx, "a wait that is over could not be removed; it is removed later", "error", err)
	}
}

func remove(ctx context.Context, tx *sqldb.Tx, id string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM run_waits WHERE id = $1`, id); err != nil { // everybody locks in this order
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM run_wait_types WHERE wait_id = $1`, id)
	return err
}

// lookBack finds what came between the place that the wait begins after and now: whoever reads the log may have passed it before the
// wait was stored.
func (s *Store) lookBack(ctx context.Context, w Wait) error {
	const page, most = 200, 10_000
	types := w.Wanted.types()
	args := []any{w.WorkspaceID, int64(w.Since), page}
	for eventType := range types {
		args = append(args, eventType)
	}
	for seen := 0; seen < most; {
		events, err := sqldb.All(ctx, s.DB, sqlbus.ScanEvent, `SELECT pos, workspace_id, type, body FROM bus_events
			WHERE workspace_id = $1 AND pos > $2 AND type IN (`+sqldb.In(4, len(types))+`) ORDER BY pos LIMIT $3`, args...)
		if err != nil {
			return err
		}
		for _, e := range events {
			done, err := s.offer(ctx, w, e)
			if done || err != nil {
				return err
			}
		}
		if len(events) < page {
			return nil
		}
		seen += len(events)
		args[1] = int64(events[len(events)-1].Position)
	}
	return nil
}

// offer fulfils the wait with an event that is wanted.
func (s *Store) offer(ctx context.Context, w Wait, e bus.Event) (done bool, err error) {
	event, err := Value(e)
	if err != nil {
		return false, nil //nolint:nilerr // an event that no automation could read is not waited for
	}
	if _, matches := w.Wanted.match(e.Type, event); !matches {
		return false, nil
	}
	err = s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := s.Fulfil(ctx, tx, Match{ID: w.ID, Event: e, value: event})
		return err
	})
	return true, err
}

// over tells which of some waits are.
func (s *Store) over(ctx context.Context, ids []string) ([]string, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return sqldb.All(ctx, s.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT id FROM run_waits WHERE id IN (`+sqldb.In(1, len(ids))+`) AND state <> 'pending'`, args...)
}

// sweep removes what processes left behind that died while somebody waited in them.
func (s *Store) sweep(ctx context.Context, now time.Time) error {
	return s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		const gone = `SELECT id FROM run_waits WHERE run_id = '' AND expires_at < $1`
		if _, err := tx.Exec(ctx, `DELETE FROM run_wait_types WHERE wait_id IN (`+gone+`)`, sqldb.Millis(now.Add(-orphaned))); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM run_waits WHERE run_id = '' AND expires_at < $1`, sqldb.Millis(now.Add(-orphaned)))
		return err
	})
}
