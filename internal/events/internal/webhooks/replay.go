package webhooks

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// Replay sends a delivery again, with the id and the body it had, by a schedule that begins anew. One that waits for its next
// attempt is sent now.
func (w *Webhooks) Replay(ctx context.Context, ref, id, deliveryID string) (d Delivery, err error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return d, err
	}
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if d, err = w.delivery(ctx, tx, v, id, deliveryID); err != nil {
			return err
		}
		if err := w.reopen(ctx, tx, id); err != nil {
			return err
		}
		if d.State == Pending {
			_, err = tx.Exec(ctx, `UPDATE ev_deliveries SET due_at = $1 WHERE id = $2 AND state = 'pending'`, sqldb.Millis(w.time()), d.ID)
		} else {
			_, err = queue(ctx, tx, d, w.place(v.workspaceID), w.time())
		}
		if err != nil {
			return err
		}
		d, err = w.delivery(ctx, tx, v, id, deliveryID)
		return err
	})
	if err == nil {
		w.nudge()
	}
	return d, err
}

// reopen locks the queue of a subscription that something is to be sent to; resource_conflict when it is disabled.
func (w *Webhooks) reopen(ctx context.Context, tx *sqldb.Tx, id string) error {
	open, err := lock(ctx, tx, id, w.time())
	if err == nil && !open {
		err = errs.New(errs.Conflict, "The subscription is disabled; enable it first.").With("id", id)
	}
	return err
}

// place is where a replayed delivery stands in the order of its key: after everything that has happened.
func (w *Webhooks) place(workspaceID string) int64 {
	return int64(bus.PositionAt(w.Clock.Now(), bus.PartitionOf(workspaceID)))
}

// Range chooses what is replayed. What it does not say does not matter.
type Range struct {
	// From and To bound when events happened; the end is left out. After is the id of an event: only later ones.
	From, To time.Time
	After    bus.Position
	Types    []string
	IDs      []bus.Position
	Filter   Filters
	// OnlyFailed leaves out everything but dead letters.
	OnlyFailed bool
}

// Replayed is what a replay did.
type Replayed struct {
	// Count is how many deliveries were queued.
	Count int
	// Last is the last event that was looked at, when there may be more: go on after it.
	Last bus.Position
}

const (
	replayChunk = 200
	// maxReplay bounds how many events one call looks at.
	maxReplay = 10_000
)

// ReplayRange queues the events of a time, or of a list, that match the subscription and what is asked for besides; also
// those that happened before there was a subscription. An event that waits already is left as it is.
func (w *Webhooks) ReplayRange(ctx context.Context, ref, id string, want Range) (done Replayed, err error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return done, err
	}
	s, err := find(ctx, w.DB, v.workspaceID, id)
	if err != nil {
		return done, err
	}
	chosen, err := newChoice(&s, want)
	if err != nil {
		return done, err
	}
	defer w.nudge()
	after := want.After
	if start := bus.PositionAt(want.From, 0) - 1; !want.From.IsZero() && start > after {
		after = start
	}
	for seen := 0; ; {
		events, err := w.candidates(ctx, v, id, want, after)
		if err != nil || len(events) == 0 {
			return done, err
		}
		n, err := w.requeue(ctx, v, id, chosen, events)
		if err != nil {
			return done, err
		}
		done.Count += n
		after = events[len(events)-1].Position
		if seen += len(events); len(events) < replayChunk {
			return done, nil
		}
		if seen >= maxReplay {
			done.Last = after
			return done, nil
		}
	}
}

// candidates reads the next events that may be replayed, the oldest first.
func (w *Webhooks) candidates(ctx context.Context, v *visit, id string, want Range, after bus.Position) ([]bus.Event, error) {
	if want.OnlyFailed {
		before := int64(never)
		if !want.To.IsZero() {
			before = int64(bus.PositionAt(want.To, 0))
		}
		return sqldb.All(ctx, w.DB, func(rows *sql.Rows) (e bus.Event, err error) {
			var body []byte
			err = rows.Scan(&e.Position, &e.WorkspaceID, &e.Type, &body)
			e.Body = body
			return e, err
		}, `SELECT d.pos, d.workspace_id, m.type, m.body FROM ev_deliveries d JOIN ev_messages m ON m.workspace_id = d.workspace_id AND m.pos = d.pos
			WHERE d.subscription_id = $1 AND d.state = 'failed' AND d.pos > $2 AND d.pos < $3 ORDER BY d.pos LIMIT $4`, id, int64(after), before, replayChunk)
	}
	page := sqlbus.PageQuery{After: after, Limit: replayChunk, Ascending: true}
	if !want.To.IsZero() {
		page.Before = bus.PositionAt(want.To, 0)
	}
	if len(want.IDs) > 0 {
		page.Where = `pos IN (` + sqldb.In(sqlbus.FirstArg, len(want.IDs)) + `)`
		for _, pos := range want.IDs {
			page.Args = append(page.Args, int64(pos))
		}
	}
	return sqlbus.Page(ctx, w.DB, v.workspaceID, page)
}

// choice tells which events are replayed.
type choice struct {
	own, asked *matcher
	ids        map[bus.Position]bool
}

func newChoice(s *Subscription, want Range) (*choice, error) {
	own, err := newMatcher(s)
	if err != nil {
		return nil, err
	}
	asked, err := newMatcher(&Subscription{Types: want.Types, Filters: want.Filter})
	if err != nil {
		return nil, err
	}
	c := &choice{own: own, asked: asked, ids: map[bus.Position]bool{}}
	for _, pos := range want.IDs {
		c.ids[pos] = true
	}
	return c, nil
}

func (c *choice) takes(d *query.Document) bool {
	return (len(c.ids) == 0 || c.ids[d.Stored().Position]) && c.own.matches(d) && c.asked.matches(d)
}

// requeue queues those of some events that are chosen and that the caller may read.
func (w *Webhooks) requeue(ctx context.Context, v *visit, id string, chosen *choice, events []bus.Event) (count int, err error) {
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		count = 0
		if err := w.reopen(ctx, tx, id); err != nil {
			return err
		}
		place := w.place(v.workspaceID)
		for _, e := range events {
			event, ok, err := delivered(e)
			if err != nil || !ok {
				continue
			}
			document := query.Read(e)
			d := Delivery{SubscriptionID: id, Position: e.Position, EventType: e.Type, workspaceID: v.workspaceID, body: e.Body, orderKey: chosen.own.orderKey(document)}
			if !chosen.takes(document) || !mayRead(v.ability, &d) {
				continue
			}
			if err := keep(ctx, tx, message{workspaceID: v.workspaceID, pos: e.Position, eventType: e.Type, body: written(event)}); err != nil {
				return err
			}
			queued, err := queue(ctx, tx, d, place, w.time())
			if err != nil {
				return err
			}
			if queued {
				count++
			}
			place++
		}
		return nil
	})
	return count, err
}
