package feed

import (
	"context"
	"sync"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue"
)

// tail follows one partition of the log and hands its events to the readers of their workspaces.
type tail struct {
	hub       *Hub
	partition int
	ctx       context.Context //nolint:containedctx // it is the tail's own, as long as the tail
	stop      context.CancelFunc
	readers   int // guarded by the hub

	mu sync.Mutex
	// at is how far it has come: what is before was handed to everybody who was there.
	at    bus.Position
	rooms map[string]map[*Reader]struct{} // by workspace
}

const (
	// tailBatch is how many events are read at once.
	tailBatch = 500
	// tailPause is how long a tail waits after the database failed.
	tailPause = time.Second
)

func newTail(h *Hub, partition int, at bus.Position) *tail {
	t := &tail{hub: h, partition: partition, at: at, rooms: map[string]map[*Reader]struct{}{}}
	t.ctx, t.stop = context.WithCancel(h.life)
	return t
}

func (t *tail) join(r *Reader) {
	t.readers++
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rooms[r.workspaceID] == nil {
		t.rooms[r.workspaceID] = map[*Reader]struct{}{}
	}
	t.rooms[r.workspaceID][r] = struct{}{}
}

// leave takes a reader out, and tells whether it was there.
func (t *tail) leave(r *Reader) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := t.rooms[r.workspaceID]
	if _, there := room[r]; !there {
		return false
	}
	delete(room, r)
	if len(room) == 0 {
		delete(t.rooms, r.workspaceID)
	}
	t.readers--
	return true
}

func (t *tail) list(into []*Reader) []*Reader {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, room := range t.rooms {
		for r := range room {
			into = append(into, r)
		}
	}
	return into
}

// run reads the partition until nobody listens any more. Events are read from the table, which holds every one.
func (t *tail) run() {
	failing := false
	for t.ctx.Err() == nil {
		err := t.follow()
		if t.ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			t.hub.deps.Log.WarnContext(t.ctx, "events cannot be read; those who listen wait", "partition", t.partition, "error", err)
		}
		if failing = err != nil; failing && !t.rest() {
			return
		}
	}
}

func (t *tail) rest() bool {
	timer := t.hub.deps.Clock.NewTimer(tailPause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-t.ctx.Done():
		return false
	}
}

// follow waits for the next events and hands them out.
func (t *tail) follow() error {
	at := t.position()
	head, err := t.hub.deps.Bus.Wait(t.ctx, t.partition, at)
	if err != nil {
		return err
	}
	events, err := sqlbus.Following(t.ctx, t.hub.deps.DB, t.partition, at, tailBatch)
	if err != nil {
		return err
	}
	t.hand(events, head)
	return nil
}

func (t *tail) position() bus.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

// hand gives the events to the readers. Without events, those up to the head have been removed meanwhile.
func (t *tail) hand(events []bus.Event, head bus.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range events {
		t.at = e.Position
		room := t.rooms[e.WorkspaceID]
		if len(room) == 0 || catalogue.Inside(e.Type) {
			continue
		}
		p := newParcel(e)
		for r := range room {
			r.take(p)
		}
	}
	if len(events) == 0 {
		t.at = max(t.at, head)
	}
}

// enter lets a subscription take part, and says from where on: it gets every event after that position.
func (t *tail) enter(s *Subscription) bus.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.reader.add(s)
	return t.at
}

// beat tells a reader that it is due for it that the stream is alive, and how far it has come.
func (t *tail) beat(r *Reader, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.beat(now, t.at)
}
