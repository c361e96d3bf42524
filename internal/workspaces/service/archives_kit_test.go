package service_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
	"atelier/internal/workspaces/service"
)

const (
	workspacesPath = "/v2/workspaces/"
	newImport      = workspacesPath + "import"
	zipKind        = "application/zip"
)

// zipped is the archive of some documents; info may be nil.
func zipped(t *testing.T, files []archive.File, info *archive.ImportInfo) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := archive.Write(&b, "current", files, info); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pack is the archive of files by their names, in order, as any tool would make it.
func pack(names ...string) []byte {
	var entries []archivetest.Entry
	for i := 0; i+1 < len(names); i += 2 {
		entries = append(entries, archivetest.Entry{Name: names[i], Text: []byte(names[i+1]), Method: archivetest.Deflated, Attributes: archivetest.Regular})
	}
	return archivetest.Zip(entries...)
}

// bring imports an archive: the path ends in /import.
func (c *caller) bring(path string, raw []byte) *answer {
	c.house.t.Helper()
	return c.form(http.MethodPost, path, piece{field: "archive", name: "a.zip", kind: zipKind, body: string(raw)})
}

// made is the address of the workspace that an import made.
func (a *answer) made() string {
	a.t.Helper()
	id := a.want(http.StatusOK).text("workspace.id")
	if id == "" {
		a.t.Fatalf("%s made no workspace: %s", a.what, a.body)
	}
	return workspacesPath + id
}

// export is the archive of the workspace at an address.
func (c *caller) export(at string) []byte {
	c.house.t.Helper()
	return c.get(at + "/export").want(http.StatusOK).body.Bytes()
}

// unpack reads an archive as an import would.
func unpack(t *testing.T, raw []byte) *archive.Archive {
	t.Helper()
	found, err := archive.Read(bytes.NewReader(raw), int64(len(raw)), archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unzip gives every file in an archive, also those in the archives in it, by name.
func unzip(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range reader.File {
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		all[file.Name] = string(text)
		if strings.HasSuffix(file.Name, ".zip") {
			for name, inside := range unzip(t, text) {
				all[file.Name+"/"+name] = inside
			}
		}
	}
	return all
}

// listing is the documents of an archive by path and extension. What every workspace has without anybody writing it is left
// out when the other side does not have it.
func listing(files []archive.File) map[string]string {
	all := map[string]string{}
	for _, file := range files {
		all[file.Path+file.Ext] = string(file.Text)
	}
	return all
}

// wantDocuments fails unless the workspace at an address has exactly these documents, byte for byte, and a security.
func (c *caller) wantDocuments(at string, want []archive.File) {
	c.house.t.Helper()
	got, wanted := listing(unpack(c.house.t, c.export(at)).Files), listing(want)
	if !slices.ContainsFunc(want, func(f archive.File) bool { return f.Path == "security" }) {
		delete(got, "security.yml")
	}
	if problem := difference(got, wanted); problem != "" {
		c.house.t.Fatalf("%s: %s", at, problem)
	}
}

func difference(got, want map[string]string) string {
	for name, text := range want {
		if there, ok := got[name]; !ok {
			return name + " is not there"
		} else if there != text {
			return fmt.Sprintf("%s is %q, want %q", name, there, text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			return name + " is there too"
		}
	}
	return ""
}

// list is the texts at a dotted path.
func (a *answer) list(path string) []string {
	a.t.Helper()
	items, ok := a.at(path).([]any)
	if !ok {
		a.t.Fatalf("%s: %s is no list\n%s", a.what, path, a.body)
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		texts = append(texts, fmt.Sprint(item))
	}
	return texts
}

// finding is the message of the finding with a code; empty when there is none.
func (a *answer) finding(code string) string {
	a.t.Helper()
	items, _ := a.at("errors").([]any)
	for _, item := range items {
		if found, _ := item.(map[string]any); found["err"] == code {
			return fmt.Sprint(found["path"], ": ", found["msg"])
		}
	}
	return ""
}

// rows is a fingerprint of everything that is stored.
func (h *house) rows() string {
	h.t.Helper()
	names := map[string]string{
		"sqlite":     `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`,
		"postgresql": `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name`,
	}[h.db.Driver()]
	tables, err := sqldb.All(h.t.Context(), h.db, func(rows *sql.Rows) (name string, err error) { return name, rows.Scan(&name) }, names)
	if err != nil || len(tables) == 0 {
		h.t.Fatalf("%v %v", tables, err)
	}
	var all strings.Builder
	for _, table := range tables {
		if table == "ws_operations" { // a log of what ended; wantUnlocked looks at what runs
			continue
		}
		lines, err := sqldb.All(h.t.Context(), h.db, line, `SELECT * FROM `+table)
		if err != nil {
			h.t.Fatal(err)
		}
		slices.Sort(lines)
		sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
		fmt.Fprintf(&all, "%s %d %s\n", table, len(lines), hex.EncodeToString(sum[:8]))
	}
	return all.String()
}

// line is a row as a text. How often a lock was taken is left out: it is no state that anybody sees.
func line(rows *sql.Rows) (string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return "", err
	}
	if i := slices.Index(columns, "lock_epoch"); i >= 0 {
		values[i] = nil
	}
	return fmt.Sprintf("%q", values), nil
}

// sameKind opens a new database of the same engine.
func sameKind(t *testing.T, db *sqldb.DB) *sqldb.DB {
	t.Helper()
	open := map[string]func(testing.TB, ...sqldb.Migrations) *sqldb.DB{"sqlite": sqldbtest.SQLite, "postgresql": sqldbtest.Postgres}[db.Driver()]
	return open(t, sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), service.Migrations())
}

// wantUnlocked fails unless nobody holds the lock of the workspace at an address, and nothing is under way there.
func (h *house) wantUnlocked(c *caller, at string) {
	h.t.Helper()
	if lock := c.get(at).want(http.StatusOK).at("writeLock"); lock != nil {
		h.t.Fatalf("%s is locked: %v", at, lock)
	}
	var running int
	if err := h.db.QueryRow(h.t.Context(), `SELECT COUNT(*) FROM ws_operations WHERE status = 'running'`).Scan(&running); err != nil || running != 0 {
		h.t.Fatalf("%d operations are under way, error %v", running, err)
	}
}
