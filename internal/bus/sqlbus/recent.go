package sqlbus

import (
	"cmp"
	"slices"
	"sync"

	"atelier/internal/bus"
)

// recent holds the newest events of each partition that this process has appended, so that consumers that keep up need not read
// from the database what was just written to it.
type recent struct {
	mu    sync.Mutex
	tails [bus.Partitions]tail
	bytes int
}

// tail is all events of a partition after a position, as far as it goes. Its events are never changed: whoever has some of them
// keeps what it has.
type tail struct {
	after  bus.Position
	events []bus.Event
	bytes  int
}

// What is held of a partition, and in all. More is of no use to those who keep up.
const (
	recentEvents = 4096
	recentBytes  = 2 << 20
	recentTotal  = 4 << 20
)

func (t *tail) last() bus.Position {
	if len(t.events) == 0 {
		return t.after
	}
	return t.events[len(t.events)-1].Position
}

// add takes events that are committed, and what was the last one of each partition before. Where somebody else has appended since, the tail
// begins anew: it has no gaps.
func (r *recent) add(before heads, events []bus.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		p := e.Position.Partition()
		t := &r.tails[p]
		if t.last() < before[p] {
			r.forget(t, len(t.events))
			t.after = before[p]
		}
		t.events = append(t.events, e)
		t.bytes += len(e.Body)
		r.bytes += len(e.Body)
	}
	for p := range r.tails {
		t := &r.tails[p]
		for len(t.events) > recentEvents || t.bytes > recentBytes || r.bytes > recentTotal && len(t.events) > 0 {
			r.forget(t, (len(t.events)+1)/2)
		}
	}
}

// forget drops the oldest events of a tail.
func (r *recent) forget(t *tail, n int) {
	for _, e := range t.events[:n] {
		t.bytes -= len(e.Body)
		r.bytes -= len(e.Body)
		t.after = e.Position
	}
	t.events = slices.Clone(t.events[n:])
}

// following gives the events after a position, oldest first; none when they are not all here.
func (r *recent) following(partition int, after bus.Position, limit int) []bus.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.tails[partition]
	if after < t.after {
		return nil
	}
	from, found := slices.BinarySearchFunc(t.events, after, func(e bus.Event, p bus.Position) int { return cmp.Compare(e.Position, p) })
	if found {
		from++
	}
	to := min(from+limit, len(t.events))
	return t.events[from:to:to]
}
