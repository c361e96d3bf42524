// Package recorder writes the technical events of runs behind the answer, many in one commit.
package recorder

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/bus"
	"atelier/internal/clock"
)

// Settings bound what is not written yet. Zero values stand for the defaults.
type Settings struct {
	// Bytes is how much may wait in all: 64 MiB. Share is how much of it may be of one workspace: an eighth.
	Bytes, Share int
}

const (
	mostRecords = 1024 // of one commit
	mostBytes   = 4 << 20
	overhead    = 256 // of a record besides its text, about

	// farewell is how long the last events may take to be written when the process stops.
	farewell = 5 * time.Second
	// pause is what lies between attempts while the log takes nothing.
	pause = 500 * time.Millisecond

	// many is how many records come during a commit when they come fast: then the next commit waits for more of them, for as long as
	// linger. Few large commits cost the database less than many small ones.
	many   = 64
	linger = 25 * time.Millisecond
)

// Recorder is a machine.Recorder. A workspace that records more than can be written waits alone, as long as not all do.
type Recorder struct {
	log      bus.Log
	clock    clock.Clock
	logger   *slog.Logger
	settings Settings

	mu      sync.Mutex
	waiting []bus.Record
	held    map[string]int // bytes by workspace, those on their way into the log included
	total   int
	room    chan struct{} // closed when something was written
	closed  bool

	wake chan struct{} // there is something to write
	full chan struct{} // there is so much that nobody should wait for more
}

// New returns a recorder, which writes while Run runs.
func New(log bus.Log, clk clock.Clock, logger *slog.Logger, settings Settings) *Recorder {
	const all, parts = 64 << 20, 8
	if settings.Bytes <= 0 {
		settings.Bytes = all
	}
	if settings.Share <= 0 {
		settings.Share = settings.Bytes / parts
	}
	return &Recorder{
		log: log, clock: clk, logger: logger, settings: settings,
		held: map[string]int{}, room: make(chan struct{}), wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
	}
}

var _ machine.Recorder = (*Recorder)(nil)

type keptKey struct{}

// While makes a context whose records are thrown away as soon as wanted says no: those of a run that goes on elsewhere.
func While(ctx context.Context, wanted func() bool) context.Context {
	return context.WithValue(ctx, keptKey{}, wanted)
}

func unwanted(ctx context.Context) bool {
	wanted, ok := ctx.Value(keptKey{}).(func() bool)
	return ok && !wanted()
}

// Record hands events over. It waits while its workspace, or all of them, have too many that are not written yet.
func (r *Recorder) Record(ctx context.Context, records ...bus.Record) error {
	if unwanted(ctx) {
		return nil
	}
	for _, one := range records {
		written, err := r.add(ctx, one)
		if err != nil {
			return err
		}
		if written {
			continue
		}
		if _, err := r.log.Append(ctx, one); err != nil { // nobody writes behind any more
			return err
		}
	}
	return nil
}

// add puts a record among those that wait to be written; false when the recorder has stopped.
func (r *Recorder) add(ctx context.Context, one bus.Record) (bool, error) {
	size := len(one.Body) + overhead
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return false, nil
		}
		held, room := r.held[one.WorkspaceID], r.room
		fits := r.total+size <= r.settings.Bytes && (held == 0 || held+size <= r.settings.Share)
		if fits || r.total == 0 { // one that is larger than all that may wait must be written too
			r.waiting = append(r.waiting, one)
			r.held[one.WorkspaceID] = held + size
			r.total += size
			first, enough := len(r.waiting) == 1, len(r.waiting) >= mostRecords || r.total >= mostBytes
			r.mu.Unlock()
			if first { // whoever writes goes on until nothing is left
				nudge(r.wake)
			}
			if enough {
				nudge(r.full)
			}
			return true, nil
		}
		r.mu.Unlock()
		nudge(r.full) // who waits for room must not wait for others, too
		select {
		case <-room:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it will look anyway
	}
}

// Run writes until ctx ends, and then what is left.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		r.drain(ctx, true)
		select {
		case <-r.wake:
			continue
		case <-ctx.Done():
		}
		break
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	r.drain(last, false)
	r.close()
	r.drain(last, false) // what came in between
	if left, _ := r.count(); left > 0 {
		return errors.New("some technical events of automations could not be written in time")
	}
	return nil
}

// count gives how many records wait, and how many bytes are not written.
func (r *Recorder) count() (records, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting), r.total
}

// close makes whoever records from now on write on its own.
func (r *Recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	close(r.room)
	r.room = make(chan struct{})
}

// drain writes all that waits, in larger portions when it may linger. It ends early with ctx.
func (r *Recorder) drain(ctx context.Context, mayLinger bool) {
	for ctx.Err() == nil {
		if mayLinger {
			r.linger(ctx)
		}
		batch := r.take()
		if len(batch) == 0 {
			return
		}
		if !r.write(ctx, batch) {
			r.putBack(batch)
			return
		}
		r.release(batch)
	}
}

// linger waits for more records when they come fast, until there are as many as one commit takes.
func (r *Recorder) linger(ctx context.Context) {
	if waiting, bytes := r.count(); waiting < many || waiting >= mostRecords || bytes >= mostBytes {
		return
	}
	timer := r.clock.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-r.full: // or it was: then this commit is one of the smaller ones
	case <-ctx.Done():
	}
}

// take gives the oldest records, as many as one commit takes.
func (r *Recorder) take() []bus.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, bytes := 0, 0
	for n < len(r.waiting) && n < mostRecords && (n == 0 || bytes+len(r.waiting[n].Body) <= mostBytes) {
		bytes += len(r.waiting[n].Body)
		n++
	}
	batch := r.waiting[:n:n]
	if r.waiting = r.waiting[n:]; len(r.waiting) == 0 {
		r.waiting = make([]bus.Record, 0, n) // as many will come until this is written, or few
	}
	return batch
}

func (r *Recorder) putBack(batch []bus.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(batch, r.waiting...)
}

// release tells those who wait that there is room.
func (r *Recorder) release(batch []bus.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range batch {
		size := len(one.Body) + overhead
		r.total -= size
		if r.held[one.WorkspaceID] -= size; r.held[one.WorkspaceID] <= 0 {
			delete(r.held, one.WorkspaceID)
		}
	}
	close(r.room)
	r.room = make(chan struct{})
}
