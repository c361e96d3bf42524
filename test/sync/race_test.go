package sync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/gitcmd/gittest"
)

// TestRacingPushers lets SYNC_PUSHERS push to one branch of a git server at the same time, half of them workspaces and half of
// them stock git clients, while as many stock git clients push to one workspace through /git. Every one of them pushes until it
// is accepted. What was accepted is in the branch for good: nothing was forced, nothing is lost, and fsck finds nothing.
func TestRacingPushers(t *testing.T) {
	t.Parallel()
	pushers := number(t, "SYNC_PUSHERS", 12)
	h := newHouse(t)
	h.env = append(h.env, "DISABLE_RATE_LIMIT=yes")
	h.restart()
	r := &race{t: t, h: h, path: h.git.Create("raced")}
	gittest.Run(t, r.path, "config", "core.logAllRefUpdates", "always")
	gittest.Run(t, r.path, "config", "gc.auto", "0")
	h.git.Commit("raced", "main", map[string][]byte{"README.md": []byte("Everybody's.\n")})
	var made struct{ ID string }
	r.must(http.MethodPost, "/v2/workspaces", map[string]any{"name": "Raced", "slug": "raced"}, &made, http.StatusCreated)
	places := map[int]string{}
	for i := 1; i < pushers; i += 2 {
		places[i] = r.workspace(i)
	}
	var running sync.WaitGroup
	for i := range pushers {
		running.Go(func() { r.served(i, made.ID) })
		if i%2 == 0 {
			running.Go(func() { r.client(i) })
		} else {
			running.Go(func() { r.competes(i, places[i]) })
		}
	}
	running.Wait()
	if t.Failed() {
		return
	}
	r.wantWhole(pushers)
	r.wantNothingForced()
	r.wantServed(pushers, made.ID)
	t.Logf("%d pushers on each side, %d tries were refused", pushers, r.refused)
}

// race is a branch that everybody pushes to.
type race struct {
	t    *testing.T
	h    *house
	path string // of the repository on the server

	mu      sync.Mutex
	refused int
	// pushed and servedAs are the commits that were accepted, by the server and by /git.
	pushed, servedAs []string
}

func (r *race) must(method, path string, body, into any, want int) {
	r.t.Helper()
	if status, err := r.h.call(r.t.Context(), method, path, body, into); err != nil || status != want {
		r.t.Errorf("%s %s: %d %v", method, path, status, err)
	}
}

// accepted notes a commit that was accepted.
func (r *race) accepted(list *[]string, commit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, commit)
}

func (r *race) lost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused++
}

// workspace makes a workspace with a folder of its own.
func (r *race) workspace(i int) (at string) {
	r.t.Helper()
	var made struct{ ID string }
	r.must(http.MethodPost, "/v2/workspaces", map[string]any{"name": fmt.Sprintf("Racer %d", i)}, &made, http.StatusCreated)
	at = "/v2/workspaces/" + made.ID
	remote := r.h.git.Remote("raced")
	r.must(http.MethodPatch, at, map[string]any{"repositories": map[string]any{"main": map[string]any{"name": "Main", "config": map[string]any{
		"url": remote.URL, "branch": "main", "dirpath": fmt.Sprintf("racer%d", i), "auth": map[string]any{"user": remote.User, "password": remote.Password},
	}}}}, nil, http.StatusOK)
	r.must(http.MethodPost, at+"/automations", map[string]any{"slug": "mine", "name": "mine", "do": []any{}}, nil, http.StatusCreated)
	return at
}

// competes pushes a workspace until it is accepted.
func (r *race) competes(i int, at string) {
	for r.t.Context().Err() == nil {
		status, answer, err := r.push(at)
		switch {
		case err == nil && status == http.StatusOK && answer.Commit != "":
			r.accepted(&r.pushed, answer.Commit)
			return
		case errors.Is(err, errUnknown), // a machine that has too much to do drops a connection
			status == http.StatusConflict && answer.Error == "resource_conflict", status == http.StatusTooManyRequests, status == http.StatusLocked:
			r.lost()
			wait(r.t.Context(), 100*time.Millisecond)
		default:
			r.t.Errorf("push of racer %d: %d %v %+v", i, status, err, answer)
			return
		}
	}
}

// pushAnswer is what came of a push.
type pushAnswer struct{ Commit, Error, Message string }

// push pushes a workspace, however long it takes.
func (r *race) push(at string) (status int, answer pushAnswer, err error) {
	var begun struct {
		pushAnswer

		OperationID string
	}
	status, err = r.h.call(r.t.Context(), http.MethodPost, at+"/push", toMain(nil), &begun)
	if begun.OperationID == "" {
		return status, begun.pushAnswer, err
	}
	for {
		var now struct {
			Status        string
			Result, Error pushAnswer
		}
		status, err = r.h.call(r.t.Context(), http.MethodGet, at+"/operations/"+begun.OperationID, nil, &now)
		switch {
		case err != nil || now.Status == "succeeded":
			return status, now.Result, err
		case now.Error.Error == "resource_conflict":
			return http.StatusConflict, now.Error, nil
		case now.Status != "running":
			return http.StatusInternalServerError, now.Error, nil
		}
		wait(r.t.Context(), time.Second)
	}
}

// client is a stock git client of the server.
func (r *race) client(i int) {
	remote := r.h.git.Remote("raced")
	g := r.clone(i, remote.URL, remote.User, remote.Password)
	g.compete(fmt.Sprintf("client%d.md", i), "Mine.\n", &r.pushed)
}

