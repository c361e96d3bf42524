package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"atelier/internal/access"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events/internal/feed"
	"atelier/internal/events/internal/query"
	"atelier/internal/socketio"
)

// listener is a client of socket.io that listens to a workspace. One goroutine sends events, another one does what the client
// says.
type listener struct {
	io           *SocketIO
	sock         *socketio.Socket
	ref          string
	reader       *feed.Reader
	subscription *feed.Subscription
	filter       query.Filter
	id, pid      string
	said         rate
}

// subscribe finds out where the client begins, and what its socket is called.
func (l *listener) subscribe(ctx context.Context, e *entry) (resumed bool, err error) {
	workspaceID := l.reader.WorkspaceID()
	wish := feed.Wish{Filter: e.filter}
	l.filter = e.filter
	l.id, l.pid, wish.After = l.io.lost(ctx, workspaceID, e.auth)
	if l.id == "" {
		if l.id, err = l.io.newID(ctx, workspaceID); err != nil {
			return false, err
		}
	}
	wish.Socket = l.id
	if l.subscription, err = l.reader.Subscribe(ctx, wish); err != nil {
		return false, err
	}
	if l.pid == "" {
		l.pid = pidOf(l.id, l.subscription.Last())
	}
	return wish.After > 0, nil
}

// run lets the client in, and sends it events until there is a reason to end.
func (l *listener) run(ctx context.Context, resumed bool) error {
	answer := struct {
		ID      string `json:"sid"`
		Private string `json:"pid"`
	}{l.id, l.pid}
	if err := l.sock.Accept(answer); err != nil {
		return err
	}
	if err := l.subscription.Start(ctx, resumed, l.deliver); err != nil {
		return l.end(ctx, why(ctx, err))
	}
	hearable, cancel := context.WithCancelCause(ctx)
	var hearing sync.WaitGroup
	hearing.Go(func() { l.listen(hearable) })
	err := why(ctx, l.send(ctx))
	cancel(err)
	hearing.Wait()
	return l.end(ctx, err)
}

func (l *listener) send(ctx context.Context) error {
	for {
		items, err := l.reader.Next(ctx)
		if err == nil {
			err = l.deliver(items)
		}
		if err != nil {
			return err
		}
	}
}

// deliver sends events, each with its id: the library of a client that is cut off sends the last one back. That the
// connection is alive is somebody else's business.
func (l *listener) deliver(items []feed.Item) error {
	for _, item := range items {
		if item.Subscription == nil {
			continue
		}
		if err := l.sock.Emit(nameOf(item.Type), item.Event, strconv.AppendQuote(nil, item.Position.ID())); err != nil {
			return err
		}
		l.subscription.Delivered(item.Position)
	}
	return nil
}

// nameOf is the name of the message that carries an event: its type, unless the library has a meaning of its own for that.
func nameOf(eventType string) string {
	switch eventType {
	case "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener":
		return "event"
	default:
		return eventType
	}
}

// end tells the client why it gets no more. One that was too slow, or that can go on elsewhere, is cut off and comes back from
// where it was; one that may not go on is sent away.
func (l *listener) end(ctx context.Context, reason error) error {
	refusal, refused := errors.AsType[*errs.Error](reason)
	switch {
	case errors.Is(reason, feed.ErrGap):
		l.last(map[string]any{
			"error": "gap", "message": "You are too slow; connect again and go on after the last event.",
			"details": map[string]string{"after": l.subscription.Last().ID()},
		})
		return reason
	case refused && refusal.Status() < http.StatusInternalServerError:
		l.last(refusal.Show())
		return l.io.refuse(ctx, reason)
	case ctx.Err() == nil && !errors.Is(reason, feed.ErrClosed): // otherwise the client has left
		l.io.Live.report(ctx, reason)
	}
	return reason
}

func (l *listener) last(value any) {
	if text, err := json.Marshal(value); err == nil {
		l.sock.Last("error", text)
	}
}

// listen does what the client says until it leaves.
func (l *listener) listen(ctx context.Context) {
	for {
		m, err := l.sock.Receive(ctx)
		if err != nil {
			return
		}
		if err := l.obey(ctx, m); err != nil {
			l.reader.End(err)
			return
		}
	}
}

// obey does what a message asks, and answers when that is asked. The error ends the connection.
func (l *listener) obey(ctx context.Context, m socketio.Message) error {
	answer, err := l.do(ctx, m)
	if err != nil {
		l.io.Live.report(ctx, err)
		shown := errs.From(err).Show()
		if !m.Asked() {
			text, err := json.Marshal(shown)
			if err != nil {
				return err
			}
			return l.sock.Emit("error", text)
		}
		answer = shown
	}
	if !m.Asked() {
		return nil
	}
	return m.Answer(answer)
}

// returned is how a client says which socket it had before.
type returned struct {
	SocketID string `json:"socketId" maxLength:"200"`
}

func (l *listener) do(ctx context.Context, m socketio.Message) (answer any, err error) {
	if err := l.said.admit(); err != nil {
		return nil, err
	}
	if len(m.Args) == 0 {
		return nil, errs.Invalid(errs.Field{Field: m.Name, Message: "send one argument"})
	}
	switch m.Name {
	case "event":
		return l.emit(ctx, m.Args[0])
	case "filters":
		filter, err := l.io.options(m.Args[0])
		if err == nil {
			l.filter = filter
			l.subscription.Change(l.filter, l.id)
		}
		return struct{}{}, err
	case "reconnection":
		return struct{}{}, l.rename(ctx, m.Args[0])
	default:
		return nil, errs.New(errs.InvalidRequest, "There is no such message; send event, filters or reconnection.")
	}
}

// rename gives the client the name that its socket had before it was cut off.
func (l *listener) rename(ctx context.Context, text json.RawMessage) error {
	said, err := l.io.returned.Read(text)
	if err != nil {
		return err
	}
	if !l.io.own(ctx, l.reader.WorkspaceID(), said.SocketID) {
		return errs.Invalid(errs.Field{Field: "socketId", Message: "this was not a socket of your session in this workspace"})
	}
	l.id = said.SocketID
	l.subscription.Change(l.filter, l.id)
	return nil
}

// emit stores an event as the operation does, and notes the socket that it came through.
func (l *listener) emit(ctx context.Context, text json.RawMessage) (any, error) {
	if err := access.CheckScope(access.EventsWrite, access.From(ctx)); err != nil {
		return nil, err
	}
	event, err := l.io.emitted.Read(text)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(l.io.fresh(ctx), commandTime)
	defer cancel()
	stored, err := l.io.Live.Engine.Emit(limited, l.ref, []envelope.Event{{
		Type: event.Type, Payload: event.Payload, Target: event.Target, Options: event.Options, Source: envelope.Source{SocketID: l.id},
	}})
	if err != nil {
		return nil, err
	}
	return map[string]any{"event": stored[0]}, nil
}
