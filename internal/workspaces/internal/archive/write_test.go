package archive_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

func mustWrite(t *testing.T, root string, files []archive.File, info *archive.ImportInfo) []byte {
	t.Helper()
	var raw bytes.Buffer
	if err := archive.Write(&raw, root, files, info); err != nil {
		t.Fatalf("%v %v", err, errs.From(err).Fields)
	}
	return raw.Bytes()
}

// What goes in comes out byte for byte, and the same content gives the same archive.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	exported := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for seed := range uint64(200) {
		files := archivetest.Workspace(seed)
		info := &archive.ImportInfo{
			WorkspaceID: "abc1234", Version: archive.VersionInfo{Type: "export", Name: "1.10", ExportedAt: &exported},
			Groups: []string{"base1", "no"}, DependsOn: []string{"app/Custom Code"}, App: &archive.AppInfo{Slug: "shop", Name: "Shop: 1", Description: "two\nlines"},
		}
		raw := mustWrite(t, "current", files, info)
		if !bytes.Equal(raw, mustWrite(t, "current", files, info)) {
			t.Fatalf("seed %d: two writes differ", seed)
		}
		found := mustRead(t, raw)
		if !reflect.DeepEqual(found.Files, files) {
			t.Fatalf("seed %d: the files are not the same", seed)
		}
		if len(found.Ignored) != 0 || len(found.Import.Notes) != 0 {
			t.Fatalf("seed %d: %v %v", seed, found.Ignored, found.Import.Notes)
		}
		if problems := found.Import.Verify(found.Files); len(problems) != 0 {
			t.Fatalf("seed %d: %v", seed, problems)
		}
		read := *found.Import
		read.Checksums = nil
		if !reflect.DeepEqual(&read, info) {
			t.Fatalf("seed %d: %+v", seed, read)
		}
	}
}

func index() archive.File { return archive.File{Path: "index", Ext: ".yml", Text: []byte("name: x\n")} }

func TestWriteForm(t *testing.T) {
	t.Parallel()
	exported := time.Date(2026, 3, 4, 5, 6, 8, 0, time.FixedZone("", 3600))
	raw := mustWrite(t, "v1.2", []archive.File{{Path: "pages/b/c", Ext: ".json", Text: []byte("{}")}, index()}, &archive.ImportInfo{Version: archive.VersionInfo{ExportedAt: &exported}})
	reader, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range reader.File {
		names = append(names, file.Name)
		if !file.Modified.Equal(exported) || file.Mode() != 0o644 || file.Flags != 0 {
			t.Errorf("%s: %s %s %d", file.Name, file.Modified, file.Mode(), file.Flags)
		}
	}
	if got := strings.Join(names, " "); got != "v1.2/.import.yml v1.2/index.yml v1.2/pages/b/c.json" {
		t.Error(got)
	}
	without := mustRead(t, mustWrite(t, "v1.2", []archive.File{index()}, nil))
	if without.Import != nil {
		t.Error("there is an .import.yml that nobody asked for")
	}
}

// Whatever a version is called, the archive can be read again.
func TestRootNames(t *testing.T) {
	t.Parallel()
	for root, want := range map[string]string{
		"current": "current/", "v 1.2_b-3": "v 1.2_b-3/", "": "current/", "..": "current/", ".hidden": "hidden/", "pages": "current/", "automations": "current/", "workspaces": "current/",
		"../../x": "-..-x/", "a/b": "a-b/", `C:\x`: "C-x/", "__MACOSX": "current/", "__index__": "current/", "\u00e9": "-/", strings.Repeat("r", 300): strings.Repeat("r", 100) + "/",
	} {
		raw := mustWrite(t, root, []archive.File{index()}, nil)
		if found := mustRead(t, raw); len(found.Files) != 1 {
			t.Errorf("%q: %+v", root, found)
		}
		if !bytes.Contains(raw, []byte(want+"index.yml")) {
			t.Errorf("%q is not in a folder %q", root, want)
		}
	}
}

// A text that repeats itself a million times is no bomb when it comes from us.
func TestRepetitionSurvives(t *testing.T) {
	t.Parallel()
	page := archive.File{Path: "pages/a", Ext: ".yml", Text: []byte("name: a\n" + strings.Repeat("# \n", 1_000_000))}
	files := []archive.File{index(), page}
	if found := mustRead(t, mustWrite(t, "current", files, nil)); !reflect.DeepEqual(found.Files, files) {
		t.Error("not the same")
	}
}

