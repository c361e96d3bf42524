package service_test

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atelier/internal/dsul"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

// corpusSize is how many workspaces go in and out; a server of its own takes longer, so it gets fewer.
func corpusSize(h *house) uint64 {
	if h.db.Driver() == "sqlite" {
		return 200
	}
	return 20
}

// What went in comes out, byte for byte; what is there already changes nothing; a dry run tells what will happen.
func TestArchivesOfACorpus(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		chain := ann.workspace("Chain")
		for seed := range corpusSize(h) {
			files := archivetest.Workspace(seed)
			raw := zipped(t, files, &archive.ImportInfo{WorkspaceID: "other12", Version: archive.VersionInfo{Type: "export", Name: "v" + strconv.FormatUint(seed, 10)}})
			at := newWorkspace(t, ann, files, raw)
			if seed < 40 && seed%8 == 3 {
				unchanged(t, h, ann, at, files, raw)
				planned(t, h, ann, at, raw)
				replaced(t, h, ann, chain, files, raw)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

// newWorkspace imports an archive as a workspace, which then has the same documents and tells the same of itself. When it
// comes again nothing changes.
func newWorkspace(t *testing.T, c *caller, files []archive.File, raw []byte) string {
	t.Helper()
	done := c.bring(newImport, raw)
	at := done.made()
	if got := done.list("imported"); len(got) != len(files) || done.text("unchanged") != "0" {
		t.Errorf("imported %v, unchanged %s", got, done.text("unchanged"))
	}
	exported := unpack(t, c.export(at))
	sane(t, exported, strings.TrimPrefix(at, workspacesPath), files)
	got := listing(exported.Files)
	if problem := difference(got, withSecurityOf(got, files)); problem != "" {
		t.Errorf("%s: %s", at, problem)
	}
	again := c.bring(at+"/import?prune=true", raw).want(http.StatusOK)
	if len(again.list("imported"))+len(again.list("deleted")) != 0 || again.text("unchanged") != strconv.Itoa(len(files)) || !reflect.DeepEqual(again.at("workspace"), done.at("workspace")) {
		t.Errorf("imported again: %s\n%s", done.body, again.body)
	}
	return at
}

// sane looks at what an archive says of itself.
func sane(t *testing.T, exported *archive.Archive, id string, files []archive.File) {
	t.Helper()
	info := exported.Import
	if info == nil || info.WorkspaceID != id || info.Version.Type != "export" || info.Version.Name != "current" || info.Version.ExportedAt == nil || info.App != nil {
		t.Fatalf(".import.yml: %+v", info)
	}
	var needed []string
	sums := 0
	for _, file := range files {
		kind, slug, _ := dsul.SplitPath(file.Path)
		if kind.Single() {
			continue
		}
		sums++
		if info.Checksums[string(kind)][slug] != archive.Checksum(file.Text) {
			t.Errorf("the checksum of %s is %s", file.Path, info.Checksums[string(kind)][slug])
		}
		if doc, _ := dsul.Parse(kind, slug, file.Text); kind == dsul.Import && !slices.Contains(needed, "app/"+doc.Summary().AppSlug) {
			needed = append(needed, "app/"+doc.Summary().AppSlug)
		}
	}
	slices.Sort(needed)
	if !slices.Equal(info.DependsOn, needed) {
		t.Errorf("dependsOn %v, want %v", info.DependsOn, needed)
	}
	for _, kind := range info.Checksums {
		sums -= len(kind)
	}
	if sums != 0 {
		t.Errorf("there are %d checksums too few", sums)
	}
}

// unchanged imports what is there already into a workspace that is not dirty.
func unchanged(t *testing.T, h *house, c *caller, at string, files []archive.File, raw []byte) {
	t.Helper()
	h.pushed(at)
	before := c.get(at).want(http.StatusOK)
	if before.at("dirty") != false {
		t.Fatal("it is dirty, so the test shows nothing")
	}
	again := c.bring(at+"/import?prune=true", raw).want(http.StatusOK)
	if len(again.list("imported"))+len(again.list("deleted")) != 0 || again.text("unchanged") != strconv.Itoa(len(files)) {
		t.Errorf("imported again: %s", again.body)
	}
	after := c.get(at).want(http.StatusOK)
	if after.body.String() != before.body.String() || after.header.Get("ETag") != before.header.Get("ETag") {
		t.Errorf("something changed:\n%s %s\n%s %s", before.header.Get("ETag"), before.body, after.header.Get("ETag"), after.body)
	}
	h.wantUnlocked(c, at)
}

// planned tries an import that changes nothing, and one that makes another workspace under another slug.
func planned(t *testing.T, h *house, c *caller, at string, raw []byte) {
	t.Helper()
	plan := rehearsed(t, h, c, at+"/import?prune=true", raw)
	samePlan(t, plan, c.bring(at+"/import?prune=true", raw).want(http.StatusOK))
	plan = rehearsed(t, h, c, newImport, raw)
	samePlan(t, plan, c.bring(newImport, raw).want(http.StatusOK))
	if plan.finding("SlugAlreadyInUse") == "" {
		t.Errorf("the slug was free: %s", plan.body)
	}
}

// replaced imports an archive into a workspace that holds another one: first beside it, then in its place.
func replaced(t *testing.T, h *house, c *caller, at string, files []archive.File, raw []byte) {
	t.Helper()
	before := listing(unpack(t, c.export(at)).Files)
	plan := rehearsed(t, h, c, at+"/import", raw)
	done := c.bring(at+"/import", raw).want(http.StatusOK)
	samePlan(t, plan, done)
	if len(done.list("deleted")) != 0 {
		t.Errorf("deleted without being asked: %s", done.body)
	}
	united := map[string]string{}
	for name, text := range before {
		if path, _, _ := strings.Cut(name, "."); !has(files, path) {
			united[name] = text
		}
	}
	maps.Copy(united, listing(files))
	if problem := difference(listing(unpack(t, c.export(at)).Files), united); problem != "" {
		t.Fatalf("beside: %s", problem)
	}
	plan = rehearsed(t, h, c, at+"/import?prune=true", raw)
	done = c.bring(at+"/import?prune=true", raw).want(http.StatusOK)
	samePlan(t, plan, done)
	kept := files
	if !has(files, "security") {
		kept = append(slices.Clone(files), archive.File{Path: "security", Ext: ".yml", Text: []byte(securityOf(united))})
	}
	if problem := difference(listing(unpack(t, c.export(at)).Files), withSecurityOf(united, kept)); problem != "" {
		t.Fatalf("in its place: %s", problem)
	}
	h.wantUnlocked(c, at)
}

func has(files []archive.File, path string) bool {
	return slices.ContainsFunc(files, func(f archive.File) bool { return f.Path == path })
}

func securityOf(all map[string]string) string {
	for name, text := range all {
		if strings.HasPrefix(name, "security.") {
			return text
		}
	}
	return ""
}

// withSecurityOf is a listing whose security has the name that it has in another one.
func withSecurityOf(all map[string]string, files []archive.File) map[string]string {
	listed := listing(files)
	for name, text := range all {
		if strings.HasPrefix(name, "security.") && listed[name] == "" {
			delete(listed, "security.yml")
			listed[name] = text
		}
	}
	return listed
}

// rehearsed tells what an import would do, and fails when it does anything.
func rehearsed(t *testing.T, h *house, c *caller, path string, raw []byte) *answer {
	t.Helper()
	before := h.rows()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	plan := c.bring(path+separator+"dryRun=true", raw).want(http.StatusOK)
	if after := h.rows(); after != before {
		t.Fatalf("a dry run changed something:\n%s\n%s", before, after)
	}
	if plan.at("dryRun") != true || plan.at("workspace") != nil {
		t.Errorf("the plan: %s", plan.body)
	}
	return plan
}

// samePlan fails unless an import did what was told before.
func samePlan(t *testing.T, plan, done *answer) {
	t.Helper()
	if done.at("dryRun") != nil {
		t.Errorf("it was only a plan: %s", done.body)
	}
	for _, key := range []string{"imported", "deleted", "errors"} {
		if !slices.Equal(plan.list(key), done.list(key)) {
			t.Errorf("%s: planned %v, done %v", key, plan.list(key), done.list(key))
		}
	}
	if plan.text("unchanged") != done.text("unchanged") {
		t.Errorf("unchanged: planned %s, done %s", plan.text("unchanged"), done.text("unchanged"))
	}
}
