package service_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/gitcmd/gittest"
)

func TestPush(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		at := s.linked(ann, "Mine")
		ann.automation(at, "hello", map[string]any{"description": "Says hello"})
		s.server.Commit("shared", "main", map[string][]byte{"README.md": []byte("Ours\n")})
		if !ann.dirty(at) {
			t.Error("it is not dirty")
		}
		pushed := ann.push(at, "name", "v1", "description", "The first one").want(http.StatusOK)
		if pushed.text("name") != "v1" || pushed.text("repository.id") != "main" || pushed.text("commit") == "" {
			t.Errorf("%s", pushed.body)
		}
		slug := ann.get(at).text("slug")
		head := gittest.Lookup(t, s.server.Path("shared"), "refs/heads/main")
		for _, ref := range []string{"refs/heads/svc/" + slug + "/main", "refs/tags/v1"} {
			if got := gittest.Lookup(t, s.server.Path("shared"), ref); got != head {
				t.Errorf("%s is at %s, not at %s", ref, got, head)
			}
		}
		if !strings.Contains(s.file("main", "automations/hello.yml"), "Says hello") || s.file("main", "README.md") != "Ours\n" {
			t.Error("the branch has not got what was pushed, or lost what was there")
		}
		if index := s.file("main", "index.yml"); strings.Contains(index, "repositories") || !strings.Contains(index, "Mine") {
			t.Errorf("the index: %s", index)
		}
		if log := gittest.Run(t, s.server.Path("shared"), "log", "-1", "--format=%an <%ae>|%s", "main"); strings.TrimSpace(log) != "Name of ann <ann@example.test>|The first one" {
			t.Errorf("the commit is by %s", log)
		}
		w := ann.get(at).want(http.StatusOK)
		if ann.dirty(at) || w.text("lastPush.version") != "v1" || w.text("lastPush.repositoryId") != "main" || w.text("lastPush.createdBy") != "ann" || w.at("writeLock") != nil {
			t.Errorf("after the push: %s", w.body)
		}
		if event := s.payload(at, "workspaces.versions.published"); event.text("version.name") != "v1" || event.at("changes.files") == nil {
			t.Errorf("the event: %s", event.body)
		}
		if steps := s.steps(at); strings.Join(steps, " ") != "checkout pull write merge push push:done" {
			t.Errorf("the steps: %v", steps)
		}
		ann.push(at, "name", "v1").wantError(http.StatusConflict, errs.AlreadyExists)
		listed := ann.get(at + "/versions").want(http.StatusOK)
		if listed.text("0.name") != "v1" || listed.text("0.repository.id") != "main" {
			t.Errorf("%s", listed.body)
		}
	})
}

// steps are those that were told of the operations on a workspace, in their order.
func (h *house) steps(at string) []string {
	h.t.Helper()
	var steps []string
	for _, event := range h.events(at, "workspaces.versions.progress") {
		one := &answer{t: h.t, body: bytes.NewBuffer(event.Payload)}
		steps = append([]string{one.text("step")}, steps...)
	}
	return steps
}

func TestPullMerges(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, bob := s.user("ann"), s.user("bob")
		here, there := s.linked(ann, "Here"), s.linked(bob, "There")
		ann.automation(here, "hello", map[string]any{"description": "old", "labels": []string{"aa"}})
		ann.push(here).want(http.StatusOK)
		pulled := bob.pull(there).want(http.StatusOK)
		if got := pulled.text("imported.0"); got == "" || bob.get(there+"/automations/hello").want(http.StatusOK).text("description") != "old" {
			t.Errorf("%s", pulled.body)
		}
		if w := bob.get(there); w.text("name") != "Here" || bob.dirty(there) || w.text("lastPull.repositoryId") != "main" {
			t.Errorf("after the pull: %s", w.body)
		}
		// Both change the same automation, in different keys.
		bob.automation(there, "hello", map[string]any{"description": "new"})
		bob.push(there).want(http.StatusOK)
		ann.automation(here, "hello", map[string]any{"labels": []string{"bb"}})
		refused := ann.push(here).wantError(http.StatusConflict, errs.Conflict)
		if !strings.Contains(refused.text("message"), "not up-to-date") || !strings.Contains(refused.text("message"), "Pull first") {
			t.Errorf("%s", refused.body)
		}
		ann.pull(here).want(http.StatusOK)
		if both := ann.get(here + "/automations/hello"); both.text("description") != "new" || both.text("labels.0") != "bb" || !ann.dirty(here) {
			t.Errorf("merged: %s", both.body)
		}
		ann.push(here).want(http.StatusOK)
		bob.pull(there).want(http.StatusOK)
		if both := bob.get(there + "/automations/hello"); both.text("description") != "new" || both.text("labels.0") != "bb" || bob.dirty(there) {
			t.Errorf("at the other end: %s", both.body)
		}
		gittest.Run(t, s.server.Path("shared"), "fsck", "--strict")
	})
}

