package sqlbus

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

type heads [bus.Partitions]bus.Position

// readHeads gives the last committed position of every partition.
func readHeads(ctx context.Context, r sqldb.Reader) (heads, error) {
	type head struct {
		partition int
		last      bus.Position
	}
	rows, err := sqldb.All(ctx, r, func(rows *sql.Rows) (h head, err error) {
		return h, rows.Scan(&h.partition, &h.last)
	}, `SELECT partition, last_pos FROM bus_heads`)
	var out heads
	for _, row := range rows {
		out[row.partition] = row.last
	}
	return out, err
}

// headWatch knows how far each partition has grown. What this process appends on its own it knows at once; for the rest
// it looks at the table, often while events come, rarely while none do, and never while nobody waits.
type headWatch struct {
	db    *sqldb.DB
	clock clock.Clock
	log   *slog.Logger

	mu      sync.Mutex
	heads   heads
	moved   [bus.Partitions]chan struct{} // closed when the head moves
	waiters int

	broken bool          // the last look failed; only the loop touches it
	hurry  chan struct{} // a change is near: look soon
	cancel context.CancelFunc
	done   chan struct{}
}

const (
	lookSoon = 4 * time.Millisecond // after AppendTx, whose commit is not ours to see
	lookBusy = 25 * time.Millisecond
	lookIdle = 250 * time.Millisecond

	lookTimeout = 5 * time.Second
)

func newHeadWatch(db *sqldb.DB, clk clock.Clock, log *slog.Logger) *headWatch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &headWatch{
		db: db, clock: clk, log: log,
		hurry: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
	}
	for p := range w.moved {
		w.moved[p] = make(chan struct{})
	}
	go w.loop(ctx)
	return w
}

func (w *headWatch) close() {
	w.cancel()
	<-w.done
}

// wait returns the head of a partition as soon as it is past a position.
func (w *headWatch) wait(ctx context.Context, partition int, after bus.Position) (bus.Position, error) {
	w.enter(1)
	defer w.enter(-1)
	for {
		w.mu.Lock()
		head, moved := w.heads[partition], w.moved[partition]
		w.mu.Unlock()
		if head > after {
			return head, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (w *headWatch) enter(n int) {
	w.mu.Lock()
	first := w.waiters == 0
	w.waiters += n
	w.mu.Unlock()
	if first {
		w.expect()
	}
}

func (w *headWatch) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiters == 0
}

// expect makes the next look come soon.
func (w *headWatch) expect() {
	select {
	case w.hurry <- struct{}{}:
	default:
	}
}

// advance notes events that are committed.
func (w *headWatch) advance(events []bus.Event) {
	var seen heads
	for _, e := range events {
		p := e.Position.Partition()
		seen[p] = max(seen[p], e.Position)
	}
	w.update(seen)
}

func (w *headWatch) update(seen heads) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, head := range seen {
		if head > w.heads[p] {
			w.heads[p] = head
			close(w.moved[p])
			w.moved[p] = make(chan struct{})
			changed = true
		}
	}
	return changed
}

func (w *headWatch) loop(ctx context.Context) {
	defer close(w.done)
	pause := lookSoon
	for {
		if w.idle() {
			select {
			case <-w.hurry:
				pause = lookSoon
			case <-ctx.Done():
				return
			}
			continue
		}
		pause = w.look(ctx, pause)
		if pause = w.rest(ctx, pause); ctx.Err() != nil {
			return
		}
	}
}

// look reads the heads and says how long to rest.
func (w *headWatch) look(ctx context.Context, pause time.Duration) time.Duration {
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := readHeads(limited, w.db)
	if err == nil {
		w.broken = false
	}
	switch {
	case err != nil:
		if !w.broken && ctx.Err() == nil {
			w.broken = true
			w.log.WarnContext(ctx, "the event log cannot be read; its consumers wait", "error", err)
		}
		return lookIdle
	case w.update(seen):
		return lookBusy
	default:
		return min(2*pause, lookIdle)
	}
}

// rest waits for the pause to pass. A hint shortens it once, so that a stream of hints cannot put the look off.
func (w *headWatch) rest(ctx context.Context, pause time.Duration) time.Duration {
	timer := w.clock.NewTimer(pause)
	defer timer.Stop()
	hurry := w.hurry
	if pause <= lookSoon {
		hurry = nil
	}
	select {
	case <-hurry:
		return w.rest(ctx, lookSoon)
	case <-timer.C():
	case <-ctx.Done():
	}
	return pause
}
