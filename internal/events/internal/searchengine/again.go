package searchengine

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// lookedAt is how many events are looked at again at once.
const lookedAt = 500

// Again notes, in the transaction that changes events of the log or removes them, that the index has to look at them again.
func (e *Engine) Again(ctx context.Context, tx *sqldb.Tx, at []bus.Position) error {
	for some := range slices.Chunk(at, lookedAt) {
		values, args := make([]string, 0, len(some)), make([]any, 0, 2*len(some))
		for _, position := range some {
			values = append(values, `(`+sqldb.In(len(args)+1, 2)+`)`)
			args = append(args, position.Partition(), int64(position))
		}
		_, err := tx.Exec(ctx, `INSERT INTO events_index_again (partition, pos) VALUES `+strings.Join(values, ", ")+` ON CONFLICT (partition, pos) DO NOTHING`, args...)
		if err != nil {
			return errs.Wrap(err, "note events to be indexed again")
		}
	}
	return nil
}

// Settle looks again at the events that were changed in the log or removed from it: what is there is written as it is now, what is
// not is removed. It may be interrupted and done again.
func (e *Engine) Settle(ctx context.Context) error {
	s, err := e.state(ctx)
	if err != nil || s.generation == "" {
		return err
	}
	for partition := range bus.Partitions {
		for {
			n, err := e.settle(ctx, s.generation, partition)
			if err != nil {
				return err
			}
			if n < lookedAt {
				break
			}
		}
	}
	return nil
}

// settle looks at some events. Those that the index has not come to yet are left: it could take them after they were looked at.
func (e *Engine) settle(ctx context.Context, generation string, partition int) (int, error) {
	at, err := sqldb.All(ctx, e.DB, func(rows *sql.Rows) (p bus.Position, err error) { return p, rows.Scan(&p) },
		`SELECT a.pos FROM events_index_again a JOIN bus_cursors c ON c.consumer = $1 AND c.partition = a.partition AND a.pos <= c.last_pos
		WHERE a.partition = $2 ORDER BY a.pos LIMIT $3`, consumerOf(generation), partition, lookedAt)
	if err != nil || len(at) == 0 {
		return 0, errs.Wrap(err, "read events to be indexed again")
	}
	stored, err := e.stored(ctx, partition, at)
	if err != nil {
		return 0, err
	}
	hits, err := e.locate(ctx, at)
	if err != nil {
		return 0, err
	}
	var items []item
	var created []bus.Event
	for _, position := range at {
		event, there := stored[position]
		found := hits[position]
		if there && len(found) == 0 {
			created = append(created, event)
		}
		for i, h := range found {
			if there && i == 0 {
				items = append(items, item{action: actionIndex, place: h.Index, event: event, version: &h.number})
			} else {
				items = append(items, item{action: actionDelete, place: h.Index, event: bus.Event{Position: position}})
			}
		}
	}
	if err := e.write(ctx, items); err != nil {
		return 0, err
	}
	if err := e.create(ctx, created); err != nil {
		return 0, err
	}
	return len(at), e.settled(ctx, partition, at)
}

// stored are those of the events that the log has.
func (e *Engine) stored(ctx context.Context, partition int, at []bus.Position) (map[bus.Position]bus.Event, error) {
	events, err := sqldb.All(ctx, e.DB, sqlbus.ScanEvent, `SELECT pos, workspace_id, type, body FROM bus_events
		WHERE partition = $1 AND transient = 0 AND pos IN (`+sqldb.In(2, len(at))+`)`, numbers(partition, at)...)
	found := make(map[bus.Position]bus.Event, len(events))
	for _, event := range events {
		found[event.Position] = event
	}
	return found, errs.Wrap(err, "read events to be indexed again")
}

func numbers(first int, at []bus.Position) []any {
	args := make([]any, 0, len(at)+1)
	args = append(args, first)
	for _, position := range at {
		args = append(args, int64(position))
	}
	return args
}

func (e *Engine) settled(ctx context.Context, partition int, at []bus.Position) error {
	err := e.exec(ctx, `DELETE FROM events_index_again WHERE partition = $1 AND pos IN (`+sqldb.In(2, len(at))+`)`, numbers(partition, at)...)
	return errs.Wrap(err, "note that events are indexed again")
}

// Expire drops the indices of which every event is older than a time. The last one of a stream stays: it is written to. What
// cannot be dropped now is looked at event by event.
func (e *Engine) Expire(ctx context.Context, before time.Time) {
	if err := e.dropBefore(ctx, before); err != nil {
		e.Log.WarnContext(ctx, "indices of old events cannot be dropped", "driver", e.config.Driver, "error", err)
	}
}

func (e *Engine) dropBefore(ctx context.Context, before time.Time) error {
	streams, err := e.list(ctx)
	if err != nil {
		return err
	}
	parts, err := e.parts(ctx)
	if err != nil {
		return err
	}
	for _, stream := range streams {
		var own []part
		for _, p := range parts {
			if streamOfIndex(p.name) == stream {
				own = append(own, p)
			}
		}
		for _, p := range own[:max(0, len(own)-1)] { // they are sorted by their numbers
			if err := e.expire(ctx, p, before); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Engine) expire(ctx context.Context, p part, before time.Time) error {
	var answer struct {
		Aggregations struct {
			Newest struct {
				Value *json.Number `json:"value"`
			} `json:"newest"`
		} `json:"aggregations"`
	}
	err := e.client.do(ctx, http.MethodPost, "/"+p.name+"/_search", map[string]any{
		"size": 0, "aggs": map[string]any{"newest": map[string]any{"max": map[string]any{"field": "createdAt"}}},
	}, &answer)
	if err != nil {
		return gone(err)
	}
	if value := answer.Aggregations.Newest.Value; value != nil {
		if newest, err := value.Float64(); err != nil || newest >= float64(before.UnixMilli()) {
			return err
		}
	}
	if err := e.exec(ctx, `UPDATE events_index_parts SET dropped = 1 WHERE name = $1 AND uuid = $2`, e.name(), p.uuid); err != nil {
		return errs.Wrap(err, "note that a part of the index of events is dropped")
	}
	return gone(e.client.do(ctx, http.MethodDelete, "/"+p.name, nil, nil))
}

// Roll begins another index in every stream whose last one is full.
func (e *Engine) Roll(ctx context.Context) error {
	streams, err := e.list(ctx)
	if err != nil {
		return err
	}
	condition := "max_primary_shard_size"
	if e.config.Driver == OpenSearch {
		condition = "max_size" // the same: an index has one primary shard
	}
	for _, stream := range streams {
		var answer struct {
			Index string `json:"new_index"`
			Done  bool   `json:"rolled_over"`
		}
		err := e.client.do(ctx, http.MethodPost, "/"+stream+"/_rollover", map[string]any{"conditions": map[string]any{condition: size(e.config.Rollover)}}, &answer)
		if err != nil {
			return err
		}
		if answer.Done {
			e.Log.InfoContext(ctx, "an index of events is full; another one begins", "stream", stream, "index", answer.Index)
		}
	}
	return nil
}
