package webhooks

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"atelier/internal/bus"
	"atelier/internal/sqldb"
)

// The states of a delivery.
const (
	Pending   = "pending"
	Delivered = "delivered"
	// Failed is a dead letter: it is not sent again unless somebody asks for it.
	Failed = "failed"
)

// message is what is sent.
type message struct {
	workspaceID string
	pos         bus.Position
	eventType   string
	body        []byte
}

// Delivery is an event on its way to a subscription.
type Delivery struct {
	ID, SubscriptionID, EventType string
	Position                      bus.Position
	State, Reason                 string
	Attempts, LastStatus          int
	DueAt, CreatedAt, FinishedAt  time.Time

	workspaceID string
	orderKey    string
	tries       int
	body        []byte
}

// deliveryID is the webhook-id: the same for the same event and subscription, however often it is sent. It holds no dot, which
// would make the signed text ambiguous.
func deliveryID(subscriptionID string, pos bus.Position) string {
	sum := sha256.Sum256([]byte(subscriptionID + "/" + strconv.FormatInt(int64(pos), 10)))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// enqueue stores deliveries of events that have just happened.
func (w *Webhooks) enqueue(ctx context.Context, tx *sqldb.Tx, all []found, messages map[bus.Position]message) error {
	byID := map[string][]found{}
	for _, f := range all {
		byID[f.matcher.id] = append(byID[f.matcher.id], f)
	}
	ids := make([]string, 0, len(byID))
	for id := range byID {
		ids = append(ids, id)
	}
	slices.Sort(ids) // everybody locks in this order
	now, stored := w.time(), map[bus.Position]bool{}
	for _, id := range ids {
		open, err := lock(ctx, tx, id, now)
		if err != nil {
			return err
		}
		if !open { // deleted or disabled a moment ago
			continue
		}
		for _, f := range byID[id] {
			if !stored[f.event.Position] {
				stored[f.event.Position] = true
				if err := keep(ctx, tx, messages[f.event.Position]); err != nil {
					return err
				}
			}
			d := Delivery{SubscriptionID: id, Position: f.event.Position, workspaceID: f.event.WorkspaceID, orderKey: f.key}
			if _, err := queue(ctx, tx, d, int64(f.event.Position), now); err != nil {
				return err
			}
			if f.round {
				if err := breakRound(ctx, tx, d, now); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lock makes the queue of an active subscription due, and keeps everybody else off it until the commit. False when there is no
// such subscription.
func lock(ctx context.Context, tx *sqldb.Tx, id string, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ev_subscriptions SET due_at = CASE
			WHEN retry_at > $1 AND due_at > retry_at THEN retry_at
			WHEN retry_at <= $1 AND due_at > $1 THEN $1
			ELSE due_at END
		WHERE id = $2 AND state = 'active'`, sqldb.Millis(now), id)
	return n == 1, err
}

// keep stores what is sent, once for all subscriptions.
func keep(ctx context.Context, tx *sqldb.Tx, m message) error {
	_, err := tx.Exec(ctx, `INSERT INTO ev_messages (workspace_id, pos, type, body) VALUES ($1, $2, $3, $4) ON CONFLICT (workspace_id, pos) DO NOTHING`,
		m.workspaceID, int64(m.pos), m.eventType, string(m.body))
	return err
}

// queue stores a delivery, or makes one that is finished pending again, and tells whether it did either. The subscription is
// locked by the caller. Of those with one order key the first alone is ready.
func queue(ctx context.Context, tx *sqldb.Tx, d Delivery, place int64, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO ev_deliveries (id, workspace_id, subscription_id, pos, place, order_key, ready, state, reason, attempts, tries, due_at, created_at, finished_at, last_status)
		SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS TEXT),
			CASE WHEN CAST($6 AS TEXT) <> '' AND EXISTS (SELECT 1 FROM ev_deliveries o WHERE o.subscription_id = CAST($3 AS TEXT)
				AND o.order_key = CAST($6 AS TEXT) AND o.order_key <> '' AND o.state = 'pending') THEN 0 ELSE 1 END,
			'pending', '', 0, 0, CAST($7 AS BIGINT), CAST($7 AS BIGINT), 0, 0 WHERE TRUE
		ON CONFLICT (subscription_id, pos) DO UPDATE SET place = excluded.place, order_key = excluded.order_key, ready = excluded.ready,
			state = 'pending', reason = '', tries = 0, due_at = excluded.due_at, finished_at = 0 WHERE ev_deliveries.state <> 'pending'`,
		deliveryID(d.SubscriptionID, d.Position), d.workspaceID, d.SubscriptionID, int64(d.Position), place, d.orderKey, sqldb.Millis(now))
	return n == 1, err
}

// next makes the following delivery of an order key ready. The subscription is locked by the caller.
func next(ctx context.Context, tx *sqldb.Tx, subscriptionID, orderKey string) error {
	if orderKey == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE ev_deliveries SET ready = 1 WHERE id = (SELECT id FROM ev_deliveries
		WHERE subscription_id = $1 AND order_key = $2 AND order_key <> '' AND state = 'pending' ORDER BY place LIMIT 1)`, subscriptionID, orderKey)
	return err
}

const deliveryColumns = `d.id, d.workspace_id, d.subscription_id, d.pos, m.type, m.body, d.order_key, d.state, d.reason, d.attempts, d.tries,
	d.due_at, d.created_at, d.finished_at, d.last_status FROM ev_deliveries d JOIN ev_messages m ON m.workspace_id = d.workspace_id AND m.pos = d.pos`

func scanDelivery(row scanner) (d Delivery, err error) {
	var due, created, finished int64
	err = row.Scan(&d.ID, &d.workspaceID, &d.SubscriptionID, &d.Position, &d.EventType, &d.body, &d.orderKey, &d.State, &d.Reason, &d.Attempts, &d.tries,
		&due, &created, &finished, &d.LastStatus)
	d.CreatedAt, d.FinishedAt = sqldb.Time(created), timeWhenSet(finished)
	if d.State == Pending {
		d.DueAt = sqldb.Time(due)
	}
	return d, err
}

// due reads the deliveries of a subscription that are to be sent now, the longest waiting first.
func due(ctx context.Context, r sqldb.Reader, subscriptionID string, now time.Time, limit int) ([]Delivery, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Delivery, error) { return scanDelivery(rows) }, `SELECT `+deliveryColumns+`
		WHERE d.subscription_id = $1 AND d.ready = 1 AND d.state = 'pending' AND d.due_at <= $2 ORDER BY d.due_at, d.place LIMIT $3`,
		subscriptionID, sqldb.Millis(now), limit)
}

// dueAt is when the next delivery of a subscription is to be sent; never when there is none.
func dueAt(ctx context.Context, r sqldb.Reader, subscriptionID string) (at int64, err error) {
	err = r.QueryRow(ctx, `SELECT COALESCE(MIN(due_at), CAST($2 AS BIGINT)) FROM ev_deliveries WHERE subscription_id = $1 AND ready = 1 AND state = 'pending'`,
		subscriptionID, int64(never)).Scan(&at)
	return at, err
}
