package service_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/gitcmd/gittest"
)

func TestBulkPush(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		ann := s.user("ann")
		a, b := ann.labelled("aa", "team:base"), ann.labelled("bb", "team:core")
		ann.labelled("cc", "team:extra")
		plan := root.post(bulkPush, map[string]any{"groups": []string{"base"}, "dryRun": true}).want(http.StatusOK).wantStatuses("aa=candidate bb=candidate")
		if plan.text("operation") != "bulkPush" || plan.text("planId") == "" || plan.length("order") != 2 || plan.text("dryRun") != "true" {
			t.Errorf("the plan: %s", plan.body)
		}
		s.wantBulkEvents("bulkPush", 0, 0, 0)
		done := root.post(bulkPush, map[string]any{"groups": []string{"base"}, "name": "v1", "description": "first", "planId": plan.text("planId")})
		done.wantError(http.StatusConflict, errs.Conflict) // another name is another plan
		done = root.post(bulkPush, map[string]any{"groups": []string{"base"}, "name": "v1", "description": "first"}).want(http.StatusOK).wantStatuses("aa=pushed bb=pushed")
		if done.text("repositoryId") != "hub" || done.length("errors") != 0 || done.length("pushedWorkspaceIds") != 2 || done.length("mergeConflictWorkspaceIds") != 0 {
			t.Errorf("completed: %s", done.body)
		}
		s.wantBulkEvents("bulkPush", 1, 2, 1)
		progress := s.payload(platform, "workspaces.bulkPush.progress")
		if progress.text("current") != "2" || progress.text("total") != "2" || progress.text("percentage") != "100" || progress.text("workspaceSlug") != "bb" || progress.text("status") != "pushed" {
			t.Errorf("progress: %s", progress.body)
		}
		if len(s.events(a, "workspaces.versions.progress")) == 0 || len(s.events(b, "workspaces.versions.published")) != 1 {
			t.Error("the events of the workspaces are missing")
		}
		if !strings.Contains(s.hubFile("aa/automations/hello.yml"), "of aa") || !strings.Contains(s.hubFile("aa/.import.yml"), "name: v1") || !strings.Contains(s.hubFile("aa/.import.yml"), "base") {
			t.Errorf("the repository has %s", s.hubFile("aa/.import.yml"))
		}
		if root.slug("aa").text("lastPush.version") != "v1" || root.slug("bb").text("dirty") != "false" {
			t.Error("the push is not noted")
		}
		if tags := gittest.Run(t, s.server.Path("hub"), "tag"); tags != "aa/v1\nbb/v1" {
			t.Errorf("tags: %s", tags)
		}
		// Only what was changed is pushed again, unless it is forced.
		ann.automation(a, "hello", map[string]any{"description": "changed"})
		root.post(bulkPush, map[string]any{"groups": []string{"base"}}).want(http.StatusOK).wantStatuses("aa=pushed bb=alreadyPushed")
		s.clk.Advance(time.Second) // another version has another name
		forced := root.post(bulkPush, map[string]any{"groups": []string{"base", "extra"}, "force": true}).want(http.StatusOK).wantStatuses("aa=pushed bb=pushed cc=pushed")
		if forced.text("version") == "" || root.slug("cc").text("lastPush.version") != forced.text("version") {
			t.Errorf("the name: %s", forced.body)
		}
		gittest.Run(t, s.server.Path("hub"), "fsck", "--strict")
		if root.get(platform).text("writeLock") != "" {
			t.Error("the platform workspace is still locked")
		}
	})
}

func TestBulkPushOthersGoOn(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		a := root.labelled("aa", "team:base")
		root.labelled("bb", "team:base")
		c := root.labelled("cc", "team:base")
		root.post(a+"/writeLock", map[string]any{"reason": "merge_conflict"}).want(http.StatusOK)
		root.post(c+"/writeLock", map[string]any{"reason": "push_in_progress"}).want(http.StatusOK)
		s.hub(stored("dd", "x", "base", "", ""))
		d := root.labelled("dd", "team:base") // the repository has something else under its name
		done := root.post(bulkPush, map[string]any{"groups": []string{"base"}}).want(http.StatusOK).wantStatuses("aa=mergeConflict bb=pushed cc=inProgress dd=error")
		if done.length("mergeConflictWorkspaceIds") != 1 || done.length("errors") != 1 || done.text("errors.0.details.slug") != "dd" || done.text("errors.0.error") != string(errs.Conflict) {
			t.Errorf("completed: %s", done.body)
		}
		if done.text("workspaces.3.errors.0.details.reason") != "behind" {
			t.Errorf("completed: %s", done.body)
		}
		s.wantBulkEvents("bulkPush", 1, 2, 1)
		if root.get(d).text("writeLock") != "" {
			t.Error("still locked")
		}
	})
}

