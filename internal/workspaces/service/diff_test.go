package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
	"atelier/internal/workspaces/service"
)

// comparison is an answer of a comparison.
type comparison struct {
	From, To  string
	Documents []struct {
		Path, Status, Text    string
		Insertions, Deletions int
		Keys                  []struct {
			Path, Kind string
			From, To   json.RawMessage
		}
	}
}

func compared(t *testing.T, a *answer) comparison {
	t.Helper()
	var c comparison
	if err := json.Unmarshal(a.want(http.StatusOK).body.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Any two states can be compared, and the text of the comparison turns the one into the other.
func TestDiffBetweenStates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		states := map[string]map[string]string{}
		files := func() map[string]string { return listing(unpack(t, ann.export(at)).Files) }
		ann.bring(at+"/import?prune=true", zipped(t, archivetest.Workspace(14), nil)).want(http.StatusOK)
		states["lastImport"] = files()
		ann.put(at+"/automations/added%20one", map[string]any{"name": "added", "do": []any{}}).want(http.StatusCreated)
		ann.post(at+"/versions", map[string]any{"name": "v1"}).want(http.StatusCreated)
		states["v1"] = files()
		h.clk.Advance(1e9)
		first := archivetest.Workspace(14)[0]
		ann.delete(at + "/" + strings.ReplaceAll(first.Path, " ", "%20")).want(http.StatusOK)
		ann.patch(at, map[string]any{"description": "changed\n", "config": map[string]any{"value": map[string]any{"a": 1}}}).want(http.StatusOK)
		ann.post(at+"/versions", map[string]any{"name": "v2"}).want(http.StatusCreated)
		states["latest"], states["v2"] = files(), files()
		ann.put(at+"/pages/home", map[string]any{"name": "Home", "blocks": []any{map[string]any{"slug": "RichText", "content": "a\nb"}}}).want(http.StatusCreated)
		states["current"] = files()
		archived := archivetest.Workspace(15)
		raw := zipped(t, archived, nil)
		states["archive"] = listing(archived)
		for from, before := range states {
			for to, after := range states {
				query := at + "/diff?from=" + from + "&to=" + to
				var got comparison
				if from == "archive" || to == "archive" {
					got = compared(t, ann.bring(query, raw))
				} else {
					got = compared(t, ann.get(query))
				}
				if got.From != from || got.To != to {
					t.Errorf("%s to %s: %s to %s", from, to, got.From, got.To)
				}
				checkComparison(t, got, before, after)
			}
		}
		if got := compared(t, ann.get(at+"/diff")); got.From != "lastImport" || got.To != "current" {
			t.Errorf("what is compared when nobody says: %s to %s", got.From, got.To)
		}
		if got := compared(t, ann.bring(at+"/diff", raw)); got.From != "archive" || got.To != "current" {
			t.Errorf("what an archive is compared with when nobody says: %s to %s", got.From, got.To)
		}
		if got := compared(t, ann.bring(at+"/diff?to=archive", raw)); got.From != "current" || got.To != "archive" {
			t.Errorf("what becomes an archive when nobody says: %s to %s", got.From, got.To)
		}
	})
}

// checkComparison lets git make the one state out of the other.
func checkComparison(t *testing.T, got comparison, before, after map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range before {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var patch strings.Builder
	for _, document := range got.Documents {
		patch.WriteString(document.Text)
		added, removed := strings.Count(document.Text, "\n+"), strings.Count(document.Text, "\n-")
		if document.Text == "" || document.Insertions > added || document.Deletions > removed {
			t.Errorf("%s: +%d -%d\n%s", document.Path, document.Insertions, document.Deletions, document.Text)
		}
	}
	if patch.Len() > 0 {
		git := exec.CommandContext(t.Context(), "git", "apply", "-p1", "--whitespace=nowarn", "-") //nolint:forbidigo // the judge of patches
		git.Dir, git.Stdin = dir, strings.NewReader(patch.String())
		git.Env = append(git.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%s to %s: %v %s\n%s", got.From, got.To, err, out, patch.String())
		}
	}
	now := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		now[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if problem := difference(now, after); problem != "" {
		t.Errorf("%s to %s: %s", got.From, got.To, problem)
	}
}

// The view by key paths says what a change means, and nothing when it means nothing.
func TestDiffByKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		const index = "name: Mine\n"
		at := ann.bring(newImport, pack("index.yml", index, "automations/a.yml", "name: a\ndo:\n  - set: {name: x, value: 1}\n", "automations/gone.yml", "name: gone\ndo: []\n", "pages/same.yml", "name: same\nblocks: []\n")).made()
		raw := pack("index.yml", index, "automations/a.yml", "# said\nname: a\ndo:\n  - set: {name: x, value: 2}\n  - break: {}\n", "automations/new.yml", "name: new\ndo: []\n",
			"pages/same.yml", "# only a comment\nname:   same\nblocks: []\n", "pages/other.yml", "slug: moved\nname: other\nblocks: []\n")
		got := compared(t, ann.bring(at+"/diff?from=current&to=archive", raw))
		said := map[string]string{}
		for _, document := range got.Documents {
			var keys []string
			for _, key := range document.Keys {
				keys = append(keys, key.Kind+" "+key.Path+" "+string(key.From)+">"+string(key.To))
			}
			said[document.Path] = document.Status + ": " + strings.Join(keys, "; ")
		}
		for path, want := range map[string]string{
			"automations/a": "changed: changed do[0].set.value 1>2; added do[1] >{\"break\":{}}", "automations/gone": "removed: ", "automations/new": "added: ", "pages/same": "changed: ", "pages/moved": "added: ",
			"security": "removed: ",
		} {
			if !strings.HasPrefix(said[path], want) {
				t.Errorf("%s: %q, want %q", path, said[path], want)
			}
		}
		if len(said) != 6 || said["pages/same"] != "changed: " {
			t.Errorf("%v", said)
		}
		ann.bring(at+"/import?prune=true", raw).want(http.StatusOK)
		if left := compared(t, ann.bring(at+"/diff", raw)); len(left.Documents) != 1 || left.Documents[0].Path != "security" {
			t.Errorf("after the import only what the archive does not have is different: %+v", left)
		}
	})
}

func TestDiffOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, eve := h.user("ann"), h.user("eve")
		at := ann.workspace("Mine")
		raw := pack("index.yml", "name: Mine\n")
		for query, says := range map[string]string{
			"?from=lastPush": "has not been pushed", "?from=lastImport": "Nothing has been imported", "?from=latest": "no version yet", "": "Nothing has been imported",
			"?from=nope": "does not exist", "?to=nope": "Nothing has been imported", "?from=current&to=nope": "does not exist", "?from=current&to=lastPush": "has not been pushed", "?from=current&to=..": "does not exist",
			"?from=current&to=a%2Fb": "does not exist", "?from=current&to=Current": "does not exist", "?from=current&to=%27": "does not exist",
		} {
			if refused := ann.get(at+"/diff"+query).wantError(http.StatusNotFound, errs.NotFound); !strings.Contains(refused.text("message"), says) {
				t.Errorf("%s: %s", query, refused.body)
			}
		}
		ann.bring(at+"/diff?to=nope", raw).wantError(http.StatusNotFound, errs.NotFound)
		ann.bring(at+"/diff?to="+strings.Repeat("v", 5000), raw).wantError(http.StatusNotFound, errs.NotFound)
		ann.bring(at+"/diff?from=current&to=current", raw).wantError(http.StatusBadRequest, errs.InvalidParameter)
		ann.get(at+"/diff?from=archive").wantError(http.StatusBadRequest, errs.InvalidParameter)
		ann.get(at+"/diff?from=current&to=archive").wantError(http.StatusBadRequest, errs.InvalidParameter)
		for _, name := range []string{"current", "latest", "lastPush", "lastImport", "archive"} { // versions cannot be called like states
			ann.post(at+"/versions", map[string]any{"name": name}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("name")
		}
		for _, refused := range []*answer{eve.get(at + "/diff"), eve.bring(at+"/diff", raw), eve.bring(at+"/diff", []byte("no archive")), eve.get(at + "/status"), eve.get(workspacesPath + "nosuch1/status")} {
			refused.wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		}
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		if none := ann.get(at + "/status").want(http.StatusOK); none.at("version") != nil || len(none.list("changes"))+len(none.list("errors"))+len(none.list("automations")) != 0 || none.at("dirty") != true {
			t.Errorf("before anything was imported: %s", none.body)
		}
		files := []archive.File{
			{Path: "automations/a", Ext: ".yml", Text: []byte("name: a\ndo: []\n")},
			{Path: "automations/b", Ext: ".yml", Text: []byte("name: b\nstrange: 1\ndo: []\n")},
			{Path: "imports/i", Ext: ".yml", Text: []byte("appSlug: Custom Code\n")},
			{Path: "index", Ext: ".yml", Text: []byte("name: Mine\n")},
			{Path: "pages/p", Ext: ".yml", Text: []byte("name: p\nblocks: []\n")},
		}
		ann.bring(at+"/import", zipped(t, files, nil)).want(http.StatusOK)
		h.pushed(at)
		status := ann.get(at + "/status").want(http.StatusOK)
		if status.text("version.type") != "import" || status.text("version.importedAt") != "2026-03-01T12:00:00Z" || status.finding("unknown_key") == "" || len(status.list("changes")) != 0 || status.at("dirty") != false {
			t.Errorf("after the import: %s", status.body)
		}
		for kind, slugs := range map[string]string{"automations": "[map[slug:a] map[slug:b]]", "imports": "[map[slug:i]]", "pages": "[map[slug:p]]"} {
			if got := strings.Join(status.list(kind), " "); "["+got+"]" != slugs {
				t.Errorf("%s: %s", kind, got)
			}
		}
		ann.put(at+"/automations/a", map[string]any{"name": "other", "do": []any{}}).want(http.StatusOK)
		ann.delete(at + "/automations/b").want(http.StatusOK)
		ann.put(at+"/pages/q", map[string]any{"name": "q", "blocks": []any{}}).want(http.StatusCreated)
		ann.patch(at, map[string]any{"description": "x"}).want(http.StatusOK)
		status = ann.get(at + "/status").want(http.StatusOK)
		var said []string
		for i := range status.list("changes") {
			change, _ := status.at("changes").([]any)[i].(map[string]any)
			slug, _ := change["slug"].(string)
			_, current := change["currentChecksum"]
			_, expected := change["expectedChecksum"]
			said = append(said, change["type"].(string)+"/"+slug+map[bool]string{true: " now", false: ""}[current]+map[bool]string{true: " then", false: ""}[expected])
			if current && change["updatedBy"] != "ann" {
				t.Errorf("by whom: %v", change)
			}
		}
		slices.Sort(said)
		if got := strings.Join(said, ", "); got != "automations/a now then, automations/b then, index/ now then, pages/q now" || status.at("dirty") != true {
			t.Errorf("%s: %s", got, status.body)
		}
		if change := status.at("changes.0").(map[string]any); change["expectedChecksum"] != archive.Checksum(files[0].Text) || change["currentChecksum"] == change["expectedChecksum"] {
			t.Errorf("%v", change)
		}
	})
}

