package crash_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/failpoint/failpointtest"
	"atelier/internal/gitcmd/gittest"
)

// TestKilledDuringVersioning kills the server at every step of a push, of a pull with and without a conflict, and of the
// settling of one. Afterwards nobody is locked out for longer than ten seconds, a push is recorded exactly when the branch has
// it, a workspace is wholly what it was or wholly what was pulled, and the operation can be done again.
func TestKilledDuringVersioning(t *testing.T) {
	t.Parallel()
	v := newVersioned(t)
	fired := map[string]bool{}
	for _, prefix := range []string{"versioning.", "push.", "pull.", "resolve."} {
		for _, point := range failpointtest.Points(t, "../..", prefix) {
			fired[point] = false
			for _, act := range acts(point) {
				t.Run(point+" "+act, func(t *testing.T) {
					if v.killedAt(t, point, act) {
						fired[point] = true
					}
				})
			}
		}
	}
	for point, did := range fired {
		if !did {
			t.Errorf("%s was never reached", point)
		}
	}
}

// acts are what reaches a point.
func acts(point string) []string {
	switch point {
	case "versioning.locked":
		return []string{"push", "pull", "resolve"}
	case "pull.looked":
		return []string{"pull", "conflict"}
	case "pull.blocking":
		return []string{"conflict"}
	case "pull.imported":
		return []string{"pull", "resolve"}
	default:
		prefix, _, _ := strings.Cut(point, ".")
		return []string{prefix}
	}
}

// versioned is a house with a git server beside it, and a new workspace with a new repository for every kill.
type versioned struct {
	*house

	git   *gittest.Server
	count int
}

func newVersioned(t *testing.T) *versioned {
	t.Helper()
	h := newHouse(t)
	program, err := armed()
	if err != nil {
		t.Fatal(err)
	}
	git := gittest.HTTPS(t)
	h.program = program
	h.env = append(h.env, "EXTRA_CA_CERTS="+git.CAFile, "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8", "WORKSPACES_DRIFT_INTERVAL=0s")
	h.start(t)
	h.signIn(t)
	return &versioned{house: h, git: git}
}

const (
	oldText    = "name: hello\ndescription: old\ndo: []\n"
	theirText  = "name: hello\ndescription: theirs\ndo: []\n"
	otherKey   = "name: hello\ndescription: old\nlabels: [theirs]\ndo: []\n"
	automation = "automations/hello.yml"
)

// prepareFor makes a workspace, and a repository that was changed since, so that the act has something to do.
func (v *versioned) prepareFor(t *testing.T, act string) (at, repo string) {
	t.Helper()
	v.count++
	repo = "r" + string(rune('a'+v.count/26)) + string(rune('a'+v.count%26))
	v.git.Create(repo)
	remote := v.git.Remote(repo)
	var made struct{ ID string }
	v.want(t, http.MethodPost, "/v2/workspaces", map[string]any{"name": repo}, &made, http.StatusCreated)
	at = "/v2/workspaces/" + made.ID
	v.want(t, http.MethodPatch, at, map[string]any{"repositories": map[string]any{"main": map[string]any{"name": "Main", "config": map[string]any{
		"url": remote.URL, "branch": "main", "auth": map[string]any{"user": remote.User, "password": remote.Password},
	}}}}, nil, http.StatusOK)
	v.want(t, http.MethodPost, at+"/automations", map[string]any{"slug": "hello", "name": "hello", "description": "old", "do": []any{}}, nil, http.StatusCreated)
	v.want(t, http.MethodPost, at+"/push", toMain("first"), nil, http.StatusOK)
	v.want(t, http.MethodPatch, at+"/automations/hello", map[string]any{"description": "ours"}, nil, http.StatusOK)
	switch act {
	case "pull":
		v.git.Commit(repo, "main", map[string][]byte{automation: []byte(otherKey)})
	case "conflict", "resolve":
		v.git.Commit(repo, "main", map[string][]byte{automation: []byte(theirText)})
	}
	if act == "resolve" {
		v.want(t, http.MethodPost, at+"/pull", toMain(""), nil, http.StatusConflict)
	}
	return at, repo
}