// served is a stock git client of the workspace.
func (r *race) served(i int, id string) {
	g := r.clone(i, r.h.url+"/git/"+id, "anybody", r.h.token)
	g.compete(fmt.Sprintf("automations/a%d.yml", i), fmt.Sprintf("slug: a%d\nname: a%d\ndo: []\n", i, i), &r.servedAs)
}

// gitClient is a clone in which stock git runs.
type gitClient struct {
	*race

	number int
	folder string
}

func (r *race) clone(i int, address, user, password string) *gitClient {
	u, err := url.Parse(address)
	if err != nil {
		r.t.Error(err)
	}
	u.User = url.UserPassword(user, password)
	g := &gitClient{race: r, number: i, folder: r.t.TempDir()}
	for r.t.Context().Err() == nil {
		said, err := g.run("clone", "-q", u.String(), ".")
		if err == nil {
			return g
		}
		if !strings.Contains(said, "429") {
			r.t.Errorf("clone %d: %v\n%s", i, err, said)
			return g
		}
		r.lost()
	}
	return g
}

// compete commits a file and pushes it until it is accepted: odd ones merge what came before them, even ones rebase onto it.
func (g *gitClient) compete(name, text string, accepted *[]string) {
	path := filepath.Join(g.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		g.t.Error(err)
		return
	}
	g.must("add", "-A")
	g.must("commit", "-q", "-m", "Add "+name)
	how := "--rebase=true"
	if g.number%4 > 1 {
		how = "--rebase=false"
	}
	for g.t.Context().Err() == nil && !g.t.Failed() {
		said, err := g.run("push", "-q", "origin", "HEAD:main")
		if err == nil {
			g.accepted(accepted, g.must("rev-parse", "HEAD"))
			return
		}
		g.lost()
		if !slices.ContainsFunc([]string{"fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "429", "Too many git clients"}, func(reason string) bool { return strings.Contains(said, reason) }) {
			g.t.Errorf("push of client %d: %v\n%s", g.number, err, said)
			return
		}
		if said, err := g.run("pull", "-q", "--no-edit", how, "origin", "main"); err != nil && !strings.Contains(said, "429") {
			g.t.Errorf("pull of client %d: %v\n%s", g.number, err, said)
			return
		}
	}
}

// run runs git, and gives what it said.
func (g *gitClient) run(arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(g.t.Context(), 5*time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.folder, &said, &said
	name := fmt.Sprintf("Client %d", g.number)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.folder, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_SSL_CAINFO=" + g.h.git.CAFile,
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=client@example.test", "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=client@example.test",
	}
	err := cmd.Run()
	return strings.TrimSpace(said.String()), err
}

func (g *gitClient) must(arguments ...string) string {
	said, err := g.run(arguments...)
	if err != nil {
		g.t.Errorf("git %s: %v\n%s", strings.Join(arguments, " "), err, said)
	}
	return said
}

// wantWhole fails unless the branch of the server has what everybody pushed.
func (r *race) wantWhole(pushers int) {
	r.t.Helper()
	gittest.Run(r.t, r.path, "fsck", "--strict", "--full", "--no-progress")
	files := strings.Fields(gittest.Run(r.t, r.path, "ls-tree", "-r", "--name-only", "main"))
	want := []string{"README.md"}
	for i := range pushers {
		if i%2 == 0 {
			want = append(want, fmt.Sprintf("client%d.md", i))
		} else {
			want = append(want, fmt.Sprintf("racer%d/automations/mine.yml", i), fmt.Sprintf("racer%d/index.yml", i))
		}
	}
	for _, name := range want {
		if !slices.Contains(files, name) {
			r.t.Errorf("%s is lost", name)
		}
	}
	r.wantAncestors(r.path, "main", pushers, r.pushed)
}

// wantAncestors fails unless a branch has all these commits.
func (r *race) wantAncestors(folder, branch string, pushers int, commits []string) {
	r.t.Helper()
	all := strings.Fields(gittest.Run(r.t, folder, "rev-list", branch))
	for _, commit := range commits {
		if !slices.Contains(all, commit) {
			r.t.Errorf("%s was accepted and is lost", commit)
		}
	}
	if len(commits) != pushers {
		r.t.Errorf("%d pushes were accepted, want %d", len(commits), pushers)
	}
}

// wantNothingForced fails unless every branch of the server only ever went forward, as its log tells.
func (r *race) wantNothingForced() {
	r.t.Helper()
	steps := 0
	for ref := range strings.FieldsSeq(gittest.Run(r.t, r.path, "for-each-ref", "--format=%(refname)", "refs/heads")) {
		log, err := os.ReadFile(filepath.Join(r.path, "logs", ref))
		if err != nil {
			r.t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			fields := strings.Fields(line)
			if before, after := fields[0], fields[1]; strings.Trim(before, "0") != "" {
				gittest.Run(r.t, r.path, "merge-base", "--is-ancestor", before, after)
			}
			steps++
		}
	}
	if steps < len(r.pushed) {
		r.t.Errorf("the branches went %d steps with %d pushes", steps, len(r.pushed))
	}
}

// wantServed fails unless the workspace, and what is cloned of it, has what everybody pushed to it.
func (r *race) wantServed(pushers int, id string) {
	r.t.Helper()
	g := r.clone(pushers, r.h.url+"/git/"+id, "anybody", r.h.token)
	g.must("fsck", "--strict", "--full", "--no-progress")
	r.wantAncestors(g.folder, "HEAD", pushers, r.servedAs)
	for i := range pushers {
		if _, err := os.Stat(filepath.Join(g.folder, "automations", fmt.Sprintf("a%d.yml", i))); err != nil {
			r.t.Error(err)
		}
		r.must(http.MethodGet, fmt.Sprintf("/v2/workspaces/%s/automations/a%d", id, i), nil, nil, http.StatusOK)
	}
}
