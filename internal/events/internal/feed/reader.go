package feed

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/errs"
)

// What a reader can end with, besides the refusal to read on.
var (
	// ErrGap tells that the reader was too slow: it was given everything up to here, and what follows it has to ask for.
	ErrGap = errors.New("the reader is too slow")
	// ErrClosed tells that the server is stopping; the reader goes on elsewhere.
	ErrClosed = errs.New(errs.Unavailable, "The server is stopping; connect again.").WithRetryAfter(time.Second)
)

// What waits for a reader at most. Beyond it the reader gets no more and has to come back.
const (
	maxWaiting = 1000
	maxBytes   = 4 << 20
)

// Item is something for a reader: an event, or, without a subscription, the news that the stream is alive.
type Item struct {
	Subscription *Subscription
	// Position is that of the event, or how far the stream has come.
	Position bus.Position
	// Type is that of the event.
	Type string
	// Event is the event as JSON. It is shared: nobody changes it.
	Event []byte
}

// Reader is somebody who listens to a workspace, in one or several subscriptions.
type Reader struct {
	hub         *Hub
	tail        *tail
	workspaceID string
	kind        Kind
	wake        chan struct{}

	mu            sync.Mutex
	subscriptions []*Subscription
	queue         []Item
	waiting       int // events in the queue, or held by a subscription
	bytes         int
	gap           bool
	ended         error
	beaten        time.Time
	rights        Rights
	checked       time.Time
}

// topicJoined is the event that tells of somebody who came into a topic.
const topicJoined = "events.userTopics.joined"

// Rights is what somebody may read, which can change.
type Rights interface {
	// Allow tells whether an event may be read.
	Allow(event access.Object) bool
	// Note takes the news that somebody has come into a topic, which may be a right to what follows.
	Note(event access.Object)
	// Again looks whether anything may be read still; the error says why not, or that it could not be found out.
	Again(ctx context.Context) error
}

// Guard makes the reader get only what these rights allow, which were looked at just now. It is called once, before anything
// is subscribed to.
func (r *Reader) Guard(rights Rights) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rights, r.checked = rights, r.hub.deps.Clock.Now()
}

// WorkspaceID is the workspace that is listened to.
func (r *Reader) WorkspaceID() string { return r.workspaceID }

// Close takes the reader out of the hub.
func (r *Reader) Close() { r.hub.leave(r) }

// End makes Next return the error, at once. The first end counts.
func (r *Reader) End(err error) {
	r.mu.Lock()
	if r.ended == nil {
		r.ended = err
	}
	r.mu.Unlock()
	r.signal()
}

func (r *Reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Next waits for something to hand over. It gives ErrGap when the reader was too slow, after all that had waited for it, and
// the reason when it may not read on.
func (r *Reader) Next(ctx context.Context) ([]Item, error) {
	for {
		items, err := r.collect()
		if err != nil {
			return nil, err
		}
		if len(items) > 0 {
			return items, r.fresh(ctx)
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (r *Reader) collect() ([]Item, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return nil, r.ended
	}
	items := r.queue
	r.queue = nil
	for _, item := range items {
		if item.Subscription != nil {
			r.waiting--
			r.bytes -= len(item.Event)
		}
	}
	if len(items) == 0 && r.gap {
		return nil, ErrGap
	}
	return items, nil
}

// take puts an event into the queue for each subscription that wants it. The tail calls it, one event after the other.
func (r *Reader) take(p *parcel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil || r.gap {
		return
	}
	if r.rights != nil && p.Stored().Type == topicJoined {
		r.rights.Note(p)
	}
	for _, s := range r.subscriptions {
		if p.position <= s.begin || !s.wants(p) || !r.rights.Allow(p) {
			continue
		}
		text, ok := p.json()
		if !ok {
			return
		}
		if r.waiting >= maxWaiting || r.bytes+len(text) > maxBytes && r.waiting > 0 {
			r.gap = true
			r.signal()
			return
		}
		r.waiting++
		r.bytes += len(text)
		s.put(Item{Subscription: s, Position: p.position, Type: p.Stored().Type, Event: text})
	}
}

// silent takes the news that the stream is alive out of the queue, when there is nothing else in it.
func (r *Reader) silent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 || slices.ContainsFunc(r.queue, func(item Item) bool { return item.Subscription != nil }) {
		return false
	}
	r.queue = nil
	return true
}

// beat puts the news that the stream is alive into the queue, when it is time for it.
func (r *Reader) beat(now time.Time, at bus.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.beaten) < beatEvery || r.ended != nil || r.gap {
		return
	}
	r.beaten = now
	r.queue = append(r.queue, Item{Position: at})
	r.signal()
}

func (r *Reader) add(s *Subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriptions = append(r.subscriptions, s)
}

// Leave ends a subscription. What has waited for it is not handed over.
func (r *Reader) Leave(s *Subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriptions = slices.DeleteFunc(r.subscriptions, func(other *Subscription) bool { return other == s })
	r.queue = slices.DeleteFunc(r.queue, func(item Item) bool {
		if item.Subscription != s {
			return false
		}
		r.drop(item)
		return true
	})
	for _, item := range s.held {
		r.drop(item)
	}
	s.held = nil
}

func (r *Reader) drop(item Item) {
	r.waiting--
	r.bytes -= len(item.Event)
}

// due tells whether it is time to look at the rights again.
func (r *Reader) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rights != nil && r.ended == nil && now.Sub(r.checked) >= recheckAfter
}

// fresh makes sure that events are handed over only with rights that were looked at lately, also when the hub is late.
func (r *Reader) fresh(ctx context.Context) error {
	r.mu.Lock()
	old, ended := r.hub.deps.Clock.Now().Sub(r.checked) >= stale, r.ended
	r.mu.Unlock()
	if ended != nil || !old {
		return ended
	}
	return r.recheck(ctx)
}

// recheck looks whether the reader may read on.
func (r *Reader) recheck(ctx context.Context) error {
	begun := r.hub.deps.Clock.Now()
	if err := r.rights.Again(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked = begun
	return nil
}
