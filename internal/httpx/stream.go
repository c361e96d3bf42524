package httpx

import (
	"context"
	"net/http"
	"strings"
	"time"

	"atelier/internal/clock"
)

// Endless frees a request from the time that requests have, for answers that go on: streams of events, clones of repositories.
// Its context then ends when the client leaves, when it is severed, or when done is called, which the caller must.
func Endless(w http.ResponseWriter, r *http.Request) (unbounded *http.Request, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	connection := connectionOf(r)
	stop := context.AfterFunc(connection, func() { cancel(context.Cause(connection)) })
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	freeBody(w)
	return r.WithContext(ctx), func() {
		stop()
		cancel(nil)
	}
}

func connectionOf(r *http.Request) context.Context {
	if connection := InfoFrom(r.Context()).connection; connection != nil {
		return connection
	}
	return r.Context()
}

// Severable lets a request be ended from outside, also once it is endless: its context ends with the reason. It is called before
// the request is handed on; done says that it has been served.
func Severable(r *http.Request) (severed *http.Request, sever func(reason error), done func()) {
	connection, cut := context.WithCancelCause(connectionOf(r))
	info := InfoFrom(r.Context())
	info.connection = connection
	ctx, cancel := context.WithCancelCause(WithInfo(r.Context(), info))
	stop := context.AfterFunc(connection, func() { cancel(context.Cause(connection)) })
	return r.WithContext(ctx), cut, func() {
		stop()
		cut(nil)
		cancel(nil)
	}
}

// Stopping is a context that ends when the server of a request begins to stop. A stream, which would go on, ends then; what ends by
// itself is waited for.
func Stopping(ctx context.Context) context.Context {
	if stopping, ok := ctx.Value(stoppingKey{}).(context.Context); ok {
		return stopping
	}
	return context.Background()
}

type stoppingKey struct{}

// Upgrades tells whether the client asks for another protocol on its connection, such as WebSocket.
func Upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// Streams tells whether an answer may go on for as long as the client listens: a stream of events, or another protocol.
func Streams(r *http.Request) bool { return Upgrades(r) || WantsEvents(r) }

// freeBody lets the body of a request take as long as whoever is patient with it allows.
func freeBody(w http.ResponseWriter) {
	for {
		switch at := w.(type) {
		case *recorder:
			at.readBy = time.Time{}
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = at.Unwrap()
		default:
			return
		}
	}
}

// WantsEvents tells whether the client asks for a stream of events: by what it accepts, or by sse=true.
func WantsEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), eventStream) || r.URL.RawQuery != "" && r.URL.Query().Get("sse") == "true"
}

const eventStream = "text/event-stream"

// stalled is how long a reader of events may take to read one.
const stalled = 10 * time.Second

// Events is a stream of server-sent events.
type Events struct {
	w          http.ResponseWriter
	connection *http.ResponseController
}

// NewEvents begins a stream of events.
func NewEvents(w http.ResponseWriter) *Events {
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &Events{w: w, connection: http.NewResponseController(w)}
	_ = e.connection.Flush()
	return e
}

// Message is one event of a stream. The empty ones of its parts are left out.
type Message struct {
	// ID is where a reader that comes back goes on. Without Data it tells only that, and that the stream is alive.
	ID string
	// Event is the kind; readers get those without one unless they ask for others.
	Event string
	Data  []byte
}

// Send sends one event. A reader that does not keep up is dropped: the error ends the stream.
func (e *Events) Send(data []byte) error { return e.Post(Message{Data: data}) }

// Beat tells the reader, and everything between, that the stream is alive.
func (e *Events) Beat() error { return e.Post(Message{}) }

// enough is how much is written at once.
const enough = 64 << 10

// Post sends events together.
func (e *Events) Post(messages ...Message) error {
	var text []byte
	for _, m := range messages {
		if text = m.append(text); len(text) >= enough {
			if err := e.write(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	if err := e.write(text); err != nil {
		return err
	}
	return e.connection.Flush()
}

func (m Message) append(text []byte) []byte {
	if m.Data == nil {
		text = append(text, ": alive\n"...)
	}
	for _, line := range [...]struct {
		name  string
		value []byte
	}{{"id: ", []byte(m.ID)}, {"event: ", []byte(m.Event)}, {"data: ", m.Data}} {
		if len(line.value) > 0 {
			text = append(append(append(text, line.name...), line.value...), '\n')
		}
	}
	return append(text, '\n')
}

func (e *Events) write(text []byte) error {
	_ = e.connection.SetWriteDeadline(clock.System{}.Now().Add(stalled)) // connections know the machine's time only
	_, err := e.w.Write(text)
	return err
}
