package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

// Each chunk reaches the client before the next one is made, through everything that stands before the endpoint.
func TestChunks(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	s := serve(t, clock.System{}, func(ctx context.Context, s *webhook.Stream) {
		for _, control := range []string{`{"status":202,"headers":{"x-a":"1","content-type":"text/plain","connection":"close"}}`, `{"chunk":{"a":"é\n"}}`, `{"chunk":"text","headers":{"x-b":"late"},"status":500}`} {
			if err := s.Set(ctx, object(t, control)); err != nil {
				t.Error(err)
			}
			if strings.Contains(control, "chunk") {
				<-next
			}
		}
		s.Finish(machine.Payload("done", true))
		if err := s.Set(ctx, object(t, `{"chunk":{"too":"late"}}`)); err != nil {
			t.Error(err)
		}
		s.Finish("twice")
	})
	if s.StatusCode != http.StatusAccepted || s.Header.Get("Content-Type") != "text/event-stream" || s.Header.Get("Cache-Control") != "no-cache" || s.Header.Get("X-A") != "1" ||
		s.Header.Get("Content-Encoding") != "" || s.Header.Get("X-B") != "" {
		t.Errorf("%d, %v", s.StatusCode, s.Header)
	}
	for i, want := range []string{`data: {"a":"é\n"}`, `data: "text"`, `data: {"done":true}`, ""} {
		if got := s.event(); got != want {
			t.Errorf("%d: %s", i, got)
		}
		if i < 2 {
			next <- struct{}{}
		}
	}
}

func TestEndsOfStreams(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(s *webhook.Stream)
		want string
	}{
		"nothing": {func(s *webhook.Stream) { s.Finish(value.NewObject(0)) }, ""},
		"output":  {func(s *webhook.Stream) { s.Finish(7.0) }, "data: 7\n\n"},
		"error":   {func(s *webhook.Stream) { s.Fail(machine.Fail("MyError", "No.")) }, `data: {"error":"MyError","message":"No."}` + "\n\n"},
	} {
		w := httptest.NewRecorder()
		s := webhook.NewStream(w, options(clock.System{}))
		if err := s.Set(t.Context(), object(t, `{"chunk":1}`)); err != nil {
			t.Fatal(err)
		}
		c.end(s)
		if got := w.Body.String(); w.Code != 200 || got != "data: 1\n\n"+c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	clk := newWatched()
	done := make(chan struct{})
	s := serve(t, clk, func(ctx context.Context, s *webhook.Stream) {
		if err := s.Set(ctx, object(t, `{"sseKeepAlive":100}`)); err != nil {
			t.Error(err)
		}
		<-done
		if err := s.Set(ctx, object(t, `{"sseKeepAlive":7000}`)); err != nil {
			t.Error(err)
		}
		<-done
		if err := s.Set(ctx, object(t, `{"sseKeepAlive":0}`)); err != nil {
			t.Error(err)
		}
		s.Finish(value.NewObject(0))
	})
	wait := func(want time.Duration) {
		t.Helper()
		if d := <-clk.waits; d != want {
			t.Errorf("it waits for %s", d)
		}
	}
	if got := s.event(); got != ": alive" { // the stream begins at once, with what readers of events do not see
		t.Error(got)
	}
	for range 2 {
		wait(5 * time.Second) // no shorter than the floor
		clk.Advance(5 * time.Second)
		if got := s.event(); got != `data: {"keepAlive": true}` {
			t.Error(got)
		}
	}
	wait(5 * time.Second)
	done <- struct{}{}
	wait(7 * time.Second)
	clk.Advance(7 * time.Second)
	if got := s.event(); got != `data: {"keepAlive": true}` {
		t.Error(got)
	}
	done <- struct{}{}
	if got := s.event(); got != "" {
		t.Errorf("after the end: %s", got)
	}
}

// Branches set $http at the same time, beside signs of life; nothing is mixed up, and the end waits for all of it.
func TestBranches(t *testing.T) {
	t.Parallel()
	clk := newWatched()
	stop := make(chan struct{})
	s := serve(t, clk, func(ctx context.Context, s *webhook.Stream) {
		if err := s.Set(ctx, object(t, `{"sseKeepAlive":1}`)); err != nil {
			t.Error(err)
		}
		var all sync.WaitGroup
		for branch := range 4 {
			all.Go(func() {
				for i := range 50 {
					if err := s.Set(ctx, machine.Payload("chunk", machine.Payload("branch", float64(branch), "i", float64(i)), "status", 201.0)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		s.Finish("end")
		close(stop)
	})
	go func() {
		for {
			select {
			case <-clk.waits:
				clk.Advance(5 * time.Second)
			case <-stop:
				return
			}
		}
	}()
	seen := map[string]int{}
	last := ""
	for event := s.event(); event != ""; event = s.event() {
		seen[event]++
		last = event
	}
	delete(seen, `data: {"keepAlive": true}`)
	delete(seen, ": alive")
	if len(seen) != 201 || last != `data: "end"` {
		t.Errorf("%d events, %s", len(seen), last)
	}
	for event, count := range seen {
		if count != 1 {
			t.Errorf("%s came %d times", event, count)
		}
	}
}

// gone is a connection whose client has left.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, http.ErrAbortHandler }

func TestClientLeaves(t *testing.T) {
	t.Parallel()
	s := webhook.NewStream(gone{httptest.NewRecorder()}, options(clock.System{}))
	for range 2 {
		if err := s.Set(t.Context(), object(t, `{"chunk":1}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("the run goes on: %v", err)
		}
	}
	s.Finish("x")
	// A branch whose run ends does not wait for another one that is stuck.
	blocked := &slow{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), release: make(chan struct{})}
	s = webhook.NewStream(blocked, options(clock.System{}))
	written := make(chan error)
	go func() { written <- s.Set(t.Context(), object(t, `{"chunk":1}`)) }()
	<-blocked.begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Set(ctx, object(t, `{"chunk":2}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("it waited: %v", err)
	}
	close(blocked.release)
	if err := <-written; err != nil {
		t.Error(err)
	}
	s.Fail(errors.New("x"))
}

// slow is a connection that takes its time.
type slow struct {
	*httptest.ResponseRecorder

	begun, release chan struct{}
	once           sync.Once
}

func (s *slow) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	<-s.release
	return s.ResponseRecorder.Write(p)
}
