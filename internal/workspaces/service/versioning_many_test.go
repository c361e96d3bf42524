package service_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"atelier/internal/errs"
)

// crowd is a git server at which everybody stands still until it is opened, and who was there.
type crowd struct {
	s       *studio
	opened  chan struct{}
	inside  atomic.Int64
	fetches atomic.Int64
}

func (s *studio) crowd() *crowd {
	c := &crowd{s: s, opened: make(chan struct{})}
	s.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/info/refs") {
				c.inside.Add(1)
				<-c.opened
			}
			if body, err := io.ReadAll(r.Body); err == nil {
				if bytes.Contains(body, []byte("command=fetch")) {
					c.fetches.Add(1)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		})
	})
	return c
}

// rush asks for all of this at the same time. The server is opened when everybody has an answer or stands before it; most is how
// many stood there.
func (c *crowd) rush(asked []func() *answer) (answers []*answer, most int) {
	c.s.t.Helper()
	answers = make([]*answer, len(asked))
	var answered atomic.Int64
	var running sync.WaitGroup
	for i, ask := range asked {
		running.Go(func() {
			answers[i] = ask()
			answered.Add(1)
		})
	}
	c.s.until(func() bool { return answered.Load()+c.inside.Load() >= int64(len(asked)) })
	most = int(c.inside.Load())
	close(c.opened)
	running.Wait()
	return answers, most
}

// Many workspaces pull from one repository at the same time: so many are served as one process serves, the others are asked to
// come again, and what they pull is fetched once. Whoever only asks what would happen needs git too, and counts like the others.
func TestManyAtOneRepository(t *testing.T) {
	t.Parallel()
	const many, atOnce = 24, 16
	for name, ask := range map[string]func(c *caller, at string) *answer{
		"pull":           func(c *caller, at string) *answer { return c.pull(at) },
		"plan of a pull": func(c *caller, at string) *answer { return c.pull(at, "dryRun", true) },
		"plan of a push": func(c *caller, at string) *answer { return c.push(at, "dryRun", true) },
		"drift":          func(c *caller, at string) *answer { return c.get(at + "/drift?repository=main") },
		"check":          func(c *caller, at string) *answer { return c.post(at+"/repositories/main/check", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStudio(t, func(t *testing.T, s *studio) {
				ann := s.user("ann")
				files := map[string][]byte{"large.bin": noise(1 << 18)}
				for i := range many {
					if name != "plan of a push" { // which is of something new
						files[fmt.Sprintf("many/w%d/index.yml", i)] = []byte("name: Of the repository\n")
					}
				}
				s.server.Commit("shared", "main", files)
				var asked []func() *answer
				var places []string
				for i := range many {
					at := ann.workspace(fmt.Sprintf("Workspace %d", i))
					config := s.shared()
					config["config"].(map[string]any)["dirpath"] = fmt.Sprintf("many/w%d", i)
					ann.patch(at, repositoriesOf("main", config)).want(http.StatusOK)
					asked, places = append(asked, func() *answer { return ask(ann, at) }), append(places, at)
				}
				c := s.crowd()
				answers, most := c.rush(asked)
				if most != atOnce {
					t.Errorf("%d were served at a time, want %d", most, atOnce)
				}
				refused := 0
				for i, a := range answers {
					if a.status == http.StatusOK {
						continue
					}
					refused++
					if a.wantError(http.StatusTooManyRequests, errs.ConcurrentRequestLimit).header.Get("Retry-After") == "" {
						t.Errorf("%s does not say when to come again: %v", a.what, a.header)
					}
					s.wantUnlocked(ann, places[i])
				}
				if refused != many-atOnce {
					t.Errorf("%d were refused", refused)
				}
				if n := c.fetches.Load(); n != 1 {
					t.Errorf("it was fetched %d times", n)
				}
				for i, a := range answers { // there is room again
					if a.status != http.StatusOK {
						asked[i]().want(http.StatusOK)
						return
					}
				}
			})
		})
	}
}

// noise is what cannot be compressed.
func noise(size int) []byte {
	out := make([]byte, size)
	state := uint64(1)
	for i := range out {
		state = state*6364136223846793005 + 1442695040888963407
		out[i] = byte(state >> 56)
	}
	return out
}

// Many pull into one workspace at the same time: one does, the others hear that it is locked.
func TestManyInOneWorkspace(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		s.server.Commit("shared", "main", map[string][]byte{"index.yml": []byte("name: Of the repository\n")})
		here := s.linked(ann, "Here")
		const many = 100
		var asked []func() *answer
		for range many {
			asked = append(asked, func() *answer { return ann.pull(here, "discardLocalChanges", true) })
		}
		answers, most := s.crowd().rush(asked)
		served := 0
		for _, a := range answers {
			if a.status == http.StatusOK {
				served++
				continue
			}
			a.wantError(http.StatusLocked, errs.Locked)
		}
		if most != 1 || served != 1 {
			t.Errorf("%d at the server at a time, %d served", most, served)
		}
		s.wantUnlocked(ann, here)
	})
}
