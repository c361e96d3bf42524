package service_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"atelier/internal/egress"
	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
	"atelier/internal/workspaces/service"
)

// studio is a house with a git server beside it.
type studio struct {
	*house

	server *gittest.Server
}

// eachStudio runs a test on a new house with a git server that has an empty repository called shared.
func eachStudio(t *testing.T, run func(t *testing.T, s *studio)) {
	t.Helper()
	each(t, func(t *testing.T, h *house) {
		s := &studio{house: h, server: gittest.HTTPS(t)}
		s.server.Create("shared")
		s.equip(s.server.CAFile)
		run(t, s)
	})
}

// equip gives the house what pushes and pulls need.
func (h *house) equip(caFile string) {
	h.t.Helper()
	git, err := gitcmd.Open(h.t.Context(), gitcmd.Config{CABundle: caFile})
	if err != nil {
		h.t.Fatal(err)
	}
	network, err := egress.New(egress.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.deps.Versioning = service.Versioning{Git: git, Network: network, Folder: h.t.TempDir()}
	h.open()
}

// shared is the configuration of the repository that everybody shares.
func (s *studio) shared() map[string]any {
	remote := s.server.Remote("shared")
	return map[string]any{"name": "Shared", "config": map[string]any{
		"url": remote.URL, "branch": "main", "auth": map[string]any{"user": remote.User, "password": remote.Password},
	}}
}

// linked makes a workspace with the shared repository, called main.
func (s *studio) linked(c *caller, name string) string {
	s.t.Helper()
	at := c.workspace(name)
	c.patch(at, repositoriesOf("main", s.shared())).want(http.StatusOK)
	return at
}

// file is what a branch of the shared repository has at a path; empty when there is nothing.
func (s *studio) file(branch, path string) string {
	s.t.Helper()
	if !strings.Contains("\n"+gittest.Run(s.t, s.server.Path("shared"), "ls-tree", "-r", "--name-only", branch)+"\n", "\n"+path+"\n") {
		return ""
	}
	return strings.TrimSuffix(gittest.Run(s.t, s.server.Path("shared"), "show", branch+":"+path), "\n") + "\n"
}

func toMain(more ...any) map[string]any {
	body := map[string]any{"repository": map[string]any{"id": "main"}}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// push and pull are what most tests do.
func (c *caller) push(at string, more ...any) *answer {
	c.house.t.Helper()
	return c.post(at+"/push", toMain(more...))
}

func (c *caller) pull(at string, more ...any) *answer {
	c.house.t.Helper()
	return c.post(at+"/pull", toMain(more...))
}

// automation writes an automation with some keys.
func (c *caller) automation(at, slug string, fields map[string]any) {
	c.house.t.Helper()
	body := map[string]any{"slug": slug, "name": slug, "do": []any{}}
	maps.Copy(body, fields)
	path := at + "/automations"
	if c.get(path+"/"+slug).status == http.StatusOK {
		c.patch(path+"/"+slug, fields).want(http.StatusOK)
		return
	}
	c.post(path, body).want(http.StatusCreated)
}

func (c *caller) dirty(at string) bool {
	c.house.t.Helper()
	var w struct {
		Dirty bool `json:"dirty"`
	}
	if err := json.Unmarshal(c.get(at).want(http.StatusOK).body.Bytes(), &w); err != nil {
		c.house.t.Fatal(err)
	}
	return w.Dirty
}

// hold stops the first request to the git server that matches: reached tells when, and release lets it go on.
func (s *studio) hold(match func(*http.Request) bool) (reached <-chan struct{}, release func()) {
	at, gone := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				once.Do(func() {
					close(at)
					<-gone
				})
			}
			next.ServeHTTP(w, r)
		})
	})
	return at, func() { close(gone) }
}

// client clones a branch of the shared repository, and gives git in the clone as somebody called Cy.
func (s *studio) client(branch string) func(arguments ...string) string {
	s.t.Helper()
	clone := s.t.TempDir()
	gittest.Run(s.t, "", "clone", "--quiet", "--branch", branch, s.server.Path("shared"), clone)
	return func(arguments ...string) string {
		return gittest.Run(s.t, "", append([]string{"-C", clone, "-c", "user.name=Cy", "-c", "user.email=cy@example.com"}, arguments...)...)
	}
}
