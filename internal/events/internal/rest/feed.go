package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/events/internal/engine"
	"atelier/internal/events/internal/feed"
	"atelier/internal/events/internal/query"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/restapi"
)

// LiveInput is how a client asks for the events to come rather than for those that were.
type LiveInput struct {
	SSE         bool   `query:"sse" doc:"Whether to stream the events from now on as server-sent events; Accept: text/event-stream means the same."`
	LastEventID string `query:"lastEventId" maxLength:"40" doc:"Where a stream goes on: after this event. The header Last-Event-ID means the same, and so does afterId."`
	Accept      string `header:"Accept" hidden:"true"`
	Upgrade     string `header:"Upgrade" hidden:"true"`
}

func (in LiveInput) live() bool {
	return in.SSE || strings.Contains(in.Accept, "text/event-stream") || in.Upgrade != ""
}

// Live answers those who want the events as they happen: as server-sent events, or over a WebSocket.
type Live struct {
	Engine *engine.Engine
	Hub    *feed.Hub
	Clock  clock.Clock
	IDs    ident.Source
	Errors httpx.Errors

	commands restapi.Form[command]
}

// report writes a fault of ours to the log: over a socket nobody else does.
func (l *Live) report(ctx context.Context, err error) {
	l.Errors.Report(ctx, httpx.NewProblem(ctx, err))
}

func (l *Live) answer(workspaceID string) restapi.Body {
	return restapi.Streaming(func(w http.ResponseWriter, r *http.Request) {
		serve := l.stream
		if httpx.Upgrades(r) {
			serve = l.socket
		}
		if err := serve(w, r, workspaceID); err != nil {
			l.Errors.Write(w, r, err)
		}
	}).Body
}

// open makes a reader of what the caller may read.
func (l *Live) open(ctx context.Context, workspaceID string, kind feed.Kind) (*feed.Reader, error) {
	reading, err := l.Engine.Listen(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	reader, err := l.Hub.Open(ctx, reading.WorkspaceID(), kind)
	if err != nil {
		return nil, err
	}
	reader.Guard(reading)
	return reader, nil
}

// endless frees a request from its time, and ends it when the server stops.
func endless(w http.ResponseWriter, r *http.Request) (context.Context, func()) {
	r, done := httpx.Endless(w, r)
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(httpx.Stopping(ctx), func() { cancel(feed.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		done()
	}
}

// stream sends server-sent events until the client leaves. The error is that of a stream which could not begin.
func (l *Live) stream(w http.ResponseWriter, r *http.Request, workspaceID string) error {
	wish, err := wishOf(r)
	if err != nil {
		return err
	}
	ctx, done := endless(w, r)
	defer done()
	reader, err := l.open(ctx, workspaceID, feed.SSE)
	if err != nil {
		return err
	}
	defer reader.Close()
	subscription, err := reader.Subscribe(ctx, wish)
	if err != nil {
		return err
	}
	s := &sse{events: httpx.NewEvents(w), subscription: subscription}
	if err = s.begin(ctx, wish.After > 0); err == nil {
		err = s.run(ctx, reader)
	}
	s.end(why(ctx, err))
	return nil
}

// why is the reason for the end: whatever was under way when there was one knows only that it was cut short.
func why(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// wishOf reads what a stream is to hold.
func wishOf(r *http.Request) (feed.Wish, error) {
	parameters := r.URL.Query()
	filter, err := query.FromParameters(listening(parameters), "limit", "page", "sort", "cursor", "sse", "lastEventId", "afterId")
	if err != nil {
		return feed.Wish{}, err
	}
	wish := feed.Wish{Filter: filter}
	for name, id := range map[string]string{
		"afterId": parameters.Get("afterId"), "lastEventId": parameters.Get("lastEventId"), "Last-Event-ID": r.Header.Get("Last-Event-ID"),
	} {
		if id == "" {
			continue
		}
		position, err := bus.ParseID(id)
		if err != nil {
			return feed.Wish{}, errs.Parameter(name, "use the id of an event")
		}
		wish.After = max(wish.After, position, 1) // the one that is further on: a browser sends its own beside the address it was given
	}
	return wish, nil
}

// listening leaves out the dates, which mean nothing to a stream that begins now.
func listening(parameters url.Values) url.Values {
	for _, name := range []string{"afterDate", "beforeDate", "beforeId"} {
		parameters.Del(name)
	}
	return parameters
}

// sse is a stream of server-sent events.
type sse struct {
	events       *httpx.Events
	subscription *feed.Subscription
}

// begin tells where the stream begins, so that a reader that gets nothing and comes back misses nothing either, and sends what
// has happened since the reader was here.
func (s *sse) begin(ctx context.Context, resumed bool) error {
	if err := s.events.Post(httpx.Message{ID: s.subscription.Last().ID()}); err != nil {
		return err
	}
	return s.subscription.Start(ctx, resumed, s.deliver)
}

func (s *sse) run(ctx context.Context, reader *feed.Reader) error {
	for {
		items, err := reader.Next(ctx)
		if err == nil {
			err = s.deliver(items)
		}
		if err != nil {
			return err
		}
	}
}

// deliver sends events, and that the stream is alive, in the order in which they came: the ids tell a reader where to go on.
func (s *sse) deliver(items []feed.Item) error {
	messages := make([]httpx.Message, 0, len(items))
	last := s.subscription.Last()
	for _, item := range items {
		messages = append(messages, httpx.Message{ID: item.Position.ID(), Data: item.Event})
		if item.Subscription != nil {
			last = item.Position
		}
	}
	if err := s.events.Post(messages...); err != nil {
		return err
	}
	s.subscription.Delivered(last)
	return nil
}

// end tells a reader that is still there why it gets no more.
func (s *sse) end(err error) {
	if errors.Is(err, feed.ErrGap) {
		after, _ := json.Marshal(map[string]string{"after": s.subscription.Last().ID()})
		_ = s.events.Post(httpx.Message{Event: "gap", Data: after})
		return
	}
	if refusal, ok := errors.AsType[*errs.Error](err); ok {
		if text, err := json.Marshal(refusal.Show()); err == nil {
			_ = s.events.Post(httpx.Message{Event: "end", Data: text})
		}
	}
}
