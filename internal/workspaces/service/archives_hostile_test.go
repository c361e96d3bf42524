package service_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

// B-ARC-01 to 04 and B-YML-03: every hostile archive is refused wherever archives are taken, and nothing comes of it.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.bring(at+"/import", pack("index.yml", "name: Mine\n", "automations/a.yml", "name: a\ndo: []\n")).want(http.StatusOK)
		before := h.rows()
		for i, test := range archivetest.Hostile() {
			if h.db.Driver() != "sqlite" && i%10 != 0 {
				continue // no database has seen any of it yet
			}
			raw := test.Build()
			for _, path := range []string{newImport, at + "/import?prune=true", at + "/diff"} {
				refused := ann.send(http.MethodPost, path, zipKind, bytes.NewReader(raw))
				if refused.status != test.Status {
					t.Errorf("%s to %s: %d %s, want %d", test.Name, path, refused.status, refused.body, test.Status)
				}
				if test.Field != "" && test.Status == http.StatusUnprocessableEntity {
					refused.wantField(test.Field)
				}
			}
		}
		if after := h.rows(); after != before {
			t.Errorf("something was stored:\n%s\n%s", before, after)
		}
		h.wantUnlocked(ann, at)
		noFilesLeft(t)
	})
}

// noFilesLeft fails when an uploaded archive stays behind. Other tests receive some at the same time, for a moment.
func noFilesLeft(t *testing.T) {
	t.Helper()
	patience := time.NewTimer(10 * time.Second)
	defer patience.Stop()
	for {
		left, err := filepath.Glob(filepath.Join(os.TempDir(), "atelier-import-*"))
		if err != nil || len(left) == 0 {
			return
		}
		select {
		case <-patience.C:
			t.Fatalf("left behind: %v", left)
		default:
			runtime.Gosched()
		}
	}
}

// What is in an archive is checked before anything is stored, and everything that is wrong is named with its place.
func TestDocumentsThatCannotBeImported(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		const index = "name: Mine\n"
		before := h.rows()
		for name, test := range map[string]struct {
			files []string
			field string
		}{
			"no YAML":            {[]string{"index.yml", index, "pages/b.yml", "name: b\n", "automations/a.yml", "name: [\n"}, "automations/a.yml"},
			"no map":             {[]string{"index.yml", index, "automations/a.yml", "- a\n"}, "automations/a.yml"},
			"an empty file":      {[]string{"index.yml", index, "automations/a.yml", ""}, "automations/a.yml"},
			"a tag":              {[]string{"index.yml", index, "automations/a.yml", "name: !!python/object x\n"}, "automations/a.yml"},
			"two documents":      {[]string{"index.yml", index, "automations/a.yml", "name: a\n---\nname: b\n"}, "automations/a.yml"},
			"a duplicate key":    {[]string{"index.yml", index, "automations/a.yml", "name: a\nname: b\n"}, "automations/a.yml"},
			"a self reference":   {[]string{"index.yml", index, "automations/a.yml", "name: a\ndo: &d [*d]\n"}, "automations/a.yml"},
			"NUL":                {[]string{"index.yml", index, "automations/a.yml", "name: \x00\n"}, "automations/a.yml"},
			"not UTF-8":          {[]string{"index.yml", index, "automations/a.yml", "name: \xff\n"}, "automations/a.yml"},
			"larger than 1 MiB":  {[]string{"index.yml", index, "automations/a.yml", "name: a # " + long() + "\n"}, "automations/a.yml"},
			"a bad index":        {[]string{"index.yml", "name: [\n", "automations/a.yml", "name: a\n"}, "index.yml"},
			"an index of a list": {[]string{"index.yml", "[]\n"}, "index.yml"},
			"a bad security":     {[]string{"index.yml", index, "security.yml", "a: [\n"}, "security.yml"},
			"bad JSON":           {[]string{"index.json", `{"name": "Mine", "name": "Yours"}`}, "index.json"},
			"two files with one slug": {
				[]string{"index.yml", index, "automations/a.yml", "slug: b\nname: a\n", "automations/b.yml", "name: b\n"}, "automations/b",
			},
			"two slugs that differ in case": {
				[]string{"index.yml", index, "automations/a.yml", "slug: B\nname: a\n", "automations/b.yml", "name: b\n"}, "automations/b",
			},
			"another text than was exported": {
				[]string{
					"index.yml", index, "automations/a.yml", "name: a\n",
					".import.yml", "checksums: {automations: {a: 'sha256:" + strings.Repeat("0", 64) + "'}}\n",
				}, ".import.yml: automations/a",
			},
		} {
			raw := pack(test.files...)
			for _, path := range []string{newImport, newImport + "?dryRun=true", at + "/import", at + "/import?dryRun=true", at + "/diff"} {
				refused := ann.bring(path, raw).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
				found := false
				for _, field := range refused.list("details.errors") {
					found = found || strings.Contains(field, "field:"+test.field+" ") || strings.Contains(field, "field:"+test.field+":")
				}
				if !found {
					t.Errorf("%s to %s: %s is not named: %s", name, path, test.field, refused.body)
				}
			}
		}
		if after := h.rows(); after != before {
			t.Errorf("something was stored:\n%s\n%s", before, after)
		}
		h.wantUnlocked(ann, at)
	})
}

