package webhook

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/httpx"
)

// Options are what responses need.
type Options struct {
	Clock clock.Clock
	// KeepAliveFloor is the shortest time between two signs of life in a stream.
	KeepAliveFloor time.Duration
	// Longest is how long a run may take that answers with a stream of events, from its first event on.
	Longest time.Duration
	// Cookies are the names of the platform's own cookies, without __Host- and the like. Automations cannot set them.
	Cookies []string
}

// Stream is the response of an endpoint, and the variable $http: what an automation sets it to is told to the client at once, or when
// the run ends. It may be used by several branches at once. Whoever makes one calls Finish or Fail in the end.
type Stream struct {
	options Options
	w       http.ResponseWriter
	// turn is held by whoever uses what follows, also while the client is written to: one at a time. It can be waited for no longer
	// than the run lasts, as a lock cannot.
	turn chan struct{}
	// headers are those that the automation sets, nil without one; status is 0 until it says one.
	headers http.Header
	status  int
	// events is the stream of events; nil until there is one.
	events *httpx.Events
	// extension extends the time of the request when the stream begins; nil when nobody asked for that.
	extension *httpx.Extension
	// ended tells that the response is complete, gone that the client is.
	ended, gone bool
	// beats ends the signs of life; nil when there are none.
	beats *beats
}

// NewStream returns the response that is written to w.
func NewStream(w http.ResponseWriter, options Options) *Stream {
	return &Stream{options: options, w: w, turn: make(chan struct{}, 1)}
}

var _ machine.Sink = (*Stream)(nil)

// Outlast gives the request with a time that is extended when the answer becomes a stream of events. Done says that it has been served.
func (s *Stream) Outlast(r *http.Request) (outlasting *http.Request, done func()) {
	s.extension = httpx.Extensible(s.w, r)
	return s.extension.Request(), s.extension.Done
}

// maxChunk is the longest event of a stream, and maxOutput the longest output, in bytes.
const (
	maxChunk  = 4 << 20
	maxOutput = 64 << 20
)

// Push takes what $http is set to: {headers, status, chunk, sseKeepAlive}. It returns when the client has been told.
func (s *Stream) Push(f *machine.Frame, v any) error { return s.Set(f.Context(), v) }

// Set is Push for a run that ends with ctx.
func (s *Stream) Set(ctx context.Context, v any) error {
	control, ok := v.(*value.Object)
	if !ok {
		return machine.Fail(machine.InvalidInstruction, "$http must be set to an object with headers, status, chunk or sseKeepAlive")
	}
	c, err := s.read(control)
	if err != nil {
		return err
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	return s.apply(c)
}

// take waits for the turn.
func (s *Stream) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Stream) give() { <-s.turn }

// apply does what was read of a control. The turn is held.
func (s *Stream) apply(c control) error {
	if s.gone {
		return context.Canceled
	}
	if s.ended || s.events != nil && c.chunk == nil && c.beat == nil {
		return nil // what has been sent cannot be changed
	}
	if s.headers == nil && len(c.headers) > 0 {
		s.headers = http.Header{}
	}
	for name, values := range c.headers {
		if values == nil {
			s.headers.Del(name)
			continue
		}
		s.headers[name] = values
	}
	if c.status != 0 {
		s.status = c.status
	}
	if c.chunk != nil {
		if err := s.send(c.chunk); err != nil {
			return err
		}
	}
	if c.beat != nil {
		return s.beat(*c.beat)
	}
	return nil
}

// send sends an event; the first one begins the stream. The turn is held.
func (s *Stream) send(data []byte) error {
	s.begin()
	if err := s.events.Send(data); err != nil {
		s.gone = true
		return context.Canceled // the client has left: so does the run, whose request ends
	}
	return nil
}

// begin makes the response a stream of events. The turn is held.
func (s *Stream) begin() {
	if s.events == nil {
		if s.extension != nil && s.options.Longest > 0 {
			s.extension.Extend(s.options.Longest)
		}
		s.events = httpx.NewEvents(&opening{ResponseWriter: s.w, stream: s})
	}
}

// opening puts the automation's status and headers into the response when a stream begins.
type opening struct {
	http.ResponseWriter

	stream *Stream
}

// WriteHeader begins the response.
func (o *opening) WriteHeader(int) {
	h := o.Header()
	kind := h["Content-Type"]
	put(h, o.stream.headers)
	h["Content-Type"] = kind // whatever the automation says, it is a stream of events
	if o.stream.headers["Cache-Control"] == nil {
		h.Set("Cache-Control", "no-cache")
	}
	if h["Connection"] == nil { // whoever refuses to keep it alive has said so already
		h.Set("Connection", "keep-alive")
	}
	o.ResponseWriter.WriteHeader(o.stream.statusOr(http.StatusOK))
}

// Unwrap lets http.ResponseController reach the connection.
func (o *opening) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func (s *Stream) statusOr(status int) int {
	if s.status != 0 {
		return s.status
	}
	return status
}
