package locks_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestFrozenHolder stops a process in the middle of a pull, for longer than it is believed to live. Another one finds that, and
// gives the lock to somebody else, who edits. When the process wakes up and goes on, what it pulled is refused.
func TestFrozenHolder(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.git.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte("slug: hello\nname: hello\nlabels: [pulled]\ndo: []\n")})
	var closed atomic.Bool
	arrived, open := make(chan struct{}, 1), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(open) })
	defer goOn()
	s.git.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "git-upload-pack") && closed.CompareAndSwap(false, true) {
				arrived <- struct{}{}
				<-open
			}
			next.ServeHTTP(w, r)
		})
	})
	asleep, awake := s.places[0], s.places[1]
	pulled := make(chan answer, 1)
	go func() {
		pulled <- s.call(asleep, request{method: http.MethodPost, path: s.at + "/pull", body: toMain("")})
	}()
	<-arrived
	if err := asleep.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.wantFree(awake)
	found := time.Since(began)
	if got := s.call(awake, request{method: http.MethodPost, path: s.at + "/writeLock", body: map[string]any{"reason": "mine"}}); got.status != http.StatusOK {
		t.Fatalf("lock: %s", got)
	}
	before := s.look()
	goOn()
	if err := asleep.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := <-pulled; got.status != http.StatusConflict || !strings.Contains(string(got.body), "lost its lock") {
		t.Errorf("a pull that lost its lock: %s", got)
	}
	if after := s.look(); after != before || after.holder != "mine" {
		t.Errorf("the lock was %+v and is %+v", before, after)
	}
	for _, p := range s.places {
		var doc struct {
			Description string
			Labels      []string
		}
		if err := s.call(p, request{method: http.MethodGet, path: s.at + "/automations/hello"}).into(&doc); err != nil || doc.Description != "edited" || len(doc.Labels) > 0 {
			t.Errorf("%s: %+v %v", p.port, doc, err)
		}
	}
	t.Logf("the lock was free %v after its holder had stopped", found.Round(100*time.Millisecond))
}

// wantFree edits until that is not refused any more.
func (s *shared) wantFree(at *place) {
	s.t.Helper()
	for until := time.Now().Add(recoveredWithin); ; {
		got := s.call(at, request{method: http.MethodPatch, path: s.at + "/automations/hello", body: map[string]any{"description": "edited"}})
		if got.status == http.StatusOK {
			return
		}
		if got.status != http.StatusLocked || time.Now().After(until) {
			s.t.Fatalf("after %v: %s", recoveredWithin, got)
		}
		wait(s.t.Context(), 100*time.Millisecond)
	}
}
