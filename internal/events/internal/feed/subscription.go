package feed

import (
	"context"
	"sync/atomic"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
)

// Subscription is what a reader wants to get.
type Subscription struct {
	// Name is what the reader calls it.
	Name string

	reader *Reader
	filter query.Filter
	socket string
	// begin is where the live events begin, guarded by the reader.
	begin bus.Position
	// holding keeps live events back while older ones are on their way, guarded by the reader.
	holding bool
	held    []Item
	last    atomic.Int64
}

// Wish is what to subscribe to.
type Wish struct {
	Name   string
	Filter query.Filter
	// After is the event to go on after; without it the subscription begins now.
	After bus.Position
	// Socket is the connection of the reader. With it, one that asks for a session gets of the events that were emitted
	// through a connection only its own.
	Socket string
}

// historyPage is how many events of the past are read at once.
const historyPage = 200

// future is how far ahead of our clock an event can be: those of other instances have their own.
const future = time.Minute

// Subscribe finds out where a subscription begins. Every event that is stored after it has returned is one for the
// subscription, and it is not in force before Start.
func (r *Reader) Subscribe(ctx context.Context, wish Wish) (*Subscription, error) {
	s := &Subscription{Name: wish.Name, reader: r, filter: wish.Filter, socket: wish.Socket, holding: true}
	if wish.After > 0 {
		if wish.After.Time().After(r.hub.deps.Clock.Now().Add(future)) {
			return nil, errs.Parameter("lastEventId", "use the id of an event that has happened")
		}
		s.last.Store(int64(wish.After))
		return s, nil
	}
	head, err := r.head(ctx)
	s.last.Store(int64(head))
	return s, err
}

// Last is the position of the last event that was delivered; before the first one, where the subscription begins.
func (s *Subscription) Last() bus.Position { return bus.Position(s.last.Load()) }

// Change asks for something else from the next event on, for a connection that may have another name. What has waited was
// wanted and comes still; nothing is left out and nothing comes twice. It is called after Start.
func (s *Subscription) Change(filter query.Filter, socket string) {
	s.reader.mu.Lock()
	defer s.reader.mu.Unlock()
	s.filter, s.socket = filter, socket
}

// Delivered notes that the reader has an event.
func (s *Subscription) Delivered(at bus.Position) { s.last.Store(int64(at)) }

// Start hands what has happened since the beginning to deliver, oldest first, and then lets the live events come. Nothing is
// left out between the two, and nothing comes twice. When resumed, transient events of the past are not among it.
func (s *Subscription) Start(ctx context.Context, resumed bool, deliver func([]Item) error) error {
	from := s.Last()
	for resumed {
		head, err := s.reader.head(ctx)
		if err != nil {
			return err
		}
		rounds, err := s.replay(ctx, from, head, deliver)
		if err != nil {
			return err
		}
		from = max(from, head)
		resumed = rounds > 1 // more may have happened meanwhile than is to be held
	}
	s.begin = from
	joined := s.reader.tail.enter(s)
	if err := s.bridge(ctx, from, joined, deliver); err != nil {
		return err
	}
	s.release()
	return nil
}

func (r *Reader) head(ctx context.Context) (bus.Position, error) {
	return sqlbus.Head(ctx, r.hub.deps.DB, r.tail.partition)
}

// replay delivers the stored events of the workspace after one position and up to another, and tells in how many pages.
func (s *Subscription) replay(ctx context.Context, after, upTo bus.Position, deliver func([]Item) error) (pages int, err error) {
	for after < upTo {
		events, err := s.page(ctx, after, upTo)
		if err != nil {
			return pages, err
		}
		pages++
		if err := s.send(ctx, events, deliver); err != nil {
			return pages, err
		}
		if len(events) < historyPage {
			return pages, nil
		}
		after = events[len(events)-1].Position
		if s.reader.silent() {
			err = deliver([]Item{{Position: after}})
		}
		if err != nil {
			return pages, err
		}
	}
	return pages, nil
}

// page reads events of the past. A few are read at the same time, so that a crowd that comes back leaves the database to
// others.
func (s *Subscription) page(ctx context.Context, after, upTo bus.Position) ([]bus.Event, error) {
	h := s.reader.hub
	select {
	case h.past <- struct{}{}:
		defer func() { <-h.past }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return sqlbus.Page(ctx, h.deps.DB, s.reader.workspaceID, sqlbus.PageQuery{
		After: after, Before: upTo + 1, Ascending: true, Limit: historyPage, Types: s.filter.Types(),
	})
}

// bridge delivers what came between the position that was read last and the one at which the subscription joined: the tail
// has handed it out already. That is little, and transient events are among it.
func (s *Subscription) bridge(ctx context.Context, after, joined bus.Position, deliver func([]Item) error) error {
	for after < joined {
		events, err := sqlbus.Following(ctx, s.reader.hub.deps.DB, s.reader.tail.partition, after, tailBatch)
		if err != nil || len(events) == 0 {
			return err
		}
		after = events[len(events)-1].Position
		own := events[:0]
		for _, e := range events {
			if e.WorkspaceID == s.reader.workspaceID && e.Position <= joined {
				own = append(own, e)
			}
		}
		if err := s.send(ctx, own, deliver); err != nil {
			return err
		}
	}
	return nil
}

// send delivers those of the events that are wanted and may be read.
func (s *Subscription) send(ctx context.Context, events []bus.Event, deliver func([]Item) error) error {
	var items []Item
	for _, e := range events {
		if catalogue.Inside(e.Type) {
			continue
		}
		p := newParcel(e)
		if !s.wants(p) || !s.reader.rights.Allow(p) {
			continue
		}
		if text, ok := p.json(); ok {
			items = append(items, Item{Subscription: s, Position: p.position, Type: p.Stored().Type, Event: text})
		}
	}
	if len(items) == 0 {
		return nil
	}
	if err := s.reader.fresh(ctx); err != nil {
		return err
	}
	return deliver(items)
}

// wants tells whether an event is one for the subscription.
func (s *Subscription) wants(p *parcel) bool {
	return s.filter.Match(p.Document) && (s.socket == "" || !s.elsewhere(p))
}

// elsewhere tells that an event is for the connection that it was emitted through, and that this is another one of the same
// session.
func (s *Subscription) elsewhere(p *parcel) bool {
	if !s.filter.Asks("source.sessionId") || s.filter.Asks("source.socketId") {
		return false
	}
	socket, ok := p.Field("source.socketId")
	if !ok || socket == s.socket {
		return false
	}
	current, said := p.Field("target.currentSocket")
	return !said || current != false
}

// put hands an item on, or keeps it while older ones are on their way. The reader is locked.
func (s *Subscription) put(item Item) {
	if s.holding {
		s.held = append(s.held, item)
		return
	}
	s.reader.queue = append(s.reader.queue, item)
	s.reader.signal()
}

// release lets the live events come.
func (s *Subscription) release() {
	r := s.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	s.holding = false
	r.queue = append(r.queue, s.held...)
	s.held = nil
	if len(r.queue) > 0 || r.gap {
		r.signal()
	}
}
