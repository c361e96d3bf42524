package service_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/gitcmd/gittest"
	"atelier/internal/workspaces/service"
)

// The certificate of a server that nobody vouches for is refused, and the message says what to do.
func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		other := gittest.HTTPS(t)
		s.equip(other.CAFile) // trusts another authority
		refused := ann.push(here).wantError(http.StatusBadRequest, errs.InvalidRequest)
		if message := refused.text("message"); !strings.Contains(message, "certificate") || !strings.Contains(message, "EXTRA_CA_CERTS") {
			t.Errorf("%s", message)
		}
		s.unharmed(ann, here)
	})
}

// unharmed tells that a failed operation left nothing behind.
func (s *studio) unharmed(c *caller, at string) {
	s.t.Helper()
	if w := c.get(at); w.at("writeLock") != nil || w.at("lastPush") != nil {
		s.t.Errorf("after the failure: %s", w.body)
	}
	remote := s.server.Remote("shared")
	for _, text := range []string{s.stored(), s.operations()} {
		if strings.Contains(text, remote.Password) {
			s.t.Error("the password is in the database")
		}
	}
	if steps := s.steps(at); len(steps) == 0 || steps[len(steps)-1] != "error" {
		s.t.Errorf("the steps: %v", steps)
	}
}

// operations is all that is kept of operations.
func (h *house) operations() string {
	h.t.Helper()
	var all strings.Builder
	rows, err := h.db.Query(h.t.Context(), `SELECT plan, result FROM ws_operations`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var plan, result string
		if err := rows.Scan(&plan, &result); err != nil {
			h.t.Fatal(err)
		}
		all.WriteString(plan + result)
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	return all.String()
}

func TestCredentialsThatWereRevoked(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		s.server.SetPassword("somebody", "another one")
		ann.push(here).wantError(http.StatusForbidden, errs.PermissionDenied)
		s.server.SetPassword("somebody", "another one")
		s.unharmed(ann, here)
	})
}

func TestRepositoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.pull(here).wantError(http.StatusNotFound, errs.NotFound) // no branch yet
		if err := os.RemoveAll(s.server.Path("shared")); err != nil {
			t.Fatal(err)
		}
		ann.push(here).wantError(http.StatusNotFound, errs.NotFound)
		s.unharmed(ann, here)
	})
}

// The answer of a push that the server has accepted gets lost: the push is a success, and there is one commit.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		var lost atomic.Bool
		s.server.Wrap(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost && !lost.Swap(true) {
					next.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler breaks off
				}
				next.ServeHTTP(w, r)
			})
		})
		ann.push(here, "name", "v1").want(http.StatusOK)
		if !lost.Load() || ann.get(here).text("lastPush.version") != "v1" {
			t.Errorf("lost: %v, %s", lost.Load(), ann.get(here).body)
		}
		if count := strings.TrimSpace(gittest.Run(t, s.server.Path("shared"), "rev-list", "--count", "main")); count != "1" {
			t.Errorf("there are %s commits", count)
		}
		if len(s.events(here, "workspaces.versions.published")) != 1 {
			t.Error("it was not told once")
		}
	})
}

// A process that was killed between sending and recording: the next one asks the server, and records the push once.
func TestInterruptedPushIsFoundOut(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		var down, lost atomic.Bool
		s.server.Wrap(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if down.Load() {
					panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler breaks off
				}
				if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost && !lost.Swap(true) {
					next.ServeHTTP(httptest.NewRecorder(), r)
					down.Store(true)            // and nobody can ask
					panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler breaks off
				}
				next.ServeHTTP(w, r)
			})
		})
		unknown := ann.push(here, "name", "v1").wantError(http.StatusGatewayTimeout, errs.GatewayTimeout)
		if ann.get(here).text("writeLock.reason") != "push_in_progress" {
			t.Error("it is unlocked although nobody knows")
		}
		ann.second(here).wantError(http.StatusLocked, errs.Locked)
		s.clk.Advance(10 * time.Second)
		s.recover()
		if ann.get(here).text("writeLock.reason") != "push_in_progress" {
			t.Error("it is unlocked although nobody knows")
		}
		down.Store(false)
		s.clk.Advance(time.Minute)
		s.recover()
		s.recover()
		w := ann.get(here)
		if w.at("writeLock") != nil || w.text("lastPush.version") != "v1" || ann.dirty(here) || len(s.events(here, "workspaces.versions.published")) != 1 {
			t.Errorf("%s", w.body)
		}
		operation := ann.get(here + "/operations/" + unknown.text("details.operationId")).want(http.StatusOK)
		if operation.text("status") != "succeeded" || operation.text("result.name") != "v1" {
			t.Errorf("%s", operation.body)
		}
		ann.push(here).want(http.StatusOK)
	})
}