func TestUnwritable(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]archive.File{
		"no index":       {{Path: "security", Ext: ".yml"}},
		"case twins":     {index(), {Path: "pages/a", Ext: ".yml"}, {Path: "pages/A", Ext: ".yml"}},
		"the same twice": {index(), {Path: "pages/a", Ext: ".yml"}, {Path: "pages/a", Ext: ".json"}},
		"a traversal":    {index(), {Path: "pages/../a", Ext: ".yml"}},
		"unknown kind":   {index(), {Path: "blocks/a", Ext: ".yml"}},
		"an extension":   {index(), {Path: "pages/a", Ext: ".exe"}},
	} {
		var raw bytes.Buffer
		err := archive.Write(&raw, "current", files, nil)
		if errs.CodeOf(err) != errs.ValidationFailed || raw.Len() != 0 {
			t.Errorf("%s: %v, %d bytes written", name, err, raw.Len())
		}
	}
}

// full is a connection that breaks after some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("broken pipe")
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	files := archivetest.Sized(3, 1)
	size := len(mustWrite(t, "current", files, nil))
	for left := 0; left < size; left += 7 {
		if archive.Write(&full{left}, "current", files, nil) == nil {
			t.Fatalf("%d of %d bytes were enough", left, size)
		}
	}
}

func TestBulkRoundTrip(t *testing.T) {
	t.Parallel()
	bulk := &archive.Bulk{
		WorkspaceIDs: []string{"zzz1234", "platform", "-_A1234"},
		PublishApps:  []archive.PublishApp{{WorkspaceID: "platform", Slug: "Custom Code", Name: "C", Description: "d", Photo: "p", WorkspaceVersion: "1"}},
	}
	each := func(id string, w io.Writer) error {
		return archive.Write(w, "current", archivetest.Workspace(uint64(len(id))), &archive.ImportInfo{WorkspaceID: id})
	}
	var raw, twice bytes.Buffer
	for _, w := range []io.Writer{&raw, &twice} {
		if err := archive.WriteBulk(w, bulk, each); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(raw.Bytes(), twice.Bytes()) {
		t.Error("two writes differ")
	}
	found := mustRead(t, raw.Bytes()).Bulk
	if !reflect.DeepEqual(found.WorkspaceIDs, bulk.WorkspaceIDs) || !reflect.DeepEqual(found.PublishApps, bulk.PublishApps) {
		t.Errorf("%+v", found)
	}
	for _, id := range bulk.WorkspaceIDs {
		if inner := found.Archives[id]; inner.Import.WorkspaceID != id || !reflect.DeepEqual(inner.Files, archivetest.Workspace(uint64(len(id)))) {
			t.Errorf("%s: not the same", id)
		}
	}
}

func TestBulkFails(t *testing.T) {
	t.Parallel()
	nothing := func(string, io.Writer) error { return nil }
	for _, ids := range [][]string{{"../x"}, {"a", "a"}, {"a", "A"}, {""}} {
		var raw bytes.Buffer
		if err := archive.WriteBulk(&raw, &archive.Bulk{WorkspaceIDs: ids}, nothing); errs.CodeOf(err) != errs.ValidationFailed || raw.Len() != 0 {
			t.Errorf("%q: %v", ids, err)
		}
	}
	var raw bytes.Buffer
	gone := errors.New("gone")
	err := archive.WriteBulk(&raw, &archive.Bulk{WorkspaceIDs: []string{"a"}}, func(string, io.Writer) error { return gone })
	if !errors.Is(err, gone) {
		t.Error(err)
	}
	if _, err := read(raw.Bytes()); err == nil {
		t.Error("an export that failed can be taken for a whole one")
	}
	var empty bytes.Buffer
	if err := archive.WriteBulk(&empty, &archive.Bulk{}, nothing); err != nil {
		t.Fatal(err)
	}
	if found := mustRead(t, empty.Bytes()); found.Bulk == nil || len(found.Bulk.WorkspaceIDs) != 0 {
		t.Errorf("%+v", found)
	}
}