// A document whose file has another extension is moved, also when its text is the same.
func TestDiffOfAnotherExtension(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		before := map[string]string{"index.yml": "name: Mine\n", "pages/a b.yml": "name: a\nblocks: []\n", "pages/c.yml": "name: c\nblocks: []\n"}
		after := map[string]string{"index.json": `{"name": "Mine"}`, "pages/a b.yaml": "name: a\nblocks: []\n", "pages/c.yaml": "name: c2\nblocks: []\n"}
		packed := func(files map[string]string) []byte {
			var names []string
			for name, text := range files {
				names = append(names, name, text)
			}
			return pack(names...)
		}
		ann.bring(at+"/import", packed(before)).want(http.StatusOK)
		got := compared(t, ann.bring(at+"/diff?to=archive", packed(after)))
		if len(got.Documents) != 4 { // and the security, which the archive does not have
			t.Errorf("%+v", got)
		}
		before["security.yml"] = unzip(t, ann.export(at))["current/security.yml"]
		checkComparison(t, got, before, after)
		if done := ann.bring(at+"/import", packed(after)).want(http.StatusOK); len(done.list("imported")) != 3 || len(done.list("deleted")) != 0 {
			t.Errorf("%s", done.body)
		}
		if now := unzip(t, ann.export(at)); now["current/pages/a b.yaml"] == "" || now["current/pages/a b.yml"] != "" || now["current/index.json"] != after["index.json"] {
			t.Errorf("%v", now)
		}
	})
}

// A comparison of very much says what differs, and does not show all of it.
func TestLargeDiffs(t *testing.T) {
	t.Parallel()
	h := newHouse(t, sqldbtest.SQLite(t, sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), service.Migrations()))
	ann := h.user("ann")
	at := ann.workspace("Mine")
	text := long()[:1<<20-200]
	archived := func(begin string) []byte {
		entries := []archivetest.Entry{{Name: "index.yml", Text: []byte("name: Mine\n")}}
		for i := range 3 {
			entries = append(entries, archivetest.Entry{Name: fmt.Sprintf("automations/a%d.json", i), Text: fmt.Appendf(nil, `{"name":"a","do":[],"description":"%s%d %s"}`, begin, i, text)})
		}
		return archivetest.Zip(entries...)
	}
	ann.bring(at+"/import", archived("before")).want(http.StatusOK)
	answer := ann.bring(at+"/diff?to=archive", archived("after"))
	got := compared(t, answer)
	shown, omitted := 0, 0
	for _, document := range got.Documents {
		if document.Text == "" {
			omitted++
		} else {
			shown++
		}
		if document.Path != "security" && (document.Insertions != 1 || document.Deletions != 1 || document.Status != "changed") {
			t.Errorf("%s: %s +%d -%d", document.Path, document.Status, document.Insertions, document.Deletions)
		}
	}
	if len(got.Documents) != 4 || shown < 1 || omitted < 2 || answer.body.Len() > 10<<20 {
		t.Errorf("%d shown, %d omitted, %d bytes", shown, omitted, answer.body.Len())
	}
}