func (c *caller) second(at string) *answer {
	return c.post(at+"/automations", map[string]any{"slug": "second", "name": "second", "do": []any{}})
}

// recover has the service find out about what was interrupted.
func (h *house) recover() {
	h.t.Helper()
	if err := h.built.RecoverPushes(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// Of two instances on one workspace one has the lock; the other is told so, and so is whoever edits.
func TestTwoHousesOneWorkspace(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		reached, release := s.hold(func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost
		})
		done := make(chan *answer)
		go func() { done <- ann.push(here, "name", "first") }()
		<-reached
		other := service.New(s.deps) // a second instance on the same database
		first := s.door
		s.door = other.API.Handler()
		ann.push(here, "name", "second").wantError(http.StatusLocked, errs.Locked)
		ann.second(here).wantError(http.StatusLocked, errs.Locked)
		s.door = first
		release()
		(<-done).want(http.StatusOK)
		ann.push(here, "name", "second").want(http.StatusOK)
	})
}

// Somebody clears the lock while a pull runs: what it does afterwards is refused, and what was edited meanwhile stays.
func TestLockThatIsClearedDuringAPull(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		ann.push(here).want(http.StatusOK)
		text := strings.Replace(s.file("main", "automations/hello.yml"), "old", "new", 1)
		s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(text)})
		reached, release := s.hold(func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "git-upload-pack") })
		done := make(chan *answer)
		go func() { done <- ann.pull(here) }()
		<-reached
		ann.delete(here + "/writeLock").want(http.StatusOK)
		ann.automation(here, "hello", map[string]any{"description": "mine"})
		release()
		(<-done).wantError(http.StatusConflict, errs.Conflict)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "mine" || ann.get(here).at("writeLock") != nil {
			t.Errorf("%s", after.body)
		}
	})
}

// Others push to the same branch all the time: every push that was accepted is there.
func TestRacingPushers(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		const pushers = 5
		var all []*caller
		var places []string
		for i := range pushers {
			name := string(rune('a' + i))
			c := s.user("user-" + name)
			at := c.workspace("Racer " + name)
			config := s.shared()
			config["config"].(map[string]any)["dirpath"] = "racers/" + name
			c.patch(at, repositoriesOf("main", config)).want(http.StatusOK)
			all, places = append(all, c), append(places, at)
		}
		var wait sync.WaitGroup
		answers := make([]*answer, pushers)
		for i := range pushers {
			wait.Go(func() { answers[i] = all[i].push(places[i]) })
		}
		wait.Wait()
		for _, a := range answers {
			a.want(http.StatusOK)
			gittest.Run(t, s.server.Path("shared"), "merge-base", "--is-ancestor", a.text("commit"), "main")
		}
	})
}

// What happens to a branch behind our back is seen, and nothing is overwritten.
func TestBranchThatWasMoved(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		path := s.server.Path("shared")
		ann.automation(here, "hello", map[string]any{"description": "one"})
		first := ann.push(here).want(http.StatusOK).text("commit")
		ann.automation(here, "hello", map[string]any{"description": "two"})
		second := ann.push(here).want(http.StatusOK).text("commit")
		gittest.Run(t, path, "update-ref", "refs/heads/main", first) // forced backwards
		ann.automation(here, "hello", map[string]any{"labels": []string{"mine"}})
		ann.push(here).wantError(http.StatusConflict, errs.Conflict)
		if found := ann.get(here + "/drift?repository=main"); found.text("status") != "diverged" {
			t.Errorf("%s", found.body)
		}
		ann.pull(here).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "one" || after.text("labels.0") != "mine" {
			t.Errorf("%s", after.body)
		}
		ann.push(here).want(http.StatusOK)
		gittest.Run(t, path, "merge-base", "--is-ancestor", first, "main")
		gittest.Run(t, path, "cat-file", "-e", second)
		gittest.Run(t, path, "update-ref", "-d", "refs/heads/main")
		if found := ann.get(here + "/drift?repository=main"); found.text("status") != "ahead" {
			t.Errorf("%s", found.body)
		}
		ann.pull(here).wantError(http.StatusNotFound, errs.NotFound)
		ann.push(here).want(http.StatusOK) // there is nothing that it could overwrite
	})
}

