package httpx

import (
	"io"
	"net/http"
	"sync"
	"time"

	"atelier/internal/clock"
)

// Patient lets the body of a request take longer than others, as long as it keeps coming: each part that arrives gives the
// next one the time of stall, within what the request may take in all. It is for uploads, and for handing bodies on.
func Patient(w http.ResponseWriter, r *http.Request, stall time.Duration) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	body := &patientBody{ReadCloser: r.Body, connection: http.NewResponseController(w), stall: stall}
	if stall != bodyTimeout { // which the request was given when it began
		body.wait()
	}
	r.Body = body
}

// patientBody moves the deadline of its connection whenever something arrives.
type patientBody struct {
	io.ReadCloser

	connection *http.ResponseController
	stall      time.Duration
	// mu keeps a reader that is late from setting the deadline of the next request on the connection.
	mu     sync.Mutex
	closed bool
}

// Read implements io.Reader.
func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.deadline(time.Time{}) // what the handler does with it may take longer
	case err == nil && n > 0:
		b.wait()
	}
	return n, err
}

// Close implements io.Closer.
func (b *patientBody) Close() error {
	err := b.ReadCloser.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return err
}

// wait gives the next part its time. Connections know the machine's time only.
func (b *patientBody) wait() { b.deadline(clock.System{}.Now().Add(b.stall)) }

func (b *patientBody) deadline(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		_ = b.connection.SetReadDeadline(t)
	}
}
