package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events/internal/feed"
	"atelier/internal/events/internal/query"
)

// command is what a client says over a WebSocket.
type command struct {
	ID           json.RawMessage `json:"id,omitempty" doc:"Chosen by the client; the answer has it."`
	Type         string          `json:"type" enum:"subscribe,unsubscribe,emit,ping"`
	Filters      *query.Options  `json:"filters,omitempty"`
	After        string          `json:"after,omitempty" maxLength:"40"`
	Subscription string          `json:"subscription,omitempty" maxLength:"40"`
	Events       []EmitEvent     `json:"events,omitempty" maxItems:"100" nullable:"false"`
}

// reply is an answer to a command.
type reply struct {
	Type         string           `json:"type"`
	ID           json.RawMessage  `json:"id,omitempty"`
	Subscription string           `json:"subscription,omitempty"`
	SocketID     string           `json:"socketId,omitempty"`
	Events       []envelope.Event `json:"events,omitempty"`
	Error        errs.Code        `json:"error,omitempty"`
	Message      string           `json:"message,omitempty"`
	Details      map[string]any   `json:"details,omitempty"`
}

func failure(id json.RawMessage, err error) reply {
	shown := errs.From(err).Show()
	return reply{Type: "error", ID: id, Error: shown.Error, Message: shown.Message, Details: shown.Details}
}

// commandTime is how long a command may take, besides what it takes the client to receive the past.
const commandTime = 30 * time.Second

// obey does what a message asks and answers. The error ends the connection.
func (s *socket) obey(ctx context.Context, text []byte) error {
	c, err := s.live.commands.Read(text)
	if err == nil && len(c.ID) > maxCommandID {
		err = errs.Invalid(errs.Field{Field: "id", Message: "use a number or a short text"})
	}
	if err != nil {
		return s.tell(failure(idOf(text), err))
	}
	if err := s.said.admit(); err != nil {
		return s.tell(failure(c.ID, err))
	}
	var answer reply
	switch c.Type {
	case "subscribe":
		return s.subscribe(ctx, c)
	case "unsubscribe":
		answer, err = s.unsubscribe(c)
	case "emit":
		answer, err = s.emit(ctx, c)
	default:
		answer = reply{Type: "pong"}
	}
	if err != nil {
		answer = failure(nil, err)
		s.live.report(ctx, err)
	}
	answer.ID = c.ID
	return s.tell(answer)
}

// maxCommandID is the longest id of a command.
const maxCommandID = 100

// idOf finds the id of a message that is wrong otherwise, so that the client knows which one is.
func idOf(text []byte) json.RawMessage {
	var c struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(text, &c) != nil || len(c.ID) > maxCommandID || bytes.ContainsAny(c.ID, "{[") {
		return nil
	}
	return c.ID
}

// subscribe answers first, and then sends what has happened since the event that the client names.
func (s *socket) subscribe(ctx context.Context, c command) error {
	subscription, resumed, err := s.begin(ctx, c)
	if err != nil {
		return s.tell(failure(c.ID, err))
	}
	s.mu.Lock()
	s.subscriptions[subscription.Name] = subscription
	err = s.tell(reply{Type: "subscribed", ID: c.ID, Subscription: subscription.Name, SocketID: s.id})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return subscription.Start(ctx, resumed, s.past)
}

func (s *socket) begin(ctx context.Context, c command) (subscription *feed.Subscription, resumed bool, err error) {
	if len(s.subscriptions) >= maxSubscriptions {
		return nil, false, errs.Newf(errs.QuotaExceeded, "A connection may have %d subscriptions; end one.", maxSubscriptions)
	}
	wish := feed.Wish{Name: s.name(), Socket: s.id}
	var options query.Options
	if c.Filters != nil {
		options = *c.Filters
	}
	if wish.Filter, err = options.Filter(); err != nil {
		return nil, false, err
	}
	if c.After != "" {
		if wish.After, err = bus.ParseID(c.After); err != nil {
			return nil, false, errs.Invalid(errs.Field{Field: "after", Message: "use the id of an event"})
		}
		wish.After = max(wish.After, 1)
	}
	limited, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	subscription, err = s.reader.Subscribe(limited, wish)
	return subscription, wish.After > 0, err
}

// past sends what was before the subscription. That the connection is alive is the other goroutine's business.
func (s *socket) past(items []feed.Item) error {
	if len(items) > 0 && items[0].Subscription == nil {
		return nil
	}
	return s.deliver(items)
}

func (s *socket) unsubscribe(c command) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	subscription := s.subscriptions[c.Subscription]
	if subscription == nil {
		return reply{}, errs.Invalid(errs.Field{Field: "subscription", Message: "there is none of this name"})
	}
	delete(s.subscriptions, c.Subscription)
	s.reader.Leave(subscription)
	return reply{Type: "unsubscribed", Subscription: c.Subscription}, nil
}

// emit stores events as the operation does, and notes the connection that they came through.
func (s *socket) emit(ctx context.Context, c command) (reply, error) {
	if err := access.CheckScope(access.EventsWrite, access.From(ctx)); err != nil {
		return reply{}, err
	}
	if len(c.Events) == 0 {
		return reply{}, errs.Invalid(errs.Field{Field: "events", Message: "send at least one event"})
	}
	emitted := make([]envelope.Event, 0, len(c.Events))
	for _, event := range c.Events {
		emitted = append(emitted, envelope.Event{
			Type: event.Type, Payload: event.Payload, Target: event.Target, Options: event.Options, Source: envelope.Source{SocketID: s.id},
		})
	}
	limited, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	stored, err := s.live.Engine.Emit(limited, s.ref, emitted)
	return reply{Type: "emitted", Events: stored}, err
}

// rate bounds how much one connection may ask: the limits of the gateway count connections, not messages.
type rate struct {
	clock clock.Clock
	spent float64
	at    time.Time
}

// The messages of one connection: so many at once, and so many a second in the long run.
const (
	rateBurst  = 100
	ratePerSec = 20
)

func (r *rate) admit() error {
	now := r.clock.Now()
	r.spent = max(0, r.spent-now.Sub(r.at).Seconds()*ratePerSec)
	r.at = now
	if r.spent >= rateBurst {
		return errs.Newf(errs.RateLimitExceeded, "A connection may send %d messages a second; wait.", ratePerSec).WithRetryAfter(time.Second)
	}
	r.spent++
	return nil
}
