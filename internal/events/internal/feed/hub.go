// Package feed hands events to those who listen while they happen. A process has one hub; it reads each partition of the log
// once, and only while somebody listens to a workspace in it, and decodes each event once, however many listen.
package feed

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

// Deps is what a hub needs.
type Deps struct {
	Log   *slog.Logger
	Clock clock.Clock
	IDs   ident.Source
	DB    *sqldb.DB
	Bus   bus.Log
}

const (
	// tick is how often the hub looks which of its readers are due.
	tick = time.Second
	// beatEvery is how often a reader hears that the stream is alive.
	beatEvery = 15 * time.Second
	// recheckAfter is how old a permission gets before it is loaded anew; with a tick and the load it stays below five seconds.
	recheckAfter = 3 * time.Second
	// stale is how old a permission may be when an event is handed over.
	stale = 4 * time.Second
	// rechecks is how many permissions are loaded at the same time, histories how many pages of the past.
	rechecks, histories = 8, 8
)

// Hub hands the events of the log to readers.
type Hub struct {
	deps Deps
	// id is this process among those that people listen at, now the database's time in milliseconds, as an expression.
	id, now string
	// life ends with the hub: its tails and its clock run in it.
	life context.Context //nolint:containedctx // it is the hub's own, as long as the hub
	end  context.CancelFunc
	past chan struct{} // a place for each page of the past that is being read
	work sync.WaitGroup
	// visits are the readers that have not been closed.
	visits sync.WaitGroup
	mu     sync.Mutex
	tails  [bus.Partitions]*tail
	// readers counts those of all tails; the hub's clock runs while there are any.
	readers int
	stop    context.CancelFunc
	closed  bool
}

// NewHub returns a hub. Nothing runs until there is a reader.
func NewHub(deps Deps) *Hub {
	life, end := context.WithCancel(context.Background())
	h := &Hub{
		deps: deps, id: deps.IDs.UUID(), now: `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
		life: life, end: end, past: make(chan struct{}, histories),
	}
	if deps.DB != nil && deps.DB.Driver() == "sqlite" {
		h.now = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`
	}
	return h
}

// Close ends every reader, and waits until they have left and nothing of the hub runs any more, or until ctx ends.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	for _, r := range h.all() {
		r.End(ErrClosed)
	}
	gone := make(chan struct{})
	go func() {
		h.work.Wait()
		h.visits.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("some who listen to events have not left: %w", ctx.Err())
	}
}

// Open makes a reader of the events of a workspace, which the caller closes. It gets nothing until it subscribes.
func (h *Hub) Open(ctx context.Context, workspaceID string, kind Kind) (*Reader, error) {
	partition := bus.PartitionOf(workspaceID)
	head, err := sqlbus.Head(ctx, h.deps.DB, partition)
	if err != nil {
		return nil, err
	}
	r := &Reader{hub: h, workspaceID: workspaceID, kind: kind, wake: make(chan struct{}, 1), beaten: h.deps.Clock.Now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	r.tail = h.tails[partition]
	if r.tail == nil {
		r.tail = newTail(h, partition, head)
		h.tails[partition] = r.tail
		h.work.Go(r.tail.run)
	}
	r.tail.join(r)
	h.visits.Add(1)
	if h.readers++; h.readers == 1 {
		running, stop := context.WithCancel(h.life)
		h.stop = stop
		h.work.Go(func() { h.keepTime(running) })
	}
	return r, nil
}

// leave takes a reader out, and stops what only it needed.
func (h *Hub) leave(r *Reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !r.tail.leave(r) {
		return
	}
	h.visits.Done()
	if r.tail.readers == 0 {
		r.tail.stop()
		h.tails[r.tail.partition] = nil
	}
	if h.readers--; h.readers == 0 {
		h.stop()
	}
}

// all lists the readers of this moment.
func (h *Hub) all() []*Reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Reader, 0, h.readers)
	for _, t := range h.tails {
		if t != nil {
			list = t.list(list)
		}
	}
	return list
}

// keepTime lets readers know that they are alive, and has checked what they may read. It is the one timer of all of them.
func (h *Hub) keepTime(ctx context.Context) {
	due := make(chan struct{}, 1) // a round of checks that is late is followed by the next one at once
	var checking sync.WaitGroup
	defer checking.Wait()
	defer close(due)
	checking.Go(func() {
		for range due {
			h.recheck(ctx, h.all(), h.deps.Clock.Now())
		}
	})
	for {
		timer := h.deps.Clock.NewTimer(tick)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		now := h.deps.Clock.Now()
		for _, r := range h.all() {
			r.tail.beat(r, now)
		}
		select {
		case due <- struct{}{}:
		default:
		}
	}
}

// recheck ends the readers that may no longer read.
func (h *Hub) recheck(ctx context.Context, readers []*Reader, now time.Time) {
	places := make(chan struct{}, rechecks)
	var checking sync.WaitGroup
	defer checking.Wait()
	for _, r := range readers {
		if !r.due(now) {
			continue
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		checking.Go(func() {
			defer func() { <-places }()
			if err := r.recheck(ctx); err != nil && errs.From(err).Status() < http.StatusInternalServerError {
				r.End(err) // when the database cannot tell, it is asked again
			}
		})
	}
}