func TestBulkImport(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		s.hub(joined(stored("aa", "v1", "base", "app/lib", ""), stored("zz", "v1", "base", "", "lib"), stored("mm", "v1", "extra", "app/nowhere", ""), map[string]string{
			".hidden/index.yml": "name: x\n", "Not A Slug/index.yml": "name: x\n", "README.md": "hello",
		}))
		plan := root.post(bulkImport, inHub("groups", []string{"base"}, "dryRun", true)).want(http.StatusOK)
		if plan.text("operation") != "bulkImport" || plan.text("order.0") != "zz" || plan.text("order.1") != "aa" || plan.length("workspaces") != 2 || plan.length("created") != 2 {
			t.Errorf("the plan: %s", plan.body)
		}
		done := root.post(bulkImport, inHub("groups", []string{"base"}, "planId", plan.text("planId"))).want(http.StatusOK).wantStatuses("zz=imported aa=imported")
		if done.length("createdWorkspaceIds") != 2 || done.length("updatedWorkspaceIds") != 0 || done.length("errors") != 0 || done.text("workspaces.0.app.slug") != "lib" || done.text("workspaces.0.name") != "Name of zz" {
			t.Errorf("completed: %s", done.body)
		}
		if done.text("workspaces.1.importedFilesCount") == "0" || done.text("importedFilesCount") == "0" {
			t.Errorf("no files: %s", done.body)
		}
		s.wantBulkEvents("bulkImport", 1, 2, 1)
		made := root.slug("aa").want(http.StatusOK)
		if made.text("lastPull.version") != "v1" || made.text("name") != "Name of aa" || made.text("createdBy") != "root" {
			t.Errorf("the workspace: %s", made.body)
		}
		if len(s.events("/v2/workspaces/"+made.text("id"), "workspaces.imported")) != 1 {
			t.Error("the event of the workspace is missing")
		}
		if root.get("/v2/apps/lib").status != http.StatusOK {
			t.Errorf("the app was not published: %s", done.body)
		}
		// All of it: what is there is skipped, what cannot be a workspace is told.
		done = root.post(bulkImport, inHub()).want(http.StatusOK).wantStatuses("Not A Slug=error mm=imported zz=skipped aa=skipped")
		if done.length("skippedWorkspaceIds") != 2 || done.length("errors") != 1 {
			t.Errorf("completed: %s", done.body)
		}
		// Local changes are given up, and kept.
		at := "/v2/workspaces/" + made.text("id")
		root.automation(at, "local", nil)
		root.post(bulkImport, inHub("groups", []string{"base"}, "forceReimport", true)).want(http.StatusOK).wantStatuses("zz=imported aa=imported")
		root.get(at + "/automations/local").want(http.StatusNotFound)
		if root.get(at+"/versions").length("") == 0 {
			t.Error("what was given up is lost")
		}
		// Without a repository the first one is meant.
		root.post(bulkImport, map[string]any{"groups": []string{"extra"}}).want(http.StatusOK).wantStatuses("mm=skipped")
	})
}

