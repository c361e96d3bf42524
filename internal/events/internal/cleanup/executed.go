package cleanup

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

const executedType = catalogue.ExecutedType

// Strip removes payload and output of runtime.automations.executed when they are old enough, and tells how many events it
// changed, or would change. It goes through each partition once: where it has come is remembered.
func (c *Cleanup) Strip(ctx context.Context, dryRun bool) (total int64, err error) {
	before, on := c.before(c.Executed)
	for partition := 0; on && partition < bus.Partitions; partition++ {
		n, err := c.stripPartition(ctx, partition, before, dryRun)
		total += n
		if err != nil {
			return total, errs.Wrap(err, "strip events of executed automations")
		}
	}
	if dryRun || total == 0 {
		return total, nil
	}
	return total, c.tell(ctx, catalogue.Cleaned{Job: "executed-events", Updated: total})
}

func (c *Cleanup) stripPartition(ctx context.Context, partition int, before bus.Position, dryRun bool) (total int64, err error) {
	after, err := c.reached(ctx, partition)
	if err != nil {
		return 0, err
	}
	for {
		events, err := c.executed(ctx, partition, after, before)
		if err != nil || len(events) == 0 {
			return total, err
		}
		after = events[len(events)-1].Position
		changed, err := c.strip(ctx, partition, events, dryRun)
		total += changed
		if err != nil {
			return total, err
		}
	}
}

// reached is how far the partition was gone through.
func (c *Cleanup) reached(ctx context.Context, partition int) (at bus.Position, err error) {
	err = c.DB.QueryRow(ctx, `SELECT pos FROM events_cleanup WHERE job = $1 AND partition = $2`, executedType, partition).Scan(&at)
	if sqldb.IsNotFound(err) {
		return 0, nil
	}
	return at, err
}

// executed reads the next events that are to be stripped.
func (c *Cleanup) executed(ctx context.Context, partition int, after, before bus.Position) ([]bus.Event, error) {
	return sqldb.All(ctx, c.DB, sqlbus.ScanEvent, `SELECT pos, workspace_id, type, body FROM bus_events
		WHERE partition = $1 AND pos > $2 AND pos < $3 AND type = $4 ORDER BY pos LIMIT 200`, partition, int64(after), int64(before), executedType)
}

// strip changes some events and remembers it, in one transaction.
func (c *Cleanup) strip(ctx context.Context, partition int, events []bus.Event, dryRun bool) (changed int64, err error) {
	bodies := map[bus.Position]json.RawMessage{}
	for _, e := range events {
		if body, ok := stripped(e.Body); ok {
			bodies[e.Position] = body
		}
	}
	if dryRun {
		return int64(len(bodies)), nil
	}
	return int64(len(bodies)), c.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		for position, body := range bodies {
			if _, err := tx.Exec(ctx, `UPDATE bus_events SET body = $1 WHERE partition = $2 AND pos = $3`, string(body), partition, int64(position)); err != nil {
				return err
			}
		}
		if err := c.again(ctx, tx, slices.Collect(maps.Keys(bodies))); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO events_cleanup (job, partition, pos) VALUES ($1, $2, $3)
			ON CONFLICT (job, partition) DO UPDATE SET pos = $3`, executedType, partition, int64(events[len(events)-1].Position))
		return err
	})
}

// stripped is a stored event without its payload's payload and output; it is false when it has none. What else it says stays as it
// was written.
func stripped(body json.RawMessage) (json.RawMessage, bool) {
	var event map[string]json.RawMessage
	var payload map[string]json.RawMessage
	if json.Unmarshal(body, &event) != nil || json.Unmarshal(event["payload"], &payload) != nil {
		return nil, false
	}
	_, hasPayload := payload["payload"]
	_, hasOutput := payload["output"]
	if !hasPayload && !hasOutput {
		return nil, false
	}
	delete(payload, "payload")
	delete(payload, "output")
	event["payload"] = text(payload)
	return text(event), true
}

// text writes JSON without changing what is in it.
func text(value map[string]json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it was read from JSON
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
