package crash_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"atelier/internal/failpoint/failpointtest"
	"atelier/test/internal/server"
)

// armed makes the program that can be killed at a step, once for all tests.
var armed = sync.OnceValues(func() (string, error) {
	return server.Build(context.Background(), builds, false, "failpoint")
})

// unlockedWithin is how soon after a restart nothing of an interrupted operation may be in anybody's way.
const unlockedWithin = 10 * time.Second

// The documents of the workspace before an import, and of the archive.
func oldDocuments() map[string]string {
	return map[string]string{"index.yml": "name: Shop\nslug: shop\n", "automations/kept.yml": "name: kept\ndo: []\n", "automations/changed.yml": "name: before\ndo: []\n"}
}

func newDocuments() map[string]string {
	return map[string]string{
		"index.yml": "# imported\nname: Shop 2\nslug: shop\n", "automations/changed.yml": "name: after\ndo: []\n", "pages/home.yml": "name: Home\nblocks: []\n",
		"security.yml": "authorizations:\n  roles: {agent: {}}\n  rules: []\n",
	}
}

// TestKilledDuringImport kills the server at every step of an import, into a workspace and as a new one. Afterwards the
// workspace is wholly what it was or wholly what was imported, nobody is locked out, and the import can be done again.
func TestKilledDuringImport(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	program, err := armed()
	if err != nil {
		t.Fatal(err)
	}
	h.program = program
	base := h.prepare(t)
	fired := map[string]bool{}
	for _, point := range failpointtest.Points(t, "../..", "import.") {
		fired[point] = false
		for _, kind := range []*importKind{{name: "into", path: "/v2/workspaces/slug:shop/import?prune=true", slug: "shop"}, {name: "new", path: "/v2/workspaces/import", slug: "fresh"}} {
			t.Run(point+" "+kind.name, func(t *testing.T) {
				h.restore(t, base)
				if h.killedAt(t, point, kind) {
					fired[point] = true
					h.recovered(t, kind, point == "import.committed")
				}
				h.kill()
			})
		}
	}
	for point, did := range fired {
		if !did {
			t.Errorf("%s was never reached", point)
		}
	}
}

// importKind is one of the two ways to import.
type importKind struct{ name, path, slug string }

// before and after are the documents of the workspace that is imported into; before there is a new one it has none.
func (k *importKind) before() map[string]string {
	if k.name == "new" {
		return nil
	}
	return oldDocuments()
}

func (k *importKind) after() map[string]string {
	documents := newDocuments()
	documents["index.yml"] = strings.ReplaceAll(documents["index.yml"], "slug: shop", "slug: "+k.slug)
	return documents
}

// prepare makes a data directory with one workspace, stops, and keeps a copy.
func (h *house) prepare(t *testing.T) string {
	t.Helper()
	h.start(t)
	h.signIn(t)
	if status, _, err := h.bring(t.Context(), "/v2/workspaces/import", oldDocuments()); err != nil || status != http.StatusOK {
		t.Fatalf("the first import: %d %v", status, err)
	}
	return h.stopped(t)
}

// stopped ends the program in the ordinary way and keeps a copy of its data.
func (h *house) stopped(t *testing.T) string {
	t.Helper()
	if err := h.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := h.process.Wait(t.Context()); err != nil || code != 0 {
		t.Fatalf("exit code %d, error %v\n%s", code, err, h.logs(t))
	}
	base := filepath.Join(t.TempDir(), "base")
	if err := os.CopyFS(base, os.DirFS(h.dir)); err != nil {
		t.Fatal(err)
	}
	return base
}

