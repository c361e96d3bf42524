package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// errLost tells that the endpoint is not this instance's any more, or that the subscription is gone.
var errLost = errors.New("the endpoint was taken over by another instance, or deleted")

// hold keeps everybody else off a subscription until the commit, when it is still held under this fence. Whoever lost it gets
// errLost, and can record nothing.
func hold(ctx context.Context, tx *sqldb.Tx, id string, fence int64) (h health, err error) {
	var failingSince, retryAt int64
	err = tx.QueryRow(ctx, `UPDATE ev_subscriptions SET fence = fence WHERE id = $1 AND fence = $2 RETURNING failures, failing_since, retry_at`,
		id, fence).Scan(&h.failures, &failingSince, &retryAt)
	if sqldb.IsNotFound(err) {
		return h, errLost
	}
	h.failingSince, h.retryAt = timeWhenSet(failingSince), timeWhenSet(retryAt)
	return h, err
}

// record stores what came of an attempt and what follows from it.
func (w *Webhooks) record(ctx context.Context, s *Subscription, d *Delivery, a *Attempt, fence int64) error {
	return w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		h, err := hold(ctx, tx, s.ID, fence)
		if err != nil {
			return err
		}
		now := w.time()
		v := judge(a, d.tries+1, h, now)
		if err := finish(ctx, tx, d, a, v, now); err != nil {
			return err
		}
		last := LastDelivery{ID: d.ID, At: a.At, State: v.state, Status: a.status(), EventID: d.Position.ID()}
		if err := settleHealth(ctx, tx, s.ID, v.health, last); err != nil {
			return err
		}
		if v.disable == "" {
			return nil
		}
		return w.disable(ctx, tx, s, v.disable, now)
	})
}

func (a *Attempt) status() int {
	if a.Response == nil {
		return 0
	}
	return a.Response.Status
}

// finish stores an attempt, and the delivery after it.
func finish(ctx context.Context, tx *sqldb.Tx, d *Delivery, a *Attempt, v verdict, now time.Time) error {
	if err := insertAttempt(ctx, tx, d.ID, a); err != nil {
		return err
	}
	finished := int64(0)
	if v.state != Pending {
		finished = sqldb.Millis(now)
	}
	_, err := tx.Exec(ctx, `UPDATE ev_deliveries SET state = $1, reason = $2, attempts = $3, tries = tries + 1, due_at = $4, finished_at = $5, last_status = $6
		WHERE id = $7`, v.state, v.reason, a.Number, millisWhenSet(v.dueAt), finished, a.status(), d.ID)
	if err != nil || v.state == Pending {
		return err
	}
	return next(ctx, tx, d.SubscriptionID, d.orderKey)
}

func insertAttempt(ctx context.Context, tx *sqldb.Tx, deliveryID string, a *Attempt) error {
	request, err := json.Marshal(a.Request)
	if err != nil {
		return err
	}
	response, err := json.Marshal(a.Response)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ev_attempts (delivery_id, number, at, took, outcome, status, error, request, response)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		deliveryID, a.Number, sqldb.Millis(a.At), a.Took.Milliseconds(), a.Outcome, a.status(), a.Error, string(request), string(response))
	return err
}

// settleHealth stores how an endpoint is doing. An endpoint that pauses is not looked at before it may be tried again.
func settleHealth(ctx context.Context, tx *sqldb.Tx, id string, h health, last LastDelivery) error {
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE ev_subscriptions SET failures = $1, failing_since = $2, retry_at = $3, last_delivery = $4 WHERE id = $5`,
		h.failures, millisWhenSet(h.failingSince), millisWhenSet(h.retryAt), string(text), id)
	return err
}

// disable ends a subscription, and tells the workspace of it.
func (w *Webhooks) disable(ctx context.Context, tx *sqldb.Tx, s *Subscription, reason string, now time.Time) error {
	n, err := tx.Exec(ctx, `UPDATE ev_subscriptions SET state = 'disabled', reason = $1, state_at = $2, revision = revision + 1, due_at = $3
		WHERE id = $4 AND state = 'active'`, reason, sqldb.Millis(now), int64(never), s.ID)
	if err != nil || n == 0 {
		return err
	}
	if err := touch(ctx, tx, s.WorkspaceID); err != nil {
		return err
	}
	ended := *s
	ended.State, ended.Reason = Disabled, reason
	record, err := envelope.Native(ctx, service, s.WorkspaceID, ended.payload(catalogue.Disabled))
	if err != nil {
		return err
	}
	_, err = w.Bus.AppendTx(ctx, tx, record)
	return err
}

// revoke disables a subscription whose reader has lost access.
func (w *Webhooks) revoke(ctx context.Context, s *Subscription, fence int64) error {
	return w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := hold(ctx, tx, s.ID, fence); err != nil {
			return err
		}
		return w.disable(ctx, tx, s, ReasonNoAccess, w.time())
	})
}

// withhold takes a delivery back of an event that the reader may not read. One that was never sent leaves no trace: it was
// never the subscription's to see.
func (w *Webhooks) withhold(ctx context.Context, d *Delivery, fence int64) error {
	return w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := hold(ctx, tx, d.SubscriptionID, fence); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM ev_deliveries WHERE id = $1 AND attempts = 0`, d.ID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE ev_deliveries SET state = 'failed', reason = $1, finished_at = $2 WHERE id = $3 AND state = 'pending'`,
			"whoever made or last changed the subscription may not read the event any more", sqldb.Millis(w.time()), d.ID)
		if err != nil {
			return err
		}
		return next(ctx, tx, d.SubscriptionID, d.orderKey)
	})
}