func TestConflictIsSettledHere(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, here, before := s.quarrel()
		refused := ann.pull(here).wantError(http.StatusConflict, errs.Conflict)
		slug := ann.get(here).text("slug")
		if refused.text("details.reason") != "merge_conflict" || refused.text("details.intermediateBranch") != "svc/"+slug+"/main" ||
			refused.text("details.targetBranch") != "main" || refused.text("details.files.0") != "automations/hello" {
			t.Errorf("%s", refused.body)
		}
		locked := ann.get(here)
		if locked.text("writeLock.reason") != "merge_conflict" || locked.at("writeLock.expiresAt") != nil {
			t.Errorf("the lock: %s", locked.body)
		}
		ann.push(here).wantError(http.StatusLocked, errs.Locked)
		ann.pull(here).wantError(http.StatusConflict, errs.Conflict)
		list := ann.get(here + "/conflicts").want(http.StatusOK)
		if list.text("conflicts.0.key") != "description" || list.text("conflicts.0.base") != "old" || list.text("conflicts.0.ours") != "ours" ||
			list.text("conflicts.0.theirs") != "theirs" || list.text("conflicts.1.key") != "name" {
			t.Errorf("%s", list.body)
		}
		settle := func(resolutions ...any) *answer {
			return ann.post(here+"/conflicts/resolve", map[string]any{"resolutions": resolutions})
		}
		settle(map[string]any{"document": "automations/hello", "path": []string{"nothing"}, "take": "ours"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		part := settle(map[string]any{"document": "automations/hello", "path": []string{"description"}, "take": "value", "value": "both"}).want(http.StatusOK)
		if part.at("resolved") != false || part.text("left.conflicts.0.settled") != "value" {
			t.Errorf("%s", part.body)
		}
		whole := settle(map[string]any{"document": "automations/hello", "path": []string{"name"}, "take": "theirs"}).want(http.StatusOK)
		if whole.at("resolved") != true {
			t.Errorf("%s", whole.body)
		}
		after := ann.get(here + "/automations/hello")
		if after.text("description") != "both" || after.text("name") != "Theirs" || ann.get(here).at("writeLock") != nil {
			t.Errorf("%s", after.body)
		}
		ann.get(here+"/conflicts").wantError(http.StatusNotFound, errs.NotFound)
		merge := gittest.Lookup(t, s.server.Path("shared"), "refs/heads/svc/"+slug+"/main")
		parents := strings.Fields(gittest.Run(t, s.server.Path("shared"), "log", "-1", "--format=%P", merge))
		if len(parents) != 2 || parents[0] != before {
			t.Errorf("the merge has the parents %v, want %s among two", parents, before)
		}
		ann.push(here).want(http.StatusOK)
		if !strings.Contains(s.file("main", "automations/hello.yml"), "both") {
			t.Error("what was settled was not pushed")
		}
	})
}

// quarrel makes a workspace that was changed in the same places as its repository, and gives the head of that.
func (s *studio) quarrel() (ann *caller, here, head string) {
	s.t.Helper()
	ann = s.user("ann")
	here = s.linked(ann, "Here")
	ann.automation(here, "hello", map[string]any{"description": "old"})
	ann.push(here).want(http.StatusOK)
	text := strings.NewReplacer("description: old", "description: theirs", "name: hello", "name: Theirs").Replace(s.file("main", "automations/hello.yml"))
	head = s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(text)})
	ann.automation(here, "hello", map[string]any{"description": "ours", "name": "Ours"})
	return ann, here, head
}