// restore makes the data directory what it was.
func (h *house) restore(t *testing.T, base string) {
	t.Helper()
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(h.dir, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// killedAt imports while the program is to die at a point, and tells whether it did.
func (h *house) killedAt(t *testing.T, point string, kind *importKind) bool {
	t.Helper()
	ordinary := h.env
	h.env = append(slices.Clone(ordinary), "FAILPOINT="+point)
	h.start(t)
	h.env = ordinary
	status, body, err := h.bring(t.Context(), kind.path, kind.after())
	if err == nil {
		if status != http.StatusOK {
			t.Fatalf("the import: %d %s", status, body)
		}
		h.wantWhole(t, kind, kind.after())
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

// recovered starts the program again and looks at what it finds. What was committed must be there.
func (h *house) recovered(t *testing.T, kind *importKind, committed bool) {
	t.Helper()
	h.start(t)
	deadline := time.Now().Add(unlockedWithin)
	for {
		var shown struct{ WriteLock any }
		read(t, h, "/v2/workspaces/slug:shop", &shown)
		if shown.WriteLock == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still locked after %v: %v", unlockedWithin, shown.WriteLock)
		}
		wait(50 * time.Millisecond)
	}
	want := kind.before()
	if committed {
		want = kind.after()
	}
	h.wantWhole(t, kind, want)
	if status, body, err := h.bring(t.Context(), kind.path, kind.after()); err != nil || status != http.StatusOK {
		t.Fatalf("the import again: %d %s %v", status, body, err)
	}
	h.wantWhole(t, kind, kind.after())
}

func (h *house) idOf(t *testing.T, slug string) string {
	t.Helper()
	var found []struct{ ID string }
	read(t, h, "/v2/workspaces?slug="+slug, &found)
	if len(found) == 0 {
		return ""
	}
	return found[0].ID
}

// wantWhole fails unless the workspace has exactly these documents, and its history, its status and its events agree.
func (h *house) wantWhole(t *testing.T, kind *importKind, want map[string]string) {
	t.Helper()
	id := h.idOf(t, kind.slug)
	if want == nil || id == "" {
		if want != nil || id != "" {
			t.Fatalf("the workspace is %q, want the documents %v", id, slices.Sorted(maps.Keys(want)))
		}
		return
	}
	got := h.exported(t, id)
	if _, given := want["security.yml"]; !given {
		delete(got, "security.yml")
	}
	if !maps.Equal(got, want) {
		t.Errorf("the documents are\n%v\nwant\n%v", got, want)
	}
	imported := maps.Equal(want, kind.after())
	var history []struct {
		Reason   string
		Revision int64
	}
	read(t, h, "/v2/workspaces/"+id+"/history", &history)
	imports := 0
	for _, edit := range history {
		if edit.Reason == "import" {
			imports++
		}
	}
	events := len(readEvents(t, h, id, "workspaces.imported"))
	wanted := 1
	if kind.name == "into" && imported {
		wanted = 2
	}
	if imports != wanted || events < wanted || !imported && events != wanted { // an import that changes nothing is told too
		t.Errorf("%d edits and %d events by imports, want %d", imports, events, wanted)
	}
	var status struct{ Changes []any }
	read(t, h, "/v2/workspaces/"+id+"/status", &status)
	if len(status.Changes) != 0 {
		t.Errorf("changed since the last import: %v", status.Changes)
	}
}

// exported is the documents of a workspace by the names of their files.
func (h *house) exported(t *testing.T, id string) map[string]string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/v2/workspaces/"+id+"/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	answer, err := h.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	documents := map[string]string{}
	for _, file := range archive.File {
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		if name, _ := strings.CutPrefix(file.Name, "current/"); name != ".import.yml" {
			documents[name] = string(text)
		}
	}
	return documents
}

// bring imports documents. An error means that the server is gone.
func (h *house) bring(ctx context.Context, path string, documents map[string]string) (status int, body string, err error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		file, failure := w.Create("current/" + name)
		if failure == nil {
			_, failure = io.WriteString(file, documents[name])
		}
		err = errors.Join(err, failure)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return 0, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+path, &packed)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/zip")
	r.Header.Set("Authorization", "Bearer "+h.token)
	answer, err := h.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == http.StatusOK && !json.Valid(text) {
		err = io.ErrUnexpectedEOF
	}
	return answer.StatusCode, string(text), err
}
