package webhooks

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/sqldb"
)

// LogAge is how long deliveries and their attempts can be looked up and replayed.
const LogAge = 30 * 24 * time.Hour

// trimChunk bounds what one transaction removes, so that nobody waits long for it.
const trimChunk = 500

// Trim removes deliveries that were finished, or that a disabled subscription has left waiting, more than LogAge ago, those of
// subscriptions and workspaces that are gone, and the events that no delivery needs any more. It tells how many deliveries there were. It may
// be stopped and repeated, and run by several instances at once.
func (w *Webhooks) Trim(ctx context.Context) (removed int64, err error) {
	if err := w.purge(ctx); err != nil {
		return 0, err
	}
	before := sqldb.Millis(w.Clock.Now().Add(-LogAge))
	for {
		n, err := w.trimDeliveries(ctx, before)
		removed += n
		if err != nil {
			return removed, err
		}
		if n < trimChunk {
			break
		}
	}
	for {
		n, err := w.trimMessages(ctx, before)
		if err != nil || n < trimChunk {
			return removed, err
		}
	}
}

func (w *Webhooks) trimDeliveries(ctx context.Context, before int64) (n int64, err error) {
	ids, err := sqldb.All(ctx, w.DB, func(rows *sql.Rows) (id any, err error) {
		var text string
		err = rows.Scan(&text)
		return text, err
	}, `SELECT d.id FROM ev_deliveries d LEFT JOIN ev_subscriptions s ON s.id = d.subscription_id
		WHERE s.id IS NULL OR d.created_at < $1 AND (d.state <> 'pending' AND d.finished_at < $1 OR s.state <> 'active') LIMIT $2`, before, trimChunk)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM ev_attempts WHERE delivery_id IN (`+sqldb.In(1, len(ids))+`)`, ids...); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM ev_deliveries WHERE id IN (`+sqldb.In(1, len(ids))+`)`, ids...)
		return err
	})
	return int64(len(ids)), err
}

func (w *Webhooks) trimMessages(ctx context.Context, before int64) (n int64, err error) {
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err = tx.Exec(ctx, `DELETE FROM ev_messages WHERE (workspace_id, pos) IN (SELECT m.workspace_id, m.pos FROM ev_messages m
			WHERE m.pos < $1 AND NOT EXISTS (SELECT 1 FROM ev_deliveries d WHERE d.workspace_id = m.workspace_id AND d.pos = m.pos) LIMIT $2)`,
			int64(bus.PositionAt(sqldb.Time(before), 0)), trimChunk)
		return err
	})
	return n, err
}

// purge removes the subscriptions of workspaces that are gone for good; Trim then removes what they have left.
func (w *Webhooks) purge(ctx context.Context) error {
	ids, err := sqldb.All(ctx, w.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT workspace_id FROM ev_subscription_sets ORDER BY workspace_id`)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, trimChunk) {
		known, err := w.Known(ctx, w.DB, some)
		if err != nil {
			return err
		}
		for _, id := range some {
			if id == access.PlatformWorkspace || slices.Contains(known, id) {
				continue
			}
			if err := w.forget(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget removes the subscriptions of a workspace.
func (w *Webhooks) forget(ctx context.Context, workspaceID string) error {
	return w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM ev_subscriptions WHERE workspace_id = $1`, workspaceID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM ev_subscription_sets WHERE workspace_id = $1`, workspaceID)
		return err
	})
}
