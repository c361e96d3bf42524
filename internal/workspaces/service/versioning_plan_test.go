package service_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/gitcmd/gittest"
)

// disputed makes a workspace that is locked for two conflicts.
func (s *studio) disputed(c *caller) string {
	s.t.Helper()
	here := s.linked(c, "Here")
	c.automation(here, "hello", map[string]any{"description": "old", "labels": []any{"old"}})
	c.push(here).want(http.StatusOK)
	text := strings.ReplaceAll(s.file("main", "automations/hello.yml"), "old", "theirs")
	s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(text)})
	c.automation(here, "hello", map[string]any{"description": "ours", "labels": []any{"ours"}})
	c.pull(here).wantError(http.StatusConflict, errs.Conflict)
	return here
}

// Settling conflicts can be tried first, like every operation: nothing is changed, and the plan can be applied or is refused.
func TestPlanOfSettling(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.disputed(ann)
		resolve := here + "/conflicts/resolve"
		refs, open := gittest.Run(t, s.server.Path("shared"), "show-ref"), ann.get(here+"/conflicts").text("open")
		part := ann.post(resolve, map[string]any{"dryRun": true, "resolutions": []any{map[string]any{"document": "automations/hello", "path": []string{"description"}, "take": "theirs"}}}).want(http.StatusOK)
		if part.text("operation") != "resolve" || part.length("conflicts") != 1 || part.at("dryRun") != true {
			t.Errorf("part of it: %s", part.body)
		}
		plan := ann.post(resolve, map[string]any{"all": "theirs", "dryRun": true}).want(http.StatusOK)
		if plan.text("operation") != "resolve" || plan.text("updated.0") != "automations/hello" || plan.length("conflicts") != 0 || plan.text("repositoryId") != "main" || plan.text("commit") == "" {
			t.Errorf("all of it: %s", plan.body)
		}
		if gittest.Run(t, s.server.Path("shared"), "show-ref") != refs || ann.get(here+"/conflicts").text("open") != open || ann.get(here).text("writeLock.reason") != "merge_conflict" {
			t.Error("a plan changed something")
		}
		for _, other := range []map[string]any{{"all": "ours", "planId": plan.text("planId")}, {"all": "theirs", "planId": part.text("planId")}} {
			if refused := ann.post(resolve, other).wantError(http.StatusConflict, errs.Conflict); refused.text("details.reason") != "plan_stale" {
				t.Errorf("%s", refused.body)
			}
		}
		if ann.get(here+"/conflicts").text("open") != open {
			t.Error("a refused plan settled something")
		}
		done := ann.post(resolve, map[string]any{"all": "theirs", "planId": plan.text("planId")}).want(http.StatusOK)
		if done.at("resolved") != true || ann.get(here+"/automations/hello").text("description") != "theirs" {
			t.Errorf("%s", done.body)
		}
		ann.post(resolve, map[string]any{"all": "theirs", "dryRun": true}).wantError(http.StatusNotFound, errs.NotFound)
	})
}

// What settling would be refused for is refused in its plan.
func TestPlanOfSettlingThatCannotBe(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.disputed(ann)
		all := map[string]any{"all": "ours", "dryRun": true}
		ann.post(here+"/conflicts/resolve", all).want(http.StatusOK)
		ann.post(here+"/conflicts/resolve", map[string]any{"dryRun": true}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		s.server.Commit("shared", "svc/"+ann.get(here).text("slug")+"/main", map[string][]byte{"README.md": []byte("somebody's\n")})
		if refused := ann.post(here+"/conflicts/resolve", all).wantError(http.StatusConflict, errs.Conflict); refused.text("details.reason") != "intermediate_moved" {
			t.Errorf("%s", refused.body)
		}
	})
}

// A check tells whether the branch is there.
func TestCheckOfABranch(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		if checked := ann.post(here+"/repositories/main/check", nil).want(http.StatusOK); checked.at("branchExists") != false {
			t.Errorf("before: %s", checked.body)
		}
		ann.push(here).want(http.StatusOK)
		if checked := ann.post(here+"/repositories/main/check", nil).want(http.StatusOK); checked.at("branchExists") != true {
			t.Errorf("after: %s", checked.body)
		}
	})
}

// An operation is called what it is, before and after its end, and does nothing any more once it has ended.
func TestOperationThatHasEnded(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		clk := s.noted()
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		operation, release := s.underWay(ann, here)
		s.until(func() bool {
			clk.Advance(2 * time.Second) // its lease is renewed with what it does
			return ann.get(operation).text("step") != ""
		})
		if running := ann.get(operation); running.text("kind") != "push" || running.text("status") != "running" {
			t.Errorf("running: %s", running.body)
		}
		release()
		s.until(func() bool { return ann.get(operation).text("status") == "succeeded" })
		if ended := ann.get(operation); ended.text("kind") != "push" || ended.at("step") != nil {
			t.Errorf("ended: %s", ended.body)
		}
		if list := ann.get(here + "/operations"); list.text("0.kind") != "push" || list.at("0.step") != nil {
			t.Errorf("listed: %s", list.body)
		}
	})
}

