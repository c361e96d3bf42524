package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// farewellTime is how long a listener may take to hear why it gets no more.
const farewellTime = time.Second

// errOver ends the copying of a stream to which everything has been said.
var errOver = errors.New("the stream has ended")

// wording is what a stream is made of: it follows what is sent, and knows how to say goodbye in between.
type wording interface {
	// follow takes what was sent.
	follow(sent []byte)
	// whole tells that nothing is half sent.
	whole() bool
	// last is what is said in the end.
	last(p parting) []byte
}

// parting is why a stream ends.
type parting struct {
	reason *errs.Error
	// stops tells that this process does; the listener goes on elsewhere.
	stops bool
}

// farewell lets a stream of a service in another process end as one of this process does: whoever listens is told why before it
// is cut. It is a response writer, and makes the connection of another protocol one that knows its messages.
type farewell struct {
	http.ResponseWriter

	socketIO bool
	way      atomic.Pointer[way]

	mu      sync.Mutex
	words   wording // nil as long as it is no stream
	parting *parting
	ended   bool
	// said is closed when the last word has been sent or cannot be, left when the other side has heard it.
	said, left chan struct{}
	leave      func()
}

// way is how something gets to whoever listens.
type way struct {
	write  func([]byte) (int, error)
	flush  func() error
	before func(time.Time) error
}

func newFarewell(w http.ResponseWriter, r *http.Request) *farewell {
	f := &farewell{ResponseWriter: w, socketIO: ofSockets(r.URL.Path), said: make(chan struct{}), left: make(chan struct{})}
	control := http.NewResponseController(w)
	f.way.Store(&way{write: w.Write, flush: control.Flush, before: control.SetWriteDeadline})
	f.leave = sync.OnceFunc(func() { close(f.left) })
	return f
}

// attend gives a request that ends when the client leaves, and a moment after it was severed or this process has begun to stop:
// time to say so. done ends what it has begun, and waits for it.
func (f *farewell) attend(r *http.Request) (attended *http.Request, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	var ending sync.WaitGroup
	after := func(ended context.Context, why func() *parting) (stop func()) {
		ending.Add(1)
		undo := context.AfterFunc(ended, func() {
			defer ending.Done()
			if p := why(); p != nil {
				f.end(*p)
			}
			cancel(context.Cause(ended))
		})
		return func() {
			if undo() {
				ending.Done()
			}
		}
	}
	severed := after(r.Context(), func() *parting {
		if reason, ok := errors.AsType[*errs.Error](context.Cause(r.Context())); ok {
			return &parting{reason: reason}
		}
		return nil // the client has left
	})
	stopped := after(httpx.Stopping(ctx), func() *parting { return &parting{reason: stopping(), stops: true} })
	return r.WithContext(ctx), func() {
		severed()
		stopped()
		f.finish()
		ending.Wait()
		cancel(nil)
	}
}

// stopping is what listeners are told when the process ends.
func stopping() *errs.Error {
	return errs.New(errs.Unavailable, "The server is stopping; connect again.").WithRetryAfter(time.Second)
}

// end says goodbye as soon as nothing is half sent, and waits a moment for it.
func (f *farewell) end(p parting) {
	ctx, cancel := context.WithTimeout(context.Background(), farewellTime)
	defer cancel()
	_ = f.way.Load().before(clock.System{}.Now().Add(farewellTime)) // a listener that does not read holds up nothing; connections know the machine's time only
	f.mu.Lock()
	switch {
	case f.ended || f.parting != nil:
	case f.words == nil:
		f.close()
	default:
		f.parting = &p
		if f.words.whole() {
			f.say()
		}
	}
	f.mu.Unlock()
	for _, heard := range []chan struct{}{f.said, f.left} {
		select {
		case <-heard:
		case <-ctx.Done():
		}
	}
}

// finish tells that nothing more is sent.
func (f *farewell) finish() {
	f.leave()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

// close ends the stream. It is locked.
func (f *farewell) close() {
	if !f.ended {
		f.ended = true
		close(f.said)
	}
}

// say says the last word. It is locked.
func (f *farewell) say() {
	at := f.way.Load()
	if text := f.words.last(*f.parting); len(text) > 0 {
		if _, err := at.write(text); err == nil {
			_ = at.flush()
		}
	}
	f.close()
}

// over tells whether goodbye was said.
func (f *farewell) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.parting != nil && f.ended
}

// forgive is deferred: that a stream was cut after everything was said is no fault, and its answer is complete.
func (f *farewell) forgive() {
	fault := recover()
	if fault == nil || fault == http.ErrAbortHandler && f.over() { //nolint:errorlint // it is what the proxy panics with
		return
	}
	panic(fault) //nolint:forbidigo // somebody else's, on its way to the server
}

// Write passes on what the service says, until the end.
func (f *farewell) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return 0, errOver
	}
	n, err := f.way.Load().write(text)
	if f.words == nil {
		return n, err
	}
	f.words.follow(text[:n])
	switch {
	case err != nil:
		f.close()
	case f.parting != nil && f.words.whole():
		f.say()
	}
	return n, err
}

// WriteHeader looks whether a stream begins.
func (f *farewell) WriteHeader(status int) {
	kind, _, _ := mime.ParseMediaType(f.Header().Get("Content-Type"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if status == http.StatusOK && kind == "text/event-stream" {
		f.words = &messages{}
		f.leave() // what was sent is heard: nobody answers
	}
	f.ResponseWriter.WriteHeader(status)
}

// FlushError sends what was written on its way, until the end.
func (f *farewell) FlushError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return errOver
	}
	return f.way.Load().flush()
}

// Unwrap lets the proxy set deadlines.
func (f *farewell) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// Hijack gives the connection, as one that knows its messages.
func (f *farewell) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(f.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.words = &frames{socketIO: f.socketIO}
	f.way.Store(&way{write: conn.Write, flush: func() error { return nil }, before: conn.SetWriteDeadline})
	return &plug{Conn: conn, farewell: f}, buffered, nil
}

// messages are server-sent events.
type messages struct{ end [2]byte }

func (m *messages) follow(sent []byte) {
	for _, b := range sent[max(0, len(sent)-len(m.end)):] {
		m.end[0], m.end[1] = m.end[1], b
	}
}

func (m *messages) whole() bool { return m.end == [2]byte{} || m.end == [2]byte{'\n', '\n'} }

func (m *messages) last(p parting) []byte {
	text, err := json.Marshal(p.reason.Show())
	if err != nil {
		return nil
	}
	return append(append([]byte("event: end\ndata: "), text...), "\n\n"...)
}