// Hostile trees are refused with the paths that are wrong, and change nothing.
func TestHostileTrees(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		ann.push(here).want(http.StatusOK)
		before := s.rows()
		path := s.server.Path("shared")
		good := gittest.Lookup(t, path, "refs/heads/main")
		for name, tree := range map[string]string{
			"link":        inTree("120000", "automations/evil.yml", "/etc/passwd"),
			"executable":  inTree("100755", "automations/evil.yml", "name: e\ndo: []\n"),
			"submodule":   "M 160000 " + good + " automations/evil.yml\n",
			"twins":       inTree("100644", "automations/HELLO.yml", "name: h\ndo: []\n"),
			"no index":    "D index.yml\n",
			"not yaml":    inTree("100644", "automations/hello.yml", "{ [ \n"),
			"bad name":    inTree("100644", "automations/"+strings.Repeat("x", 150)+".yml", "name: h\ndo: []\n"),
			"alias bomb":  inTree("100644", "automations/hello.yml", bomb()),
			"bad import":  inTree("100644", ".import.yml", "version\n"),
			"huge":        inTree("100644", "automations/hello.yml", strings.Repeat("#", 6000000)),
			"same names":  inTree("100644", "automations/hello.json", `{"name":"h"}`),
			"index twice": inTree("100644", "index.json", `{"name":"h"}`),
		} {
			gittest.Feed(t, path, "commit refs/heads/main\ncommitter E <e@example.com> 1 +0000\ndata 1\ne\nfrom "+good+"\n"+tree+"\n", "fast-import", "--quiet", "--force")
			refused := ann.pull(here)
			if refused.status != http.StatusUnprocessableEntity && refused.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %d %s", name, refused.status, refused.body)
			}
			gittest.Run(t, path, "update-ref", "refs/heads/main", good)
		}
		if after := s.rows(); stripEvents(after) != stripEvents(before) {
			t.Errorf("something was stored:\n%s\n%s", before, after)
		}
		// What is no document is none of our business.
		gittest.Feed(t, path, "commit refs/heads/main\ncommitter E <e@example.com> 1 +0000\ndata 1\ne\nfrom "+good+
			"\n"+inTree("120000", "link", "/etc/passwd")+inTree("100644", ".gitattributes", "* filter=evil\n")+inTree("100755", "run.sh", "x\n"), "fast-import", "--quiet", "--force")
		ann.pull(here).want(http.StatusOK)
	})
}

func bomb() string {
	var text strings.Builder
	text.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for i := range 8 {
		name, of := string(rune('b'+i)), string(rune('a'+i))
		text.WriteString(name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+of+",", 9), ",") + "]\n")
	}
	return text.String()
}

// inTree is a line for fast-import that puts a file into a tree.
func inTree(mode, path, text string) string {
	return "M " + mode + " inline " + path + "\ndata " + strconv.Itoa(len(text)) + "\n" + text + "\n"
}

