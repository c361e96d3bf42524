package service_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
)

// noting is a clock that notes the timers that are made.
type noting struct {
	*clock.Manual

	mu     sync.Mutex
	timers map[time.Duration]int
}

func (n *noting) NewTimer(d time.Duration) clock.Timer {
	timer := n.Manual.NewTimer(d)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.timers[d]++
	return timer
}

// made is how many timers of a duration there were.
func (n *noting) made(d time.Duration) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.timers[d]
}

// noted gives the house a clock that notes timers.
func (h *house) noted() *noting {
	n := &noting{Manual: h.clk, timers: map[time.Duration]int{}}
	h.deps.Clock = n
	h.open()
	return n
}

// beats is how often a comment has come between the events of a stream.
type beats struct {
	mu     sync.Mutex
	alive  int
	events int
}

func (b *beats) seen() (alive, events int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alive, b.events
}

// wait waits until as much has come, whatever it is.
func (b *beats) wait(s *studio, n int) {
	s.t.Helper()
	s.until(func() bool {
		alive, events := b.seen()
		return alive+events >= n
	})
}

func (b *beats) read(answer *http.Response) {
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		b.mu.Lock()
		switch {
		case strings.HasPrefix(lines.Text(), ":"):
			b.alive++
		case strings.HasPrefix(lines.Text(), "data: "):
			b.events++
		}
		b.mu.Unlock()
	}
}

// stream asks for a stream over a real connection, and reads it until it ends.
func (s *studio) stream(c *caller, method, path, body string) (b *beats, ended <-chan struct{}) {
	s.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.door.ServeHTTP(w, r.WithContext(access.With(r.Context(), c.who)))
	}))
	r, err := http.NewRequestWithContext(s.t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	b = &beats{}
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer server.Close()
		answer, err := server.Client().Do(r)
		if err != nil {
			s.t.Error(err)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		b.read(answer)
	}()
	return b, over
}

// underWay begins a push that stands still at the git server until it is released, and gives its operation.
func (s *studio) underWay(c *caller, at string) (operation string, release func()) {
	s.t.Helper()
	s.endsFirst()
	reached, release := s.hold(func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost
	})
	id := c.post(at+"/push?timeout=0", toMain()).want(http.StatusOK).text("operationId")
	<-reached
	return at + "/operations/" + id, release
}

// endsFirst waits for what goes on in the background before what the test had is removed.
func (h *house) endsFirst() {
	h.t.Helper()
	h.t.Cleanup(func() {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := h.built.Sync(ctx); err != nil {
			h.t.Error(err)
		}
	})
}

// Whoever follows an operation hears at least every fifteen seconds that it is alive.
func TestOperationStreamBeats(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		clk := s.noted()
		ann := s.user("ann")
		operation, release := s.underWay(ann, s.linked(ann, "Here"))
		others := clk.made(time.Second)
		said, ended := s.stream(ann, http.MethodGet, operation, "")
		said.wait(s, 1)
		for round := 1; round <= 3; round++ {
			s.until(func() bool { return clk.made(time.Second) >= others+round })
			clk.Advance(15 * time.Second)
			said.wait(s, 1+round) // a sign of life, or the next step
		}
		release()
		s.until(func() bool { clk.Advance(time.Second); return ann.get(operation).text("status") == "succeeded" })
		s.until(func() bool {
			select {
			case <-ended:
				return true
			default:
				clk.Advance(time.Second)
				return false
			}
		})
	})
}

// Whoever follows a bulk operation hears at least every fifteen seconds that it is alive.
func TestBulkStreamBeats(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		clk := s.noted()
		s.endsFirst()
		root := s.superAdmin()
		root.labelled("aa", "team:base")
		arrived, release := make(chan struct{}), make(chan struct{})
		s.server.Wrap(holding("git-receive-pack", arrived, release))
		said, ended := s.stream(root, http.MethodPost, bulkPush, `{"groups":["base"]}`)
		<-arrived
		for round := 1; round <= 3; round++ {
			s.until(func() bool { return clk.made(15*time.Second) > round }) // the first one waits for the beginning
			clk.Advance(15 * time.Second)
			s.until(func() bool { alive, _ := said.seen(); return alive == round })
		}
		close(release)
		<-ended
		if _, events := said.seen(); events != 2 {
			t.Errorf("%d events", events)
		}
	})
}

// stalled asks for a stream that nobody reads, and waits until it has something to say.
func (h *house) stalled(c *caller, method, path, body string) (done func()) {
	h.t.Helper()
	w := &unread{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), release: make(chan struct{})}
	ctx, leave := context.WithCancel(access.With(h.t.Context(), c.who))
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.door.ServeHTTP(w, r)
	}()
	<-w.begun
	return func() {
		leave()
		close(w.release)
		<-ended
	}
}

// A reader that does not read holds nothing up: neither the operation that it follows, nor others that follow it.
func TestStreamsThatNobodyReads(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		operation, release := s.underWay(root, s.linked(root, "Here"))
		done := s.stalled(root, http.MethodGet, operation, "")
		release()
		s.until(func() bool { return root.get(operation).text("status") == "succeeded" })
		done()
		for _, slug := range []string{"aa", "bb", "cc"} {
			root.labelled(slug, "team:base")
		}
		done = s.stalled(root, http.MethodPost, bulkPush, `{"groups":["base"]}`)
		s.until(func() bool { return len(s.events(platform, "workspaces.bulkPush.completed")) == 1 })
		done()
		s.wantBulkEvents("bulkPush", 1, 3, 1)
		s.wantUnlocked(root, platform)
	})
}