func TestConflictIsSettledInGit(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, here, _ := s.quarrel()
		ann.pull(here).wantError(http.StatusConflict, errs.Conflict)
		slug := ann.get(here).text("slug")
		inClone := s.client("svc/" + slug + "/main")
		inClone("merge", "--quiet", "-X", "theirs", "-m", "settled", "origin/main")
		inClone("push", "--quiet", "origin", "HEAD")
		ann.pull(here).want(http.StatusOK)
		after := ann.get(here + "/automations/hello")
		if after.text("description") != "theirs" || ann.get(here).at("writeLock") != nil {
			t.Errorf("%s", after.body)
		}
		ann.automation(here, "hello", map[string]any{"description": "later"})
		ann.push(here).want(http.StatusOK)
		gittest.Run(t, s.server.Path("shared"), "merge-base", "--is-ancestor", "svc/"+slug+"/main", "main")
	})
}

func TestConflictIsSettledOnTheTarget(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, here, _ := s.quarrel()
		ann.pull(here).wantError(http.StatusConflict, errs.Conflict)
		slug := ann.get(here).text("slug")
		inClone := s.client("main")
		inClone("merge", "--quiet", "-X", "theirs", "-m", "settled", "origin/svc/"+slug+"/main")
		inClone("push", "--quiet", "origin", "HEAD")
		ann.pull(here).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "ours" || ann.dirty(here) {
			t.Errorf("%s", after.body)
		}
	})
}

func TestDiscardKeepsARecovery(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, here, _ := s.quarrel()
		ann.pull(here).wantError(http.StatusConflict, errs.Conflict)
		pulled := ann.pull(here, "discardLocalChanges", true).want(http.StatusOK)
		recovery := pulled.text("recovery")
		if recovery == "" || ann.get(here+"/automations/hello").text("description") != "theirs" || ann.get(here).at("writeLock") != nil || ann.dirty(here) {
			t.Errorf("%s", pulled.body)
		}
		ann.post(here+"/versions/"+recovery+"/pull", nil).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "ours" {
			t.Errorf("the recovery: %s", after.body)
		}
		ann.push(here).want(http.StatusOK)
	})
}

func TestUndoOfAPull(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		ann.push(here).want(http.StatusOK)
		text := strings.Replace(s.file("main", "automations/hello.yml"), "description: old", "description: new", 1)
		s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(text)})
		ann.pull(here).want(http.StatusOK)
		ann.post(here+"/undo", nil).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "old" {
			t.Errorf("%s", after.body)
		}
		ann.push(here).wantError(http.StatusConflict, errs.Conflict) // it would take back what others did
		ann.pull(here).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "new" {
			t.Errorf("%s", after.body)
		}
		ann.post(here+"/undo", nil).want(http.StatusOK)
		ann.post(here+"/undo", nil).wantError(http.StatusNotFound, errs.NotFound)
	})
}

func TestPlans(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		plan := ann.push(here, "dryRun", true).want(http.StatusOK)
		if plan.text("operation") != "push" || plan.text("created.0") != "automations/hello" || gittest.Lookup(t, s.server.Path("shared"), "refs/heads/main") != "" {
			t.Errorf("%s", plan.body)
		}
		ann.automation(here, "hello", map[string]any{"description": "newer"})
		stale := ann.push(here, "planId", plan.text("planId")).wantError(http.StatusConflict, errs.Conflict)
		if stale.text("details.reason") != "plan_stale" {
			t.Errorf("%s", stale.body)
		}
		ann.push(here, "planId", ann.push(here, "dryRun", true).text("planId")).want(http.StatusOK)
		s.server.Commit("shared", "main", map[string][]byte{"automations/other.yml": []byte("name: other\ndo: []\n"), "automations/hello.yml": nil})
		pull := ann.pull(here, "dryRun", true).want(http.StatusOK)
		if pull.text("created.0") != "automations/other" || pull.text("deleted.0") != "automations/hello" || ann.get(here+"/automations/other").status != http.StatusNotFound {
			t.Errorf("%s", pull.body)
		}
		s.server.Commit("shared", "main", map[string][]byte{"automations/third.yml": []byte("name: third\ndo: []\n")})
		ann.pull(here, "planId", pull.text("planId")).wantError(http.StatusConflict, errs.Conflict)
		ann.pull(here, "planId", ann.pull(here, "dryRun", true).text("planId")).want(http.StatusOK)
		ann.get(here + "/automations/third").want(http.StatusOK)
	})
}

