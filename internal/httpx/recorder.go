package httpx

import (
	"net/http"
	"time"
)

// recorder notes what was answered, and keeps the connection's deadlines within those of the request.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	// readBy is when a body must have come, whoever is patient with it: there has to be time left to say that it has not. It
	// is zero when there is no such time.
	readBy time.Time
}

const (
	// bodyTimeout bounds how long a client may take to send a body, unless the handler is patient with it.
	bodyTimeout = 30 * time.Second
	// writeGrace is what a slow reader gets beyond the request timeout to take the answer.
	writeGrace = 5 * time.Second
)

// limit sets the deadlines of the connection for a request whose context ends with its timeout. Connections know the
// machine's time only, so that is taken from the context and not from our clock.
func (w *recorder) limit(r *http.Request, timeout time.Duration) {
	ends, _ := r.Context().Deadline()
	begun := ends.Add(-timeout)
	w.readBy = begun.Add(timeout / 10 * 9)
	connection := http.NewResponseController(w.ResponseWriter)
	if r.Body != nil && r.Body != http.NoBody { // without a body the server watches for the client to leave, for as long as it takes
		_ = w.SetReadDeadline(begun.Add(bodyTimeout))
	}
	_ = connection.SetWriteDeadline(ends.Add(writeGrace))
}

// SetReadDeadline moves the deadline of the body, never beyond nine tenths of the time that the request has. The zero time
// ends it: the body was read.
func (w *recorder) SetReadDeadline(t time.Time) error {
	if !w.readBy.IsZero() && t.After(w.readBy) {
		t = w.readBy
	}
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(t)
}

// Status is what the client saw; a handler that wrote nothing answered 200.
func (w *recorder) Status() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush lets handlers that ask the plain way stream.
func (w *recorder) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
