package httpx

import (
	"context"
	"net/http"
	"strings"
	"time"

	"atelier/internal/clock"
)

// Endless frees a request from the time that requests have, for answers that go on: streams of events, clones of repositories.
// Its context then ends when the client leaves or done is called, which the caller must.
func Endless(w http.ResponseWriter, r *http.Request) (unbounded *http.Request, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	connection := InfoFrom(r.Context()).connection
	if connection == nil {
		connection = r.Context()
	}
	stop := context.AfterFunc(connection, cancel)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	freeBody(w)
	return r.WithContext(ctx), func() {
		stop()
		cancel()
	}
}

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
	return strings.Contains(r.Header.Get("Accept"), eventStream) || r.URL.Query().Get("sse") == "true"
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

// Send sends one event. A reader that does not keep up is dropped: the error ends the stream.
func (e *Events) Send(data []byte) error { return e.write("data: " + string(data) + "\n\n") }

// Beat tells the reader, and everything between, that the stream is alive.
func (e *Events) Beat() error { return e.write(": alive\n\n") }

func (e *Events) write(text string) error {
	_ = e.connection.SetWriteDeadline(clock.System{}.Now().Add(stalled)) // connections know the machine's time only
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.connection.Flush()
}