func TestBulkImportOfHostileRepository(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		s.hub(joined(stored("good", "v1", "base", "", ""), stored("badyaml", "v1", "base", "", ""), map[string]string{
			"badyaml/index.yml": "name: [", "badinfo/index.yml": "name: x\n", "badinfo/.import.yml": "groups: {", "noindex/automations/a.yml": "do: []\n", "platform/index.yml": "name: p\n",
		}))
		work := t.TempDir()
		gittest.Run(t, "", "clone", "--quiet", s.server.Path("hub"), work)
		if err := os.Symlink("/etc/passwd", filepath.Join(work, "env", "good", "pages.yml")); err != nil {
			t.Fatal(err)
		}
		onDisk(t, work, map[string]string{"env/linked/index.yml": "name: linked\n"})
		if err := os.MkdirAll(filepath.Join(work, "env", "linked", "automations"), 0o755); err != nil {
			t.Fatal(err)
		}
		for target, name := range map[string]string{"/etc/passwd": "env/linked/automations/evil.yml", "good": "env/alias"} {
			if err := os.Symlink(target, filepath.Join(work, name)); err != nil {
				t.Fatal(err)
			}
		}
		gittest.Run(t, work, "add", "-A")
		gittest.Run(t, work, "commit", "--quiet", "-m", "links")
		gittest.Run(t, work, "push", "--quiet", "origin", "HEAD:main")
		done := root.post(bulkImport, inHub()).want(http.StatusOK).
			wantStatuses("alias=error badinfo=error badyaml=error good=imported linked=error noindex=error platform=error")
		if done.length("errors") < 6 || strings.Contains(done.body.String(), "root:") {
			t.Errorf("completed: %s", done.body)
		}
		for _, slug := range []string{"badyaml", "linked", "noindex", "alias"} {
			root.slug(slug).want(http.StatusNotFound)
		}
		if root.get("/v2/workspaces/bin").length("") != 0 {
			t.Error("something is in the bin")
		}
	})
}

func TestBulkImportDependencyCycle(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		s.hub(joined(stored("aa", "v1", "", "app/b", "a"), stored("bb", "v1", "", "app/c", "b"), stored("cc", "v1", "", "app/a", "c"),
			stored("self", "v1", "", "app/self", "self"), stored("behind", "v1", "", "app/a", "")))
		done := root.post(bulkImport, inHub()).want(http.StatusOK).wantStatuses("behind=imported self=imported aa=error bb=error cc=error")
		cycle, _ := done.at("workspaces.2.errors.0.details.cycle").([]any)
		text, _ := json.Marshal(cycle)
		if string(text) != `["aa","bb","cc","aa"]` {
			t.Errorf("the cycle is %s", text)
		}
	})
}

func TestBulkAccess(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root, ann, bob := s.superAdmin(), s.user("ann"), s.user("bob")
		mine, theirs := ann.labelled("mine", "team:base"), bob.labelled("theirs", "team:base")
		bob.labelled("secret", "team:base")
		ann.post(bulkPush, map[string]any{"groups": []string{"base"}}).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		root.share(platform, "ann", map[string]any{"role": "editor"}).want(http.StatusOK)
		bob.share(theirs, "ann", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		refused := ann.post(bulkPush, map[string]any{"groups": []string{"base"}}).wantError(http.StatusForbidden, errs.PermissionDenied)
		if refused.text("details.workspaces") != "[theirs]" || strings.Contains(refused.body.String(), "secret") {
			t.Errorf("refused with %s", refused.body)
		}
		s.wantBulkEvents("bulkPush", 0, 0, 0)
		if !ann.dirty(mine) || gittest.Lookup(t, s.server.Path("hub"), "refs/heads/main") != "" {
			t.Error("something was pushed")
		}
		if ann.get(platform).text("writeLock") != "" {
			t.Error("the platform workspace is still locked")
		}
		s.hub(joined(stored("mine", "v1", "base", "", ""), stored("theirs", "v1", "base", "", ""), stored("fresh", "v1", "extra", "", "")))
		ann.post(bulkImport, inHub("groups", []string{"base"})).wantError(http.StatusForbidden, errs.PermissionDenied)
		ann.post(bulkImport, inHub("groups", []string{"extra"})).want(http.StatusOK).wantStatuses("fresh=imported")
		if ann.slug("fresh").text("createdBy") != "ann" {
			t.Error("it is not the caller's")
		}
		bob.slug("fresh").want(http.StatusForbidden)
	})
}

