package feed

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Node is an instance that people listen at.
type Node struct {
	ID string
	// Self tells that it is this process, whose figures are those of this moment.
	Self   bool
	SeenAt time.Time
	Figures
}

const (
	// showEvery is how often an instance shows itself to the others.
	showEvery = 10 * time.Second
	// goneAfter is how long an instance counts that does not.
	goneAfter = 35 * time.Second
)

// Show lets the other instances know of this one until ctx ends, and then that it is gone.
func (h *Hub) Show(ctx context.Context) error {
	for failing := false; ; {
		err := h.show(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			h.deps.Log.WarnContext(ctx, "other instances cannot be told who listens here; trying again", "error", err.Error())
		}
		failing = err != nil
		timer := h.deps.Clock.NewTimer(showEvery)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return h.hide(ctx)
		}
	}
}

// show writes the figures of this instance, and forgets those that are gone. Time is the database's, which all instances share.
func (h *Hub) show(ctx context.Context) error {
	figures, err := json.Marshal(h.Figures())
	if err != nil {
		return err
	}
	return h.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO ev_nodes (id, figures, seen_at) VALUES ($1, $2, `+h.now+`)
			ON CONFLICT (id) DO UPDATE SET figures = excluded.figures, seen_at = excluded.seen_at`, h.id, string(figures))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM ev_nodes WHERE seen_at < `+h.now+` - $1`, goneAfter.Milliseconds())
		return err
	})
}

// hideTime is how long saying farewell may take. Who does not come to it is forgotten all the same.
const hideTime = 2 * time.Second

func (h *Hub) hide(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hideTime)
	defer cancel()
	err := h.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM ev_nodes WHERE id = $1`, h.id)
		return err
	})
	if err != nil {
		h.deps.Log.WarnContext(ctx, "other instances could not be told that this one is gone", "error", err.Error())
	}
	return nil
}

// Nodes lists the instances: this one first, and those that have shown themselves lately.
func (h *Hub) Nodes(ctx context.Context) ([]Node, error) {
	others, err := sqldb.All(ctx, h.deps.DB, func(rows *sql.Rows) (n Node, err error) {
		var figures []byte
		var seen int64
		if err := rows.Scan(&n.ID, &figures, &seen); err != nil {
			return n, err
		}
		n.SeenAt = sqldb.Time(seen)
		return n, json.Unmarshal(figures, &n.Figures)
	}, `SELECT id, figures, seen_at FROM ev_nodes WHERE id <> $1 AND seen_at >= `+h.now+` - $2 ORDER BY id`, h.id, goneAfter.Milliseconds())
	if err != nil {
		return nil, errs.Wrap(err, "list the instances that people listen at")
	}
	return append([]Node{{ID: h.id, Self: true, SeenAt: h.deps.Clock.Now(), Figures: h.Figures()}}, others...), nil
}