// What somebody says of a version is in the repository also when nothing else is new.
func TestDescriptionOfAPushWithoutChanges(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		first := ann.push(here, "name", "v1").want(http.StatusOK).text("commit")
		if again := ann.push(here, "name", "v2").want(http.StatusOK).text("commit"); again != first {
			t.Errorf("a push that says nothing made the commit %s", again)
		}
		said := ann.push(here, "name", "v3", "description", "What is released").want(http.StatusOK)
		path := s.server.Path("shared")
		if message := strings.TrimSpace(gittest.Run(t, path, "log", "-1", "--format=%B", "v3")); message != "What is released" {
			t.Errorf("the version says %q", message)
		}
		if changed := gittest.Run(t, path, "diff", "--stat", first, "main"); changed != "" || gittest.Lookup(t, path, "refs/heads/main") != said.text("commit") {
			t.Errorf("it changed %s", changed)
		}
		if ann.dirty(here) || ann.get(here+"/drift?repository=main").text("status") != "inSync" {
			t.Error("it is not in step")
		}
		ann.pull(here).want(http.StatusOK)
	})
}

// What a bulk import would skip is no part of its plan.
func TestBulkPlanOfWhatIsSkipped(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		s.hub(joined(stored("aa", "v1", "base", "", ""), stored("bb", "v1", "base", "", "")))
		root.post(bulkImport, inHub()).want(http.StatusOK).wantStatuses("aa=imported bb=imported")
		s.hub(joined(stored("bb", "v2", "base", "", ""), stored("cc", "v1", "base", "", "")))
		plan := root.post(bulkImport, inHub("dryRun", true)).want(http.StatusOK)
		if plan.length("updated") != 1 || plan.text("updated.0") != "bb" || plan.length("created") != 1 || plan.text("created.0") != "cc" || plan.length("order") != 2 || plan.length("workspaces") != 3 {
			t.Errorf("%s", plan.body)
		}
		if all := root.post(bulkImport, inHub("dryRun", true, "forceReimport", true)).want(http.StatusOK); all.length("updated") != 2 || all.length("order") != 3 {
			t.Errorf("%s", all.body)
		}
		root.post(bulkImport, inHub("planId", plan.text("planId"))).want(http.StatusOK).wantStatuses("aa=skipped bb=imported cc=imported")
	})
}

// Everything that is wrong with a repository is said at once.
func TestAllThatIsWrongWithARepository(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		wrong := ann.patch(at, repositoriesOf("r", map[string]any{"name": "M", "config": map[string]any{
			"url": "file:///etc", "branch": "-u", "dirpath": "../x", "hostKey": "x", "auth": map[string]any{"user": "a\nb", "password": "hunter2\n", "sshkey": "hunter2"},
		}, "pull": map[string]any{"exclude": []any{map[string]any{"path": "../x"}}}})).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		for _, field := range []string{"config.url", "config.branch", "config.dirpath", "config.hostKey", "config.auth.user", "config.auth.password", "config.auth.sshkey", "pull.exclude[0].path"} {
			wrong.wantField("repositories.r." + field)
		}
		if contains(wrong.body.String(), "hunter2") {
			t.Errorf("the value is repeated: %s", wrong.body)
		}
	})
}

// A settling that is cut off twice, once after its merge has arrived and once before, can still be finished.
func TestSettlingThatIsCutOffTwice(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.disputed(ann)
		var arrives, cut atomic.Bool
		s.server.Wrap(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !cut.Load() || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
					next.ServeHTTP(w, r)
					return
				}
				if arrives.Load() {
					next.ServeHTTP(httptest.NewRecorder(), r)
				}
				panic(http.ErrAbortHandler) //nolint:forbidigo // the way to cut a connection
			})
		})
		settle := func() *answer { return ann.post(here+"/conflicts/resolve", map[string]any{"all": "ours"}) }
		cut.Store(true)
		for _, arriving := range []bool{true, false} {
			arrives.Store(arriving)
			if cut := settle(); cut.status == http.StatusOK {
				t.Fatalf("arrives %v: %s", arriving, cut.body)
			}
			if reason := ann.get(here).text("writeLock.reason"); reason != "merge_conflict" {
				t.Fatalf("arrives %v: the lock is %q", arriving, reason)
			}
		}
		cut.Store(false)
		settle().want(http.StatusOK)
		if ann.get(here+"/automations/hello").text("description") != "ours" {
			t.Error("something else was settled")
		}
	})
}
