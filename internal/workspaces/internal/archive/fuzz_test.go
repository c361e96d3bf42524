package archive_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

// FuzzRead: whatever the bytes, the answer is an archive or a failure that blames the client. What is accepted is what the
// standard reader finds in it too, and survives being written and read again.
func FuzzRead(f *testing.F) {
	for _, test := range archivetest.Hostile() {
		if raw := test.Build(); len(raw) < 20_000 {
			f.Add(raw)
		}
	}
	for seed := range uint64(5) {
		var raw bytes.Buffer
		if err := archive.Write(&raw, "current", archivetest.Sized(seed, 2), &archive.ImportInfo{Groups: []string{"base"}}); err != nil {
			f.Fatal(err)
		}
		f.Add(raw.Bytes())
	}
	stream := text("current/pages/s.yml", "name: stream\n")
	stream.Flags = archivetest.Descriptor
	f.Add(archivetest.Zip(archivetest.Index(), stream))
	f.Add(archivetest.Zip(
		text("bulkExport.json", `{"workspaceIds":["abc1234"]}`),
		archivetest.Entry{Name: "workspaces/abc1234.zip", Text: archivetest.Zip(archivetest.Index())},
	))
	f.Fuzz(func(t *testing.T, raw []byte) {
		found, err := read(raw)
		if err != nil {
			if status := errs.From(err).Status(); status != http.StatusUnprocessableEntity && status != http.StatusRequestEntityTooLarge {
				t.Fatal(err)
			}
			return
		}
		if found.Bulk == nil {
			agrees(t, raw, found)
			again(t, found)
		}
	})
}

// FuzzEntry: the same for one entry whose sizes and checksums are right, which blind changes of bytes hardly ever give.
func FuzzEntry(f *testing.F) {
	for _, name := range []string{"current/pages/a.yml", "current/.import.yml", "../x", "current/", "current/index.json", "bulkExport.json", "a\\b", "workspaces/abc.zip"} {
		for _, method := range []uint16{archivetest.Stored, archivetest.Deflated} {
			f.Add(name, []byte("groups: [a]\nchecksums: {pages: {a: x}}\n"), method, uint16(archivetest.Descriptor), uint32(archivetest.Regular), []byte("UT\x01\x00x"))
		}
	}
	f.Fuzz(func(t *testing.T, name string, content []byte, method, flags uint16, attributes uint32, extra []byte) {
		if len(name) > 0xffff || len(extra) > 0xffff {
			return
		}
		raw := archivetest.Zip(archivetest.Index(), archivetest.Entry{
			Name: name, Text: content, Method: method, Flags: flags, Attributes: attributes, Extra: extra,
		})
		found, err := read(raw)
		if err != nil {
			if errs.CodeOf(err) != errs.ValidationFailed && errs.CodeOf(err) != errs.PayloadTooLarge {
				t.Fatal(err)
			}
			return
		}
		if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") || attributes>>16&0o170000 == 0o120000 {
			t.Fatalf("%q %o was accepted", name, attributes>>16)
		}
		agrees(t, raw, found)
		again(t, found)
	})
}

// agrees holds what was read against the standard library.
func agrees(t *testing.T, raw []byte, found *archive.Archive) {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatalf("the standard library refuses what was accepted: %v", err)
	}
	texts := map[string]string{}
	for _, file := range reader.File {
		if file.Mode().IsDir() {
			continue
		}
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		texts[file.Name] = string(text)
	}
	for _, file := range found.Files {
		matched := false
		for name, text := range texts {
			matched = matched || strings.HasSuffix("/"+name, "/"+file.Path+file.Ext) && text == string(file.Text)
		}
		if !matched {
			t.Fatalf("the standard library does not see %s", file.Path)
		}
	}
}

// again writes what was read and reads it back.
func again(t *testing.T, found *archive.Archive) {
	t.Helper()
	var raw bytes.Buffer
	if err := archive.Write(&raw, "again", found.Files, found.Import); err != nil {
		t.Fatal(err)
	}
	back, err := read(raw.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Files, found.Files) {
		t.Fatal("not the same files")
	}
}
