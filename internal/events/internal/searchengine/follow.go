package searchengine

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// How often the index is looked at, and how long the engine is left alone when it does not answer.
const (
	lookEvery    = 10 * time.Second
	firstOutage  = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// Follow keeps the index behind the log until ctx ends. While the engine does not answer it waits, and then goes on where it was.
func (e *Engine) Follow(ctx context.Context) error {
	pause := firstOutage
	for ctx.Err() == nil {
		generation, err := e.prepare(ctx)
		if err == nil {
			pause = firstOutage
			err = e.followGeneration(ctx, generation)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		e.Log.WarnContext(ctx, "the index of events cannot follow; it tries again", "driver", e.config.Driver, "pause", pause, "error", err)
		_ = e.wait(ctx, pause) // the loop ends with ctx
		pause = min(2*pause, longestPause)
	}
	return nil
}

// followGeneration writes events until the index has to be built anew.
func (e *Engine) followGeneration(ctx context.Context, generation string) error {
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- e.Bus.Consume(consuming, bus.Consumer{
			Name: consumerOf(generation), FromStart: true, Batch: e.config.Batch,
			Handle: func(ctx context.Context, events []bus.Event) error { return e.handle(ctx, generation, events) },
		})
	}()
	defer func() { stop(); <-done }()
	for {
		if e.wait(ctx, lookEvery) != nil {
			return nil
		}
		current, err := e.prepare(ctx)
		if err != nil {
			e.Log.WarnContext(ctx, "the index of events cannot be looked at", "driver", e.config.Driver, "error", err)
			continue
		}
		if current != generation {
			return nil
		}
	}
}

func consumerOf(generation string) string { return "events-index-" + generation }

// handle writes events that follow one another in a partition. What the log has now is written: what was removed meanwhile is not,
// and events for those who listened never are.
func (e *Engine) handle(ctx context.Context, generation string, events []bus.Event) error {
	if len(events) == 0 {
		return nil
	}
	partition, first, last := events[0].Position.Partition(), events[0].Position, events[len(events)-1].Position
	if err := e.noteDeleted(ctx, events); err != nil {
		return err
	}
	stored, err := sqldb.All(ctx, e.DB, sqlbus.ScanEvent, `SELECT pos, workspace_id, type, body FROM bus_events
		WHERE partition = $1 AND pos >= $2 AND pos <= $3 AND transient = 0 ORDER BY pos`, partition, int64(first), int64(last))
	if err != nil || len(stored) == 0 {
		return errs.Wrap(err, "read events to index")
	}
	epoch, err := e.epoch(ctx, generation, partition)
	if err != nil {
		return err
	}
	left := stored
	if !e.alone(partition, epoch) {
		if left, err = e.missing(ctx, stored); err != nil {
			return err
		}
	}
	if err := e.create(ctx, left); err != nil {
		e.remember(partition, 0)
		return err
	}
	if len(left) == len(stored) { // there may be more that were written before
		e.remember(partition, epoch)
	}
	return nil
}

// create writes events that the index does not have.
func (e *Engine) create(ctx context.Context, events []bus.Event) error {
	plain, err := e.withoutStreams(ctx)
	if err != nil {
		return err
	}
	items := make([]item, 0, len(events))
	for _, event := range events {
		stream, err := e.ensure(ctx, e.streamOf(event.WorkspaceID))
		if err != nil {
			return err
		}
		items = append(items, item{action: actionCreate, place: stream, event: event, alias: plain})
	}
	return e.write(ctx, items)
}

// epoch is that in which this instance holds the partition.
func (e *Engine) epoch(ctx context.Context, generation string, partition int) (epoch int64, err error) {
	err = e.DB.QueryRow(ctx, `SELECT epoch FROM bus_cursors WHERE consumer = $1 AND partition = $2`, consumerOf(generation), partition).Scan(&epoch)
	return epoch, errs.Wrap(err, "read who indexes a partition")
}

// alone tells that nobody has written to the partition since this process wrote what was new. Then the events are surely new.
func (e *Engine) alone(partition int, epoch int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return epoch > 0 && e.epochs[partition] == epoch
}

func (e *Engine) remember(partition int, epoch int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.epochs[partition] = epoch
}

// missing are those of the events that the index does not have. An index refuses an event that it has, but another of the stream,
// made since, would take it a second time.
func (e *Engine) missing(ctx context.Context, events []bus.Event) ([]bus.Event, error) {
	hits, err := e.locate(ctx, positions(events))
	if err != nil {
		return nil, err
	}
	var left []bus.Event
	for _, event := range events {
		if _, there := hits[event.Position]; !there {
			left = append(left, event)
		}
	}
	return left, nil
}

func positions(events []bus.Event) []bus.Position {
	all := make([]bus.Position, 0, len(events))
	for _, event := range events {
		all = append(all, event.Position)
	}
	return all
}

// hit is where the index has an event.
type hit struct {
	Index  string `json:"_index"`
	number version
}

// locate finds where events are, also those written just now.
func (e *Engine) locate(ctx context.Context, at []bus.Position) (map[bus.Position][]hit, error) {
	places := e.places("", true)
	if err := e.client.do(ctx, http.MethodPost, "/"+places+"/_refresh?"+lenient, nil, nil); err != nil && statusOf(err) != http.StatusNotFound {
		return nil, err
	}
	var answer searchAnswer
	err := e.client.do(ctx, http.MethodPost, "/"+places+"/_search?"+lenient, map[string]any{
		"size": 2*len(at) + 10, "seq_no_primary_term": true, "_source": []string{"position"}, "track_total_hits": false,
		"query": map[string]any{"terms": map[string]any{"position": at}},
	}, &answer)
	if err != nil {
		return nil, err
	}
	found := make(map[bus.Position][]hit, len(answer.Hits.Hits))
	for _, h := range answer.Hits.Hits {
		found[h.Source.Position] = append(found[h.Source.Position], hit{Index: h.Index, number: version{number: h.SeqNo, term: h.PrimaryTerm}})
	}
	return found, nil
}

// Reached tells whether the index has everything of the log before a position.
func (e *Engine) Reached(ctx context.Context, before bus.Position) (bool, error) {
	state, err := e.state(ctx)
	if err != nil || state.generation == "" {
		return false, err
	}
	var cursors, behind int
	err = e.DB.QueryRow(ctx, `SELECT COUNT(*) FROM bus_cursors WHERE consumer = $1`, consumerOf(state.generation)).Scan(&cursors)
	if err != nil || cursors < bus.Partitions {
		return false, errs.Wrap(err, "read how far the index is")
	}
	err = e.DB.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM bus_cursors c JOIN bus_events e ON e.partition = c.partition AND e.pos > c.last_pos
		WHERE c.consumer = $1 AND e.pos < $2 LIMIT 1) AS behind`, consumerOf(state.generation), int64(before)).Scan(&behind)
	return behind == 0, errs.Wrap(err, "read how far the index is")
}

// Refresh makes everything that was written found.
func (e *Engine) Refresh(ctx context.Context) error {
	if err := e.client.do(ctx, http.MethodPost, "/"+e.places("", true)+"/_refresh?"+lenient, nil, nil); err != nil {
		return fmt.Errorf("refresh the index of events: %w", err)
	}
	return nil
}