func toMain(name string) map[string]any {
	body := map[string]any{"repository": map[string]any{"id": "main"}}
	if name != "" {
		body["name"] = name
	}
	return body
}

func (v *versioned) want(t *testing.T, method, path string, body, into any, status int) {
	t.Helper()
	var raw json.RawMessage
	got, err := v.call(t.Context(), method, path, "", body, &raw)
	if got != status {
		t.Fatalf("%s %s: %d %v %s, want %d", method, path, got, err, raw, status)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
}

// killedAt does the act while the program is to die at a point, and looks at what became of it. It tells whether it died.
func (v *versioned) killedAt(t *testing.T, point, act string) bool {
	t.Helper()
	at, repo := v.prepareFor(t, act)
	v.kill()
	ordinary := v.env
	v.env = append(slices.Clone(ordinary), "FAILPOINT="+point)
	v.start(t)
	v.env = ordinary
	path, body := at+"/push", toMain("second")
	switch act {
	case "pull", "conflict":
		path, body = at+"/pull", toMain("")
		delete(body, "name")
	case "resolve":
		path, body = at+"/conflicts/resolve", map[string]any{"all": "theirs"}
	}
	_, err := v.call(t.Context(), http.MethodPost, path, "", body, &json.RawMessage{})
	died := err != nil // nobody answered
	v.kill()
	v.start(t)
	v.settle(t, at, repo, act, path, body)
	return died
}

// seen is what a workspace says of itself.
type seen struct {
	Dirty     bool
	LastPush  *struct{ Version string }
	WriteLock *struct{ Reason string }
}

// settle looks at the workspace after a restart, and does the act again.
func (v *versioned) settle(t *testing.T, at, repo, act, path string, body map[string]any) {
	t.Helper()
	w := v.unlocked(t, at)
	var doc struct {
		Description string
		Labels      []string
	}
	v.want(t, http.MethodGet, at+"/automations/hello", nil, &doc, http.StatusOK)
	branch := gittest.Run(t, v.git.Path(repo), "show", "main:"+automation)
	switch act {
	case "push":
		there := strings.Contains(branch, "ours")
		if recorded := w.LastPush.Version == "second"; recorded != there || w.Dirty == there {
			t.Errorf("the branch has it: %v, recorded: %v, dirty: %v", there, recorded, w.Dirty)
		}
		if there {
			return
		}
	case "pull":
		if doc.Description != "ours" || !strings.Contains(branch, "theirs") {
			t.Errorf("%+v, branch %s", doc, branch)
		}
	case "conflict", "resolve":
		if resolved := doc.Description == "theirs"; doc.Description != "ours" && !resolved || resolved && w.WriteLock != nil {
			t.Errorf("%+v %+v", doc, w)
		}
		if doc.Description == "theirs" {
			return
		}
	}
	want := http.StatusOK
	if act == "conflict" {
		want = http.StatusConflict
	}
	v.want(t, http.MethodPost, path, body, nil, want)
	gittest.Run(t, v.git.Path(repo), "fsck", "--strict", "--no-progress")
}

// unlocked waits until nothing of an interrupted operation is in the way.
func (v *versioned) unlocked(t *testing.T, at string) seen {
	t.Helper()
	until := time.Now().Add(unlockedWithin)
	for {
		var w seen
		v.want(t, http.MethodGet, at, nil, &w, http.StatusOK)
		if w.WriteLock == nil || w.WriteLock.Reason == "merge_conflict" {
			return w
		}
		if time.Now().After(until) {
			t.Fatalf("still locked after %v: %s", unlockedWithin, w.WriteLock.Reason)
		}
		wait(100 * time.Millisecond)
	}
}
