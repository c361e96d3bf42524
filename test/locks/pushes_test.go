package locks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/gitcmd/gittest"
)

const pushers = 9

// TestPushesOverProcesses lets everybody push one workspace at the same time through three processes, while LOCKS_KILLS times a
// process is killed and started again, until LOCKS_PUSHES were accepted. What was accepted is in the branch and in the list of
// versions, once; what was cut off is in both or in neither; and in the end nothing is locked.
func TestPushesOverProcesses(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, "LOCKS_SEED", int(time.Now().UnixNano()&math.MaxInt32)))
	kills, wanted := number(t, "LOCKS_KILLS", 6), number(t, "LOCKS_PUSHES", 25)
	if wanted > 60 {
		t.Fatal("LOCKS_PUSHES: at most 60, for a hundred versions are remembered, with those that were cut off")
	}
	s := newShared(t)
	t.Logf("LOCKS_SEED=%d", seed)
	var running sync.WaitGroup
	for i := range pushers {
		w := &pusher{shared: s, number: i, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		running.Go(func() { w.run(wanted) })
	}
	n := &nemesis{contest: s.contest, random: rand.New(rand.NewPCG(seed, takers))}
	n.run(kills, 0)
	running.Wait()
	s.wantUnlocked()
	s.wantPushed()
	t.Logf("%d pushes were accepted, %d refused, %d had to pull and %d were cut off, over %d kills", len(s.commits), s.refused.Load(), s.lost.Load(), s.cut.Load(), kills)
}

// shared is a workspace with a repository that everybody pushes to.
type shared struct {
	*contest

	git *gittest.Server

	commits map[string]string // of the versions that were accepted
}

func newShared(t *testing.T) *shared {
	t.Helper()
	git := gittest.HTTPS(t)
	git.Create("shared")
	h := newHouse(t, "EXTRA_CA_CERTS="+git.CAFile, "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8")
	var made struct{ ID string }
	h.must(http.MethodPost, "/v2/workspaces", map[string]any{"name": "Shared"}, &made)
	s := &shared{
		contest: &contest{house: h, id: made.ID, at: "/v2/workspaces/" + made.ID, seen: newHistory()}, git: git,
		commits: map[string]string{},
	}
	remote := git.Remote("shared")
	var ignored any
	h.must(http.MethodPatch, s.at, map[string]any{"repositories": map[string]any{"main": map[string]any{"name": "Main", "config": map[string]any{
		"url": remote.URL, "branch": "main", "auth": map[string]any{"user": remote.User, "password": remote.Password},
	}}}}, &ignored)
	h.must(http.MethodPost, s.at+"/automations", map[string]any{"slug": "hello", "name": "hello", "do": []any{}}, &ignored)
	h.must(http.MethodPost, s.at+"/push", toMain("first"), &ignored)
	return s
}

func toMain(name string) map[string]any {
	body := map[string]any{"repository": map[string]any{"id": "main"}}
	if name != "" {
		body["name"] = name
	}
	return body
}

// pusher changes the workspace and pushes it, again and again.
type pusher struct {
	*shared

	number int
	random *rand.Rand
}

func (p *pusher) run(wanted int) {
	for tries := 0; !p.t.Failed() && p.t.Context().Err() == nil && p.count() < wanted; tries++ {
		name := fmt.Sprintf("v%d-%d", p.number, tries)
		p.send(http.MethodPatch, "/automations/hello", map[string]any{"description": name})
		switch got := p.send(http.MethodPost, "/versions", toMain(name)); {
		case got.unknown():
			p.cut.Add(1)
		case got.status == http.StatusOK:
			var made struct{ Commit string }
			if err := got.into(&made); err != nil || made.Commit == "" {
				p.t.Errorf("push %s: %s", name, got)
			}
			p.note(func() { p.commits[name] = made.Commit })
		case got.status == http.StatusLocked, got.unsent():
			p.refused.Add(1)
			wait(p.t.Context(), 20*time.Millisecond)
		case got.status == http.StatusConflict:
			// Its lock was lost, or the branch has what a killed process pushed: whoever pulls can push again.
			p.lost.Add(1)
			p.send(http.MethodPost, "/pull", toMain(""))
		default:
			p.t.Errorf("push %s: %s", name, got)
		}
	}
}

func (p *pusher) send(method, path string, body any) answer {
	return p.call(p.places[p.random.IntN(len(p.places))], request{method: method, path: p.at + path, body: body})
}

func (s *shared) note(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

func (s *shared) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.commits)
}

// wantPushed fails unless what was accepted is in the branch and in the list, once, and nothing is in one of them alone.
func (s *shared) wantPushed() {
	s.t.Helper()
	folder := s.git.Path("shared")
	gittest.Run(s.t, folder, "fsck", "--strict", "--full", "--no-progress")
	branch := strings.Fields(gittest.Run(s.t, folder, "rev-list", "main"))
	tags := map[string]string{}
	for line := range strings.Lines(gittest.Run(s.t, folder, "for-each-ref", "--format=%(refname:short) %(objectname) %(*objectname)", "refs/tags")) {
		fields := strings.Fields(line)
		tags[fields[0]] = fields[len(fields)-1]
	}
	var versions []struct{ Name string }
	s.must(http.MethodGet, s.at+"/versions", nil, &versions)
	listed := map[string]int{}
	for _, v := range versions {
		listed[v.Name]++
	}
	for name, commit := range s.commits {
		if listed[name] != 1 || tags[name] != commit || !slices.Contains(branch, commit) {
			s.t.Errorf("%s was accepted as %s: listed %d times, its tag is %q, in the branch %v", name, commit, listed[name], tags[name], slices.Contains(branch, commit))
		}
	}
	for name, times := range listed {
		if times != 1 || tags[name] == "" || !slices.Contains(branch, tags[name]) {
			s.t.Errorf("%s is listed %d times, its tag is %q", name, times, tags[name])
		}
	}
	for name := range tags {
		if listed[name] == 0 {
			s.t.Errorf("%s is in the repository and not in the list", name)
		}
	}
	for _, p := range s.places {
		if got := s.call(p, request{method: http.MethodPost, path: s.at + "/pull", body: toMain("")}); got.status != http.StatusOK {
			s.t.Errorf("a pull after all: %s", got)
		}
		if got := s.call(p, request{method: http.MethodPost, path: s.at + "/versions", body: toMain("after-" + p.port)}); got.status != http.StatusOK {
			s.t.Errorf("a push after all: %s", got)
		}
	}
}
