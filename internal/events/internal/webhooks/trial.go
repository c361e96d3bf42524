package webhooks

import (
	"context"

	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// Test sends an event made for it to a subscription, once and now, and gives what came of it. The event is in the log of the
// workspace, and the delivery in that of the subscription; neither is repeated, and the endpoint is judged by neither. It also
// works while the subscription is disabled.
func (w *Webhooks) Test(ctx context.Context, ref, id string) (Delivery, Attempt, error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return Delivery{}, Attempt{}, err
	}
	s, err := find(ctx, w.DB, v.workspaceID, id)
	if err != nil {
		return Delivery{}, Attempt{}, err
	}
	w.peek(ctx, &s)
	var d Delivery
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		d, err = w.trial(ctx, tx, &s)
		return err
	})
	if err != nil {
		return d, Attempt{}, err
	}
	a := w.send(ctx, &s, &d)
	d.State, d.Reason, d.Attempts, d.LastStatus, d.FinishedAt = Failed, "the test failed", 1, a.status(), w.time()
	if a.Outcome == OutcomeDelivered {
		d.State, d.Reason = Delivered, ""
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace) // it was sent, whether the caller waits or not
	defer cancel()
	err = w.DB.Tx(closing, func(tx *sqldb.Tx) error {
		return finish(closing, tx, &d, a, verdict{state: d.State, reason: d.Reason}, d.FinishedAt)
	})
	return d, *a, err
}

// trial stores the event and the delivery of a test. Until more is known it has failed: nobody but the test itself sends it.
func (w *Webhooks) trial(ctx context.Context, tx *sqldb.Tx, s *Subscription) (d Delivery, err error) {
	record, err := envelope.Native(ctx, service, s.WorkspaceID, &catalogue.SubscriptionTested{
		SubscriptionID: s.ID, Message: "This is a test. If you can read it, webhooks arrive.",
	})
	if err != nil {
		return d, err
	}
	stored, err := w.Bus.AppendTx(ctx, tx, record)
	if err != nil {
		return d, err
	}
	event, err := envelope.Read(stored[0])
	if err != nil {
		return d, err
	}
	now := w.time()
	d = Delivery{
		ID: deliveryID(s.ID, stored[0].Position), SubscriptionID: s.ID, EventType: stored[0].Type, Position: stored[0].Position,
		State: Failed, Reason: "the test was not finished", CreatedAt: now, workspaceID: s.WorkspaceID, body: written(event),
	}
	if err := keep(ctx, tx, message{workspaceID: s.WorkspaceID, pos: d.Position, eventType: d.EventType, body: d.body}); err != nil {
		return d, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ev_deliveries (id, workspace_id, subscription_id, pos, place, order_key, ready, state, reason, attempts, tries, due_at, created_at, finished_at, last_status)
		VALUES ($1, $2, $3, $4, $4, '', 1, $5, $6, 0, 0, $7, $7, $7, 0)`,
		d.ID, s.WorkspaceID, s.ID, int64(d.Position), d.State, d.Reason, sqldb.Millis(now))
	return d, err
}
