package webhooks

import (
	"context"
	"encoding/json"
	"time"

	"atelier/internal/sqldb"
)

// headerHops tells a receiver how many webhooks, one after the other, led to its request. One that emits because of it says it
// again.
const headerHops = "webhook-hops"

// maxHops is how many webhooks may lead to each other.
const maxHops = 16

// ReasonRound is why an event that went round was not sent.
const ReasonRound = "16 webhooks led to each other; whoever receives one emits what sends the next"

// hopsOf is how many webhooks led to an event.
func hopsOf(body []byte) int {
	var event struct {
		Source struct {
			Hops int `json:"hops"`
		} `json:"source"`
	}
	_ = json.Unmarshal(body, &event) // it was written here
	return event.Source.Hops
}

// breakRound makes a dead letter of a delivery that was queued in the same transaction: the round ends, and the log of the
// subscription tells why. Somebody who knows better replays it.
func breakRound(ctx context.Context, tx *sqldb.Tx, d Delivery, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE ev_deliveries SET state = 'failed', reason = $1, finished_at = $2 WHERE id = $3 AND state = 'pending'`,
		ReasonRound, sqldb.Millis(now), deliveryID(d.SubscriptionID, d.Position))
	return err
}