func TestDrift(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		drift := func(want string) {
			t.Helper()
			if found := ann.get(here + "/drift?repository=main").want(http.StatusOK); found.text("status") != want {
				t.Errorf("%s, want %s", found.body, want)
			}
		}
		ann.automation(here, "hello", map[string]any{"description": "old"})
		drift("ahead")
		ann.push(here).want(http.StatusOK)
		drift("inSync")
		ann.automation(here, "hello", map[string]any{"description": "mine"})
		drift("ahead")
		text := s.file("main", "automations/hello.yml")
		s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(text + "labels: [new]\n")})
		drift("diverged")
		s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(strings.Replace(text, "old", "theirs", 1))})
		drift("conflict")
		if event := s.payload(here, "workspaces.drift.detected"); event.text("status") != "conflict" || event.text("conflicts.0") != "automations/hello" {
			t.Errorf("%s", event.body)
		}
		ann.pull(here, "discardLocalChanges", true).want(http.StatusOK)
		drift("inSync")
		s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(text)})
		drift("behind")
		ann.get(here+"/drift?repository=none").wantError(http.StatusNotFound, errs.NotFound)
	})
}

func TestModesAndExclusions(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		ann.automation(here, "mine", map[string]any{"description": "old"})
		ann.push(here).want(http.StatusOK)
		reader := s.shared()
		reader["mode"] = "read-only"
		writer := s.shared()
		writer["mode"] = "write-only"
		careful := s.shared()
		careful["pull"] = map[string]any{"exclude": []any{map[string]any{"path": "automations/mine"}}}
		ann.patch(here, repositoriesOf("main", careful, "reader", reader, "writer", writer)).want(http.StatusOK)
		ann.post(here+"/push", map[string]any{"repository": map[string]any{"id": "reader"}}).wantError(http.StatusForbidden, errs.PermissionDenied)
		ann.post(here+"/pull", map[string]any{"repository": map[string]any{"id": "writer"}}).wantError(http.StatusForbidden, errs.PermissionDenied)
		missing := ann.post(here+"/pull", map[string]any{"repository": map[string]any{"id": "none"}}).wantError(http.StatusNotFound, errs.NotFound)
		if missing.text("details.repositoryId") != "none" || missing.at("details.availableRepositories") == nil {
			t.Errorf("%s", missing.body)
		}
		text := s.file("main", "automations/hello.yml")
		s.server.Commit("shared", "main", map[string][]byte{
			"automations/hello.yml": []byte(strings.Replace(text, "old", "new", 1)), "automations/mine.yml": nil,
		})
		pulled := ann.pull(here).want(http.StatusOK)
		if strings.Contains(pulled.body.String(), `"automations/mine"`) || ann.get(here+"/automations/mine").status != http.StatusOK || ann.get(here+"/automations/hello").text("description") != "new" {
			t.Errorf("%s", pulled.body)
		}
	})
}

// Going back to an older version is being behind the branch, until it is pulled again.
func TestPullOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "one"})
		ann.push(here, "name", "v1").want(http.StatusOK)
		ann.automation(here, "hello", map[string]any{"description": "two"})
		ann.push(here, "name", "v2").want(http.StatusOK)
		ann.pull(here, "version", "v1").want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "one" {
			t.Errorf("%s", after.body)
		}
		if found := ann.get(here + "/drift?repository=main"); found.text("status") != "behind" {
			t.Errorf("%s", found.body)
		}
		ann.push(here).wantError(http.StatusConflict, errs.Conflict)
		ann.pull(here).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "two" {
			t.Errorf("%s", after.body)
		}
		ann.pull(here, "version", "v9").wantError(http.StatusNotFound, errs.NotFound)
	})
}

// A document that was only written differently here, and deleted there, is deleted: nobody changed it.
func TestDeletedAndOnlyRewritten(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		ann.push(here).want(http.StatusOK)
		text := s.file("main", "automations/hello.yml")
		ann.with("Content-Type", "application/yaml").put(here+"/automations/hello", "# ours\n"+text).want(http.StatusOK)
		s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": nil})
		ann.pull(here).want(http.StatusOK)
		ann.get(here+"/automations/hello").wantError(http.StatusNotFound, errs.NotFound)
	})
}
