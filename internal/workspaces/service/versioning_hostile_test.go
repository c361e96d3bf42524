package service_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/errs"
)

// Only the operator configures directories: an index that was imported and names one opens nothing of the machine.
func TestDirectoryOfAnImportedIndex(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		folder := filepath.Join(t.TempDir(), "other")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "index.yml"), []byte("name: Somebody else's\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := ann.bring(newImport, pack("index.yml", "name: Mine\nrepositories: {main: {type: filesystem, config: {dirpath: "+folder+"}}}\n")).made()
		ann.push(at).want(http.StatusUnprocessableEntity)
		ann.pull(at).want(http.StatusUnprocessableEntity)
		ann.pull(at, "discardLocalChanges", true).want(http.StatusUnprocessableEntity)
		ann.pull(at, "dryRun", true).want(http.StatusUnprocessableEntity)
		ann.get(at + "/drift?repository=main").want(http.StatusUnprocessableEntity)
		ann.post(at+"/repositories/main/check", nil).want(http.StatusUnprocessableEntity)
		if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
			t.Errorf("something was written: %v %v", files, err)
		}
	})
}

// A pull that takes so long that its lock expires does not undo what somebody did then.
func TestEditWhileThePullIsTooSlow(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		s.deps.LockTimeout = 30 * time.Second // less than a client waits
		s.open()
		ann := s.user("ann")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		ann.push(here).want(http.StatusOK)
		text := strings.Replace(s.file("main", "automations/hello.yml"), "old", "new", 1)
		s.server.Commit("shared", "main", map[string][]byte{"automations/hello.yml": []byte(text)})
		ann.automation(here, "mine", map[string]any{"description": "before"}) // so that the pull saves it first
		reached, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		s.server.Wrap(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.RawQuery, "git-receive-pack") {
					once.Do(func() {
						close(reached)
						<-goOn
					})
				}
				next.ServeHTTP(w, r)
			})
		})
		done := make(chan *answer)
		go func() { done <- ann.pull(here) }()
		<-reached
		s.clk.Advance(40 * time.Second)
		ann.automation(here, "mine", map[string]any{"description": "after"})
		ann.automation(here, "added", map[string]any{})
		close(goOn)
		(<-done).wantError(http.StatusConflict, errs.Conflict)
		if after := ann.get(here + "/automations/mine"); after.text("description") != "after" {
			t.Errorf("the edit is lost: %s", after.body)
		}
		ann.get(here + "/automations/added").want(http.StatusOK)
	})
}

// A page that a rule takes away from somebody is not in what they clone.
func TestHiddenPagesAreNotCloned(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann, bob := f.user("ann"), f.user("bob")
		at := ann.bring(newImport, pack("index.yml", "name: Mine\n", "pages/p.yml", "name: p\nlabels: [private]\nblocks: []\n")).made()
		hides := rule("editor", "read", "pages")
		hides["inverted"], hides["conditions"] = true, map[string]any{"labels": map[string]any{"$in": []string{"private"}}}
		ann.put(at+"/security", document(map[string]any{"editor": map[string]any{}}, rule("editor", []string{"read", "update"}, []string{"workspaces", "pages"}), hides)).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		bob.get(at+"/export").wantError(http.StatusForbidden, errs.PermissionDenied)
		(&repo{t: t, folder: t.TempDir()}).refused([]string{"clone", f.listen(t, bob) + strings.TrimPrefix(at, workspacesPath)}, "403")
	})
}

// A value that the configuration calls secret does not become a part of the history that everybody can clone.
func TestGitPushOfASecretValue(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.bring(newImport, pack("index.yml", "name: Mine\nconfig: {schema: {key: {type: string, secret: true}}}\n")).made()
		mine := f.clone(t, ann, at)
		mine.write("index.yml", "name: Mine\nconfig: {schema: {key: {type: string, secret: true}}, value: {key: hunter2}}\n").commit().refused(push(), "config.value.key")
		mine.git("reset", "-q", "--hard", "HEAD^")
		mine.write("index.yml", "name: Mine\nconfig: {schema: {key: {type: string, secret: true}}, value: {key: '{{secret.key}}'}}\n").commit().git("push", "-q")
	})
}

// A pull that saved the workspace and was refused afterwards leaves nothing in the way of the next one, whatever is edited
// in between: what it saved is nobody's work.
func TestPullAfterOneThatWasRefused(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, bob := s.user("ann"), s.user("bob")
		here := s.linked(ann, "Here")
		ann.automation(here, "hello", map[string]any{"description": "old"})
		ann.post(here+"/pages", map[string]any{"slug": "p", "name": "p", "labels": []string{"fixed"}, "blocks": []any{}}).want(http.StatusCreated)
		pages := rule("editor", "update", "pages")
		pages["inverted"], pages["conditions"] = true, map[string]any{"labels": map[string]any{"$in": []string{"fixed"}}}
		ann.put(here+"/security", document(map[string]any{"editor": map[string]any{}}, rule("editor", []string{"read", "update"}, []string{"workspaces", "pages"}), pages)).want(http.StatusOK)
		ann.share(here, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.push(here).want(http.StatusOK)
		text := strings.Replace(s.file("main", "pages/p.yml"), "name: p", "name: q", 1)
		s.server.Commit("shared", "main", map[string][]byte{"pages/p.yml": []byte(text)})
		ann.automation(here, "hello", map[string]any{"description": "first"})
		bob.pull(here).wantError(http.StatusForbidden, errs.PermissionDenied)
		ann.automation(here, "hello", map[string]any{"description": "second"})
		ann.pull(here).want(http.StatusOK)
		if after := ann.get(here + "/automations/hello"); after.text("description") != "second" || ann.get(here+"/pages/p").text("name") != "q" {
			t.Errorf("%s", after.body)
		}
		ann.push(here).want(http.StatusOK)
	})
}

// What a pull left out, because its caller may not have it, is not overwritten by the next push.
func TestPushOverWhatNoPullTookUp(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, bob := s.user("ann"), s.user("bob")
		here := s.linked(ann, "Here")
		ann.share(here, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.push(here).want(http.StatusOK)
		theirs := "authorizations:\n  roles:\n    editor: {}\n    auditor: {}\n  rules: []\n"
		s.server.Commit("shared", "main", map[string][]byte{"security.yml": []byte(theirs)})
		pulled := bob.pull(here).want(http.StatusOK)
		if pulled.finding("permission_denied") == "" {
			t.Errorf("%s", pulled.body)
		}
		ann.put(here+"/security", document(map[string]any{"editor": map[string]any{}, "reader": map[string]any{}}, rule("editor", []string{"read", "update"}, "workspaces"))).want(http.StatusOK)
		ann.push(here).wantError(http.StatusConflict, errs.Conflict)
		if got := s.file("main", "security.yml"); got != theirs {
			t.Errorf("the branch has %s", got)
		}
	})
}