// stripEvents leaves out what a failed operation adds: events and operations.
func stripEvents(rows string) string {
	var kept []string
	for line := range strings.Lines(rows) {
		if !strings.HasPrefix(line, "bus_") && !strings.HasPrefix(line, "ws_workspaces ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// The keys of an SSH server are pinned at the first contact; others are refused until somebody forgets the former ones.
func TestRepositoryBySSH(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		server := gittest.SSH(t)
		server.Create("shared")
		h.equip("")
		ann := h.user("ann")
		here := ann.workspace("Here")
		ann.patch(here, repositoriesOf("main", map[string]any{"name": "Main", "config": map[string]any{
			"url": server.URL("shared"), "branch": "main", "dirpath": "apps/here", "auth": map[string]any{"sshkey": server.SSHKey},
		}})).want(http.StatusOK)
		ann.push(here).want(http.StatusOK)
		if !strings.Contains(gittest.Run(t, server.Path("shared"), "ls-tree", "-r", "--name-only", "main"), "apps/here/index.yml") {
			t.Error("it is not in its folder")
		}
		server.NewHostKey()
		ann.automation(here, "hello", nil)
		refused := ann.push(here).wantError(http.StatusBadRequest, errs.InvalidRequest)
		if !strings.Contains(refused.text("message"), "key") {
			t.Errorf("%s", refused.body)
		}
		check := here + "/repositories/main/check"
		ann.post(check, nil).wantError(http.StatusBadRequest, errs.InvalidRequest)
		if known := ann.post(check, map[string]any{"forgetHostKey": true}).want(http.StatusOK); known.text("targetBranch") != "main" || known.text("commit") == "" || known.at("documents") != float64(2) {
			t.Errorf("%s", known.body)
		}
		ann.push(here).want(http.StatusOK)
	})
}

// A server that refuses a push is quoted, and nothing of the push stays.
func TestRejectedPush(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		hook := "#!/bin/sh\necho 'no pushes on Sundays' >&2\nexit 1\n"
		if err := os.WriteFile(s.server.Path("shared")+"/hooks/pre-receive", []byte(hook), 0o755); err != nil {
			t.Fatal(err)
		}
		refused := ann.push(here).wantError(http.StatusForbidden, errs.PermissionDenied)
		if !strings.Contains(refused.text("message"), "no pushes on Sundays") {
			t.Errorf("%s", refused.body)
		}
		s.unharmed(ann, here)
		var planned int
		if err := s.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM ws_versions WHERE kind = 'planned'`).Scan(&planned); err != nil || planned != 0 {
			t.Errorf("%d plans stayed, %v", planned, err)
		}
	})
}

// Watching finds what others did, and tells of it once.
func TestWatch(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		s.deps.Versioning.WatchEvery = 5 * time.Minute
		s.open()
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.push(here).want(http.StatusOK)
		s.server.Commit("shared", "main", map[string][]byte{"automations/other.yml": []byte("name: other\ndo: []\n")})
		watch := func(want int) {
			t.Helper()
			if err := s.built.WatchOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			if told := s.events(here, "workspaces.drift.detected"); len(told) != want {
				t.Errorf("told %d times, want %d", len(told), want)
			}
		}
		watch(0) // it is not time yet
		s.clk.Advance(6 * time.Minute)
		watch(1)
		if event := s.payload(here, "workspaces.drift.detected"); event.text("status") != "behind" || event.text("remote.0") != "automations/other" {
			t.Errorf("%s", event.body)
		}
		s.clk.Advance(6 * time.Minute)
		watch(1)
	})
}

// A conflict with a repository that is only read is settled here, and nothing is written there.
func TestConflictWithARepositoryThatIsOnlyRead(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, here, _ := s.quarrel()
		reader := s.shared()
		reader["mode"] = "read-only"
		ann.patch(here, repositoriesOf("main", reader)).want(http.StatusOK)
		refs := gittest.Run(t, s.server.Path("shared"), "show-ref")
		ann.pull(here).wantError(http.StatusConflict, errs.Conflict)
		ann.post(here+"/conflicts/resolve", map[string]any{"all": "theirs"}).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "theirs" || ann.get(here).at("writeLock") != nil {
			t.Errorf("%s", after.body)
		}
		if now := gittest.Run(t, s.server.Path("shared"), "show-ref"); now != refs {
			t.Errorf("something was written:\n%s\n%s", refs, now)
		}
	})
}

// An operation can be streamed until it has ended.
func TestOperationIsStreamed(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.push(here, "name", "v1").want(http.StatusOK)
		id := ann.get(here + "/operations").want(http.StatusOK).text("0.id")
		streamed := ann.get(here + "/operations/" + id + "?sse=true").want(http.StatusOK)
		text := streamed.body.String()
		if streamed.header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(text, "data: {") || !strings.Contains(text, `"status":"succeeded"`) || !strings.HasSuffix(text, "\n\n") {
			t.Errorf("%v %s", streamed.header, text)
		}
		ann.get(here+"/operations/none").wantError(http.StatusNotFound, errs.NotFound)
	})
}