func TestBulkRefusals(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		refused := root.post(bulkPush, map[string]any{"groups": []string{"base", "nobody"}}).wantError(http.StatusNotFound, errs.NotFound)
		if refused.text("details.groups") != "[nobody]" {
			t.Errorf("refused with %s", refused.body)
		}
		s.hub(stored("aa", "v1", "listed", "", ""))
		refused = root.post(bulkImport, inHub("groups", []string{"nobody"})).wantError(http.StatusNotFound, errs.NotFound)
		if refused.text("details.groups") != "[nobody]" {
			t.Errorf("refused with %s", refused.body)
		}
		root.post(bulkImport, inHub("groups", []string{"listed"})).want(http.StatusOK).wantStatuses("aa=imported")
		root.post(bulkPush, map[string]any{"groups": []string{"base"}, "name": "no good"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("name")
		// A repository that is none of the platform, or none, is a push or pull of the platform workspace itself.
		root.post(bulkPush, map[string]any{"groups": []string{"base"}, "repository": map[string]any{"id": "other"}}).wantError(http.StatusNotFound, errs.NotFound)
		root.post(bulkImport, map[string]any{"repository": map[string]any{"id": "other"}}).wantError(http.StatusNotFound, errs.NotFound)
		saved := root.post(bulkPush, map[string]any{"description": "native"}).want(http.StatusCreated).text("name")
		root.post(platform+"/versions/"+saved+"/pull", map[string]any{}).want(http.StatusOK)
		root.post(bulkImport, map[string]any{}).want(http.StatusOK)
		root.post(bulkPush, map[string]any{"repository": map[string]any{"id": "hub"}}).want(http.StatusOK)
		if !strings.Contains(s.hubFile("platform/index.yml"), "Platform") {
			t.Error("the platform workspace was not pushed")
		}
		s.platform()
		root.post(bulkPush, map[string]any{"groups": []string{}}).want(http.StatusCreated)
		root.post(bulkImport, map[string]any{"groups": []string{"base"}}).wantError(http.StatusNotFound, errs.NotFound)
	})
}

// A plan is applied as it was shown, or not at all.
func TestBulkPlan(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		at := root.labelled("aa", "team:base")
		body := func(planID string, dry bool) map[string]any {
			return map[string]any{"groups": []string{"base"}, "name": "v1", "planId": planID, "dryRun": dry}
		}
		first := root.post(bulkPush, body("", true)).want(http.StatusOK).text("planId")
		root.automation(at, "hello", map[string]any{"description": "another"})
		stale := root.post(bulkPush, body(first, false)).wantError(http.StatusConflict, errs.Conflict)
		if stale.text("details.reason") != "plan_stale" {
			t.Errorf("refused with %s", stale.body)
		}
		second := root.post(bulkPush, body("", true)).want(http.StatusOK).text("planId")
		s.hub(map[string]string{"README.md": "somebody else"})
		root.post(bulkPush, body(second, false)).wantError(http.StatusConflict, errs.Conflict)
		third := root.post(bulkPush, body("", true)).want(http.StatusOK).text("planId")
		root.post(bulkPush, body(third, false)).want(http.StatusOK).wantStatuses("aa=pushed")
	})
}

// While one bulk operation runs there is no other, in no instance; a client that does not wait is told where to ask.
func TestBulkOneAtATime(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		root.labelled("aa", "team:base")
		s.works(s.built.Sync) // what goes on is waited for
		arrived, release := make(chan struct{}), make(chan struct{})
		s.server.Wrap(holding("git-receive-pack", arrived, release))
		going := root.post(bulkPush+"?timeout=0", map[string]any{"groups": []string{"base"}}).want(http.StatusOK)
		if going.text("processing") != "true" || going.text("message") == "" {
			t.Errorf("going: %s", going.body)
		}
		operation := platform + "/operations/" + going.text("operationId")
		<-arrived
		if got := root.get(operation).want(http.StatusOK); got.text("status") != "running" || got.text("kind") != "bulkPush" {
			t.Errorf("the operation: %s", got.body)
		}
		other := s.again()
		locked := other.post(bulkImport, inHub()).wantError(http.StatusLocked, errs.Locked)
		if locked.text("details.reason") != "bulk_push_in_progress" {
			t.Errorf("locked: %s", locked.body)
		}
		root.post(bulkPush, map[string]any{"groups": []string{"base"}}).wantError(http.StatusLocked, errs.Locked)
		close(release)
		s.until(func() bool { return root.get(operation).text("status") == "succeeded" })
		s.wantBulkEvents("bulkPush", 1, 1, 1)
		if got := root.get(operation); got.text("result.pushedWorkspaceIds") == "" || got.length("result.errors") != 0 {
			t.Errorf("the operation: %s", got.body)
		}
	})
}

