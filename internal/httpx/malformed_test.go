package httpx_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/clock"
)

// A handler's own answer is never taken for a refusal of the standard server, even if its body imitates one.
func TestImitatedRefusalIsLeftAlone(t *testing.T) {
	t.Parallel()
	const imitation = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if r.URL.Path == "/expectation" {
			w.WriteHeader(http.StatusExpectationFailed)
		}
		_, _ = io.WriteString(w, imitation)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, imitation) // by itself, not behind a head
	}, nil)
	for path, status := range map[string]int{"/": http.StatusOK, "/expectation": http.StatusExpectationFailed} {
		if got := s.get(path); got.StatusCode != status || got.text != imitation+imitation {
			t.Errorf("%s: %d %q", path, got.StatusCode, got.text)
		}
	}
}

// A connection that a handler takes over is no longer looked at: what is said on it is not HTTP.
func TestHijackedConnection(t *testing.T) {
	t.Parallel()
	const hello = "GET / HTTP/1.1\nnot HTTP at all\n\r\n \x00"
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, stream, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		heard := make([]byte, len(hello))
		if _, err := io.ReadFull(stream, heard); err != nil {
			t.Error(err)
		}
		_, _ = conn.Write(heard)
	}, nil)
	conn := s.dial()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	from := bufio.NewReader(conn)
	response, err := http.ReadResponse(from, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", response, err)
	}
	_ = response.Body.Close()
	_, _ = io.WriteString(conn, hello)
	if echo, err := io.ReadAll(from); string(echo) != hello || err != nil {
		t.Errorf("%q %v", echo, err)
	}
}

// A client that is still sending when it is refused can read why: the connection is closed on one side first.
func TestRefusalIsReadWhileSending(t *testing.T) {
	t.Parallel()
	s := serve(t, ok, nil)
	for range 20 { // a reset would win the race now and then
		conn := s.dial()
		_ = conn.SetDeadline(clock.System{}.Now().Add(10 * time.Second))
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nA: "+strings.Repeat("a", 1<<20)+"\r\n\r\n")
			sent <- err
		}()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusRequestHeaderFieldsTooLarge || !strings.Contains(string(text), "invalid_request") {
			t.Fatalf("%d %q %v", response.StatusCode, text, err)
		}
		_ = conn.Close()
		<-sent
	}
}

// The deadline of a body is the request's: a handler that reads it itself is not kept waiting either.
func TestBodyDeadline(t *testing.T) {
	t.Parallel()
	outcome := make(chan error, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(clock.System{}.Now().Add(time.Hour)) // more than it may have
		_, err := io.ReadAll(r.Body)
		outcome <- err
		ok(w, r)
	}, shortTimeout)
	conn := s.dial()
	_, _ = fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	select {
	case err := <-outcome:
		if err == nil {
			t.Error("the body was read")
		}
	case <-time.After(10 * time.Second):
		t.Error("the handler still waits")
	}
}