// long is a text of more than 1 MiB that does not get much smaller.
func long() string {
	var b strings.Builder
	for i := 0; b.Len() <= 1<<20; i++ {
		fmt.Fprint(&b, i*7919, " ")
	}
	return b.String()
}

// B-ARC-06: the form has one file, and its name is no path.
func TestFormsWithArchives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		raw := string(pack("index.yml", "name: Mine\n"))
		file := piece{field: "archive", name: "a.zip", kind: zipKind, body: raw}
		named := func(name string) piece { return piece{field: "archive", name: name, kind: zipKind, body: raw} }
		before := h.rows()
		many := make([]piece, 10_000)
		for i := range many {
			many[i] = aField("x", "y")
		}
		for name, pieces := range map[string][]piece{
			"two archives": {file, file}, "a field before": {aField("prune", "true"), file}, "a field after": {file, aField("prune", "true")},
			"10 k parts": append([]piece{file}, many...), "10 k parts before": append(many, file), "nothing": {},
			"a field instead of a file": {aField("archive", raw)}, "another field": {{field: "file", name: "a.zip", kind: zipKind, body: raw}},
			"a file that is called otherwise": {named("a.tar")}, "a file without a name": {named("")}, "a name that only begins like one": {named("a.zip.exe")},
		} {
			for _, path := range []string{newImport, at + "/import", at + "/diff"} {
				if refused := ann.form(http.MethodPost, path, pieces...); refused.status != http.StatusBadRequest {
					t.Errorf("%s to %s: %d %s", name, path, refused.status, refused.body)
				}
			}
		}
		kind, whole := encode(t, file)
		for name, refused := range map[string]*answer{
			"no boundary":      ann.send(http.MethodPost, newImport, "multipart/form-data", strings.NewReader(whole)),
			"another boundary": ann.send(http.MethodPost, newImport, "multipart/form-data; boundary=other", strings.NewReader(whole)),
			"cut off":          ann.send(http.MethodPost, newImport, kind, strings.NewReader(whole[:len(whole)-30])),
			"cut off early":    ann.send(http.MethodPost, newImport, kind, strings.NewReader(whole[:len(whole)/2])),
			"a broken line":    ann.send(http.MethodPost, newImport, kind, io.MultiReader(strings.NewReader(whole[:len(whole)/2]), failing{})),
			"prune":            ann.bring(newImport+"?prune=yes", []byte(raw)),
			"prune twice":      ann.bring(newImport+"?prune=true&prune=true", []byte(raw)),
			"dryRun":           ann.bring(newImport+"?dryRun=1", []byte(raw)),
		} {
			if refused.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", name, refused.status, refused.body)
			}
		}
		ann.send(http.MethodPost, newImport, "application/json", strings.NewReader("{}")).want(http.StatusUnsupportedMediaType)
		ann.with("Content-Encoding", "gzip").send(http.MethodPost, newImport, zipKind, strings.NewReader(raw)).want(http.StatusUnsupportedMediaType)
		head, _, _ := strings.Cut(whole, raw)
		for form, body := range map[string]io.Reader{kind: io.MultiReader(strings.NewReader(head), endless{}), zipKind: endless{}} {
			seen := &counting{Reader: body}
			if refused := ann.send(http.MethodPost, newImport, form, seen); refused.status != http.StatusRequestEntityTooLarge || seen.read > 60_000_000 {
				t.Errorf("an endless %s: %d %s after %d bytes", form, refused.status, refused.body, seen.read)
			}
		}
		if after := h.rows(); after != before {
			t.Errorf("something was stored:\n%s\n%s", before, after)
		}
		for _, name := range []string{"../../x.zip", `..\..\x.zip`, "/etc/x.ZIP", "a.x-zip-compressed", "a b\u202e.zip"} {
			ann.form(http.MethodPost, newImport, named(name)).want(http.StatusOK)
		}
		ann.send(http.MethodPost, newImport, "application/octet-stream", strings.NewReader(raw)).want(http.StatusOK)
		noFilesLeft(t)
	})
}
