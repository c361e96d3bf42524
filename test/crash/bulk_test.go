package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/failpoint/failpointtest"
	"atelier/internal/gitcmd/gittest"
)

// fleet is how many workspaces a bulk operation of these tests has.
const fleet = 3

// TestKilledDuringBulk kills the server at every step of a bulk push and of a bulk import, at each of their workspaces. After a
// restart the operation goes on: every workspace is dealt with once, the end is told once, and nothing stays locked.
func TestKilledDuringBulk(t *testing.T) {
	t.Parallel()
	program, err := armed()
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t)
	h.program = program
	git := gittest.HTTPS(t)
	git.Create("hub")
	remote := git.Remote("hub")
	h.env = append(h.env, "EXTRA_CA_CERTS="+git.CAFile, "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8", "WORKSPACES_GROUP_all_LABELS=team:all",
		"WORKSPACES_STORAGE_GIT_PLATFORM_hub_URL="+remote.URL, "WORKSPACES_STORAGE_GIT_PLATFORM_hub_AUTH_USER="+remote.User,
		"WORKSPACES_STORAGE_GIT_PLATFORM_hub_AUTH_PASSWORD="+remote.Password)
	base := h.fleet(t)
	fired := map[string]bool{}
	push, bring := &bulkKind{operation: "bulkPush", path: "/v2/workspaces/platform/versions"}, &bulkKind{operation: "bulkImport", path: "/v2/workspaces/platform/versions/latest/pull"}
	for _, point := range append(failpointtest.Points(t, "../..", "bulk."), "push.planned", "push.sent", "push.recorded", "pull.looked", "pull.imported") {
		fired[point] = false
		for _, kind := range []*bulkKind{push, bring} {
			for k := 1; k <= kind.times(point); k++ {
				if k != min(2, kind.times(point)) && number(t, "CRASH_ALL", 0) == 0 {
					continue // one in the middle says most of it; make crash has them all
				}
				at := fmt.Sprintf("%s#%d", point, k)
				t.Run(kind.operation+" "+at, func(t *testing.T) {
					h.restore(t, base)
					kind.prepare(t, git)
					if h.bulkKilledAt(t, at, kind) {
						fired[point] = true
						h.start(t)
					}
					h.bulkEnded(t, kind, git)
					h.kill()
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

// bulkKind is one of the two bulk operations.
type bulkKind struct{ operation, path string }

// times is how often a point is reached in the operation.
func (k *bulkKind) times(point string) int {
	pushes := k.operation == "bulkPush"
	switch room, _, _ := strings.Cut(point, "."); {
	case room == "push" && !pushes, room == "pull" && pushes, point == "bulk.created" && pushes:
		return 0
	case room == "bulk" && point != "bulk.created" && point != "bulk.done" && point != "bulk.recorded":
		return 1
	default:
		return fleet
	}
}

func slugOf(i int) string { return fmt.Sprintf("ship-%d", i) }

// prepare makes the repository what it was before.
func (k *bulkKind) prepare(t *testing.T, git *gittest.Server) {
	t.Helper()
	for line := range strings.Lines(gittest.Run(t, git.Path("hub"), "for-each-ref", "--format=%(refname)")) {
		gittest.Run(t, git.Path("hub"), "update-ref", "-d", strings.TrimSpace(line))
	}
	if k.operation == "bulkPush" {
		return
	}
	files := map[string][]byte{}
	for i := range fleet {
		slug := "new-" + slugOf(i)
		files[slug+"/index.yml"] = []byte("name: " + slug + "\nslug: " + slug + "\n")
		files[slug+"/automations/a.yml"] = []byte("slug: a\nname: a\ndo: []\n")
		files[slug+"/.import.yml"] = []byte("version: {name: v1}\ngroups: [all]\n")
	}
	git.Commit("hub", "main", files)
}

// fleet makes a data directory with workspaces, stops, and keeps a copy.
func (h *house) fleet(t *testing.T) string {
	t.Helper()
	h.start(t)
	h.signIn(t)
	for i := range fleet {
		body := map[string]any{"name": slugOf(i), "slug": slugOf(i), "labels": []string{"team:all"}}
		if status, err := h.call(t.Context(), http.MethodPost, "/v2/workspaces", "", body, &struct{}{}); err != nil || status != http.StatusCreated {
			t.Fatalf("create: %d %v", status, err)
		}
	}
	return h.stopped(t)
}

// bulkKilledAt starts a bulk operation while the program is to die at a point, and tells whether it did.
func (h *house) bulkKilledAt(t *testing.T, point string, kind *bulkKind) bool {
	t.Helper()
	ordinary := h.env
	h.env = append(slices.Clone(ordinary), "FAILPOINT="+point)
	h.start(t)
	h.env = ordinary
	body := map[string]any{"groups": []string{"all"}, "repository": map[string]any{"id": "hub"}, "name": "v1", "forceReimport": true}
	if kind.operation == "bulkImport" {
		delete(body, "name")
	} else {
		delete(body, "forceReimport")
	}
	var answer json.RawMessage
	status, err := h.call(t.Context(), http.MethodPost, kind.path+"?timeout=50", "", body, &answer)
	if err == nil {
		if status != http.StatusOK {
			t.Fatalf("the operation: %d %s", status, answer)
		}
		return false
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if code, err := h.process.Wait(ctx); err != nil || code != -1 {
		t.Fatalf("exit code %d, error %v: it did not die by a signal\n%s", code, err, h.logs(t))
	}
	h.client.CloseIdleConnections()
	return true
}

// bulkEnded waits for the end of the operation and holds what it did against what was promised.
func (h *house) bulkEnded(t *testing.T, kind *bulkKind, git *gittest.Server) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var shown struct{ WriteLock any }
		read(t, h, "/v2/workspaces/platform", &shown)
		if shown.WriteLock == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still locked: %v\n%s", shown.WriteLock, h.logs(t))
		}
		wait(50 * time.Millisecond)
	}
	events := func(step string) int { return len(readEvents(t, h, "platform", "workspaces."+kind.operation+"."+step)) }
	if started, progress, completed := events("started"), events("progress"), events("completed"); started != 1 || progress != fleet || completed != 1 {
		t.Errorf("%d started, %d progress, %d completed; want 1 %d 1", started, progress, completed, fleet)
	}
	if kind.operation == "bulkPush" {
		if n := gittest.Run(t, git.Path("hub"), "rev-list", "--count", "main"); n != fmt.Sprint(fleet) {
			t.Errorf("%s commits, want %d", n, fleet)
		}
		gittest.Run(t, git.Path("hub"), "fsck", "--strict")
	}
	for i := range fleet {
		slug := slugOf(i)
		if kind.operation == "bulkImport" {
			slug = "new-" + slug
		}
		id := h.idOf(t, slug)
		var shown struct {
			LastPush, LastPull struct{ Version string }
			Dirty              bool
			WriteLock          any
		}
		read(t, h, "/v2/workspaces/"+id, &shown)
		if shown.LastPush.Version+shown.LastPull.Version != "v1" || shown.Dirty || shown.WriteLock != nil {
			t.Errorf("%s: %+v", slug, shown)
		}
		if kind.operation == "bulkImport" {
			if n := len(readEvents(t, h, id, "workspaces.imported")); n != 1 {
				t.Errorf("%s was imported %d times", slug, n)
			}
		}
	}
}
