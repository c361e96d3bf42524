package httpx_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/iotest"
	"time"

	"atelier/internal/clock"
	"atelier/internal/httpx"
)

// wire is a connection that notes its read deadlines.
type wire struct {
	*httptest.ResponseRecorder

	deadlines []time.Time
}

func (w *wire) SetReadDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

// through serves a request with a body of three bytes, which come one by one, and gives the deadlines that were set.
func through(t *testing.T, timeout time.Duration, handler http.HandlerFunc) []time.Time {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	front := httpx.NewFront(httpx.FrontConfig{
		Log: slog.New(slog.DiscardHandler), Clock: clk, Timeout: timeout, Versions: httpx.NewVersions(httpx.Generations(), httpx.Behaviours(), clk.Now),
	}, handler)
	w := &wire{ResponseRecorder: httptest.NewRecorder()}
	front.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", iotest.OneByteReader(bytes.NewReader([]byte("abc")))))
	return w.deadlines
}

// Each part of an upload gives the next one its time, beyond what a body has otherwise; when all is there, no deadline is left
// that could end what the handler does with it.
func TestPatienceWithUploads(t *testing.T) {
	t.Parallel()
	const stall = 10 * time.Minute
	begun := clock.System{}.Now()
	deadlines := through(t, time.Hour, func(w http.ResponseWriter, r *http.Request) {
		httpx.Patient(w, r, stall)
		if text, err := io.ReadAll(r.Body); string(text) != "abc" || err != nil {
			t.Errorf("%q %v", text, err)
		}
	})
	if len(deadlines) != 6 { // the request's, the first part's, one after each of three parts, and none
		t.Fatalf("%v", deadlines)
	}
	ended := clock.System{}.Now()
	if first := deadlines[0]; first.Before(begun.Add(30*time.Second)) || first.After(ended.Add(30*time.Second)) {
		t.Errorf("before anybody is patient: %v after the beginning", first.Sub(begun))
	}
	for i, deadline := range deadlines[1:5] {
		if deadline.Before(begun.Add(stall)) || deadline.After(ended.Add(stall)) || deadline.Before(deadlines[i]) {
			t.Errorf("deadline %d is %v after the beginning", i, deadline.Sub(begun))
		}
	}
	if !deadlines[5].IsZero() {
		t.Errorf("a deadline is left: %v", deadlines[5])
	}
}

// A request without an end has no time by which its body must have come: only patience ends.
func TestPatienceWithoutEnd(t *testing.T) {
	t.Parallel()
	begun := clock.System{}.Now()
	deadlines := through(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		endless, done := httpx.Endless(w, r)
		defer done()
		httpx.Patient(w, endless, time.Hour)
		_, _ = endless.Body.Read(make([]byte, 1))
		if _, ends := endless.Context().Deadline(); ends {
			t.Error("its context ends")
		}
	})
	if len(deadlines) != 3 || deadlines[2].Sub(begun) < time.Hour {
		t.Errorf("%v", deadlines)
	}
}

// Patience ends before the request does, and when the body is closed.
func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	begun := clock.System{}.Now()
	deadlines := through(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		httpx.Patient(w, r, time.Hour)
		inner := r.Body
		_, _ = inner.Read(make([]byte, 1))
		_ = inner.Close()
		_, _ = inner.Read(make([]byte, 1))
	})
	if len(deadlines) != 3 {
		t.Fatalf("%v", deadlines)
	}
	for _, deadline := range deadlines[1:] {
		if left := deadline.Sub(begun); left < 54*time.Second || left > 55*time.Second {
			t.Errorf("%v of a minute", left)
		}
	}
}

// On a real connection an upload that stalls is cut, however long the request may take; one that keeps coming is not.
func TestStalledUpload(t *testing.T) {
	t.Parallel()
	parts, outcome := make(chan struct{}), make(chan error, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		httpx.Patient(w, r, 100*time.Millisecond)
		for one := make([]byte, 1); ; {
			if _, err := io.ReadFull(r.Body, one); err != nil {
				outcome <- err
				return
			}
			parts <- struct{}{}
		}
	}, func(cfg *httpx.FrontConfig) { cfg.Timeout = time.Hour })
	conn := s.dial()
	_, _ = fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
	for range 3 {
		_, _ = fmt.Fprint(conn, "x")
		select {
		case <-parts:
		case err := <-outcome:
			t.Fatalf("it was cut while it came: %v", err)
		}
	}
	select {
	case err := <-outcome:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the handler still waits")
	}
}
