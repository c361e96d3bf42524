package webhooks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// LogQuery chooses deliveries of a subscription; of one state only when that is set.
type LogQuery struct {
	Workspace, Subscription, State string
	Offset, Limit                  int
}

// Deliveries reads deliveries, the newest event first, and tells how many there are. Those of events that the caller may not
// read are left out.
func (w *Webhooks) Deliveries(ctx context.Context, q LogQuery) (found []Delivery, total int, err error) {
	v, err := w.enter(ctx, w.DB, q.Workspace)
	if err != nil {
		return nil, 0, err
	}
	if _, err := find(ctx, w.DB, v.workspaceID, q.Subscription); err != nil {
		return nil, 0, err
	}
	where, args := `d.subscription_id = $1 AND (CAST($2 AS TEXT) = '' OR d.state = CAST($2 AS TEXT))`, []any{q.Subscription, q.State}
	if !v.readable.Everything {
		where += ` AND (` + v.readable.SQL + `)`
		args = append(args, v.readable.Args...)
	}
	const from = ` FROM ev_deliveries d JOIN ev_messages m ON m.workspace_id = d.workspace_id AND m.pos = d.pos WHERE `
	if err := w.DB.QueryRow(ctx, `SELECT COUNT(*)`+from+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	place := len(args)
	args = append(args, q.Limit, q.Offset)
	found, err = sqldb.All(ctx, w.DB, func(rows *sql.Rows) (Delivery, error) { return scanDelivery(rows) },
		`SELECT `+deliveryColumns+` WHERE `+where+` ORDER BY d.pos DESC LIMIT `+sqldb.In(place+1, 1)+` OFFSET `+sqldb.In(place+2, 1), args...)
	return found, total, err
}

// Body is what is sent: the event.
func (d *Delivery) Body() []byte { return d.body }

// Delivery reads a delivery and its attempts, the first one first.
func (w *Webhooks) Delivery(ctx context.Context, ref, id, deliveryID string) (Delivery, []Attempt, error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return Delivery{}, nil, err
	}
	d, err := w.delivery(ctx, w.DB, v, id, deliveryID)
	if err != nil {
		return d, nil, err
	}
	attempts, err := attemptsOf(ctx, w.DB, d.ID)
	return d, attempts, err
}

// delivery reads a delivery that the caller may see.
func (w *Webhooks) delivery(ctx context.Context, r sqldb.Reader, v *visit, id, deliveryID string) (Delivery, error) {
	if _, err := find(ctx, r, v.workspaceID, id); err != nil {
		return Delivery{}, err
	}
	d, err := scanDelivery(r.QueryRow(ctx, `SELECT `+deliveryColumns+` WHERE d.id = $1 AND d.subscription_id = $2`, deliveryID, id))
	if sqldb.IsNotFound(err) || err == nil && !mayRead(v.ability, &d) {
		return Delivery{}, errs.Missing("deliveries", deliveryID)
	}
	return d, err
}

// mayRead tells whether somebody may read the event of a delivery.
func mayRead(ability *access.Ability, d *Delivery) bool {
	event := query.Read(bus.Event{Position: d.Position, WorkspaceID: d.workspaceID, Type: d.EventType, Body: d.body})
	return ability.Decide(access.ActionRead, access.SubjectEvents, event).Allowed
}

func attemptsOf(ctx context.Context, r sqldb.Reader, deliveryID string) ([]Attempt, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (a Attempt, err error) {
		var at, took int64
		var status int
		var request, response string
		if err := rows.Scan(&a.Number, &at, &took, &a.Outcome, &status, &a.Error, &request, &response); err != nil {
			return a, err
		}
		a.At, a.Took = sqldb.Time(at), time.Duration(took)*time.Millisecond
		return a, errors.Join(json.Unmarshal([]byte(request), &a.Request), json.Unmarshal([]byte(response), &a.Response))
	}, `SELECT number, at, took, outcome, status, error, request, response FROM ev_attempts WHERE delivery_id = $1 ORDER BY number`, deliveryID)
}