// holding stops requests of a kind until they are released, and tells of the first.
func holding(what string, arrived, release chan struct{}) func(http.Handler) http.Handler {
	told := false
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, what) && r.Method == http.MethodPost {
				if !told {
					told = true
					close(arrived)
				}
				<-release
			}
			next.ServeHTTP(w, r)
		})
	}
}

// until waits for a condition.
func (h *house) until(is func() bool) {
	h.t.Helper()
	deadline := time.After(time.Minute)
	for !is() {
		select {
		case <-deadline:
			h.t.Fatal("it never came to that")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestBulkStream(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		root.labelled("aa", "team:base")
		root.labelled("bb", "team:base")
		answer, end := s.streamed(root, `{"groups":["base"]}`) //nolint:bodyclose // end does
		defer end()
		if answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("content type %s", answer.Header.Get("Content-Type"))
		}
		var said []map[string]any
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			text, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var one map[string]any
			if err := json.Unmarshal([]byte(text), &one); err != nil {
				t.Fatal(err)
			}
			said = append(said, one)
		}
		if len(said) != 3 || said[0]["workspaceSlug"] != "aa" || said[1]["percentage"] != 100.0 || len(said[2]["pushedWorkspaceIds"].([]any)) != 2 {
			t.Errorf("it said %v", said)
		}
		refused, over := s.streamed(root, `{"groups":["base"],"planId":"x"}`) //nolint:bodyclose // over does
		defer over()
		if refused.StatusCode != http.StatusConflict {
			t.Errorf("a stale plan: status %d", refused.StatusCode)
		}
	})
}

// A client that goes away does not stop the operation.
func TestBulkStreamLeft(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		root.labelled("aa", "team:base")
		s.works(s.built.Sync) // what goes on is waited for
		arrived, release := make(chan struct{}), make(chan struct{})
		s.server.Wrap(holding("git-receive-pack", arrived, release))
		answer, end := s.streamed(root, `{"groups":["base"]}`)
		defer end()
		<-arrived
		_ = answer.Body.Close()
		close(release)
		s.until(func() bool { return root.get(platform).text("writeLock") == "" })
		s.wantBulkEvents("bulkPush", 1, 1, 1)
	})
}

func TestBulkDirectory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		dir := filepath.Join(t.TempDir(), "hub")
		onDisk(t, dir, joined(stored("aa", "v1", "base", "", ""), stored("bb", "v1", "base", "", "")))
		onDisk(t, dir, map[string]string{"bb/index.yml": "name: ["})
		if err := os.Symlink("aa", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		h.platform(map[string]string{
			"WORKSPACES_STORAGE_GIT_PLATFORM_hub_TYPE": "filesystem", "WORKSPACES_STORAGE_GIT_PLATFORM_hub_DIRPATH": dir, "WORKSPACES_GROUP_base_LABELS": "team:base",
		})
		root := h.superAdmin()
		root.post(bulkImport, inHub()).want(http.StatusOK).wantStatuses("aa=imported bb=error link=error")
		c := root.labelled("cc", "team:base")
		root.labelled("dd", "team:base")
		// A folder that is a link is an error of its workspace.
		if err := os.Symlink("aa", filepath.Join(dir, "dd")); err != nil {
			t.Fatal(err)
		}
		root.post(bulkPush, map[string]any{"groups": []string{"base"}}).want(http.StatusOK).wantStatuses("cc=pushed dd=error")
		if text, err := os.ReadFile(filepath.Join(dir, "cc", "automations", "hello.yml")); err != nil || !strings.Contains(string(text), "of cc") {
			t.Errorf("the directory has %s %v", text, err)
		}
		// One that is gone is an error of every workspace.
		root.automation(c, "hello", map[string]any{"description": "changed"})
		if err := os.Rename(dir, dir+"-gone"); err != nil {
			t.Fatal(err)
		}
		done := root.post(bulkPush, map[string]any{"groups": []string{"base"}}).want(http.StatusOK).wantStatuses("cc=error dd=error")
		if strings.Contains(done.body.String(), dir) {
			t.Errorf("it shows where the directory is: %s", done.body)
		}
		root.post(bulkImport, inHub()).wantError(http.StatusNotFound, errs.NotFound)
	})
}
