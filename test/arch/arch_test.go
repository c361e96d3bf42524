// Package arch_test holds the architecture against the code: which room may know which, and that every table beside its
// files is complete.
package arch_test

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// arrows is the table of rooms: the folder below internal/ and the rooms it may know. A new arrow is a decision: it is
// made here, in the open, or not at all. Arrows point down; services never know each other.
func arrows() map[string]string {
	return map[string]string{
		// kernel: no service knowledge
		"clock":      "",
		"config":     "vault",
		"errs":       "",
		"ident":      "",
		"latectx":    "",
		"lifecycle":  "",
		"strictjson": "",
		"vault":      "",
		"httpx":      "clock errs ident latectx",
		"access":     "clock errs httpx ident sqldb strictjson",
		"restapi":    "access clock errs httpx sqldb strictjson",
		"readiness":  "access clock errs restapi",
		"telemetry":  "httpx",
		"catalogue":  "errs",
		"envelope":   "access bus catalogue errs httpx",
		"dsul":       "errs strictjson",
		"failpoint":  "",
		"socketio":   "clock httpx ident",
		// contracts and their drivers
		"sqldb":    "errs",
		"bus":      "clock errs ident sqldb",
		"kv":       "clock errs sqldb",
		"blob":     "ident",
		"egress":   "errs ident",
		"gitcmd":   "",
		"mail":     "clock ident sqldb",
		"intake":   "bus catalogue envelope sqldb",
		"keyring":  "access bus catalogue clock envelope errs sqldb",
		"schedule": "clock dsul sqldb",
		// services
		"gateway":    "access blob bus catalogue clock config envelope errs httpx ident keyring kv mail readiness restapi sqldb strictjson",
		"workspaces": "access blob bus catalogue clock dsul envelope errs failpoint gitcmd httpx ident readiness restapi sqldb strictjson vault",
		"events":     "access bus catalogue clock dsul envelope errs failpoint httpx ident readiness restapi schedule socketio sqldb vault",
		"automation": "access bus catalogue clock config dsul egress envelope errs failpoint httpx ident keyring kv latectx lifecycle readiness restapi sqldb vault",
		// the edge
		"backup": "",
		"app": "access automation backup blob bus catalogue clock config dsul egress envelope errs events gateway gitcmd httpx ident intake keyring kv lifecycle mail readiness " +
			"restapi schedule sqldb telemetry vault workspaces",
	}
}

func TestArrows(t *testing.T) {
	t.Parallel()
	actual := map[string]map[string]bool{}
	for _, file := range goFiles(t, "internal") {
		room := roomOf(file)
		if actual[room] == nil {
			actual[room] = map[string]bool{}
		}
		for _, imported := range imports(t, file) {
			if inner, ok := strings.CutPrefix(imported, "atelier/internal/"); ok {
				if other, _, _ := strings.Cut(inner, "/"); other != room {
					actual[room][other] = true
				}
			}
		}
	}
	allowed := arrows()
	for room, seen := range actual {
		table, known := allowed[room]
		if !known {
			t.Errorf("internal/%s is a new room: say in one sentence what it provides, and add it to the table", room)
			continue
		}
		got := strings.Join(slices.Sorted(maps.Keys(seen)), " ")
		for other := range seen {
			if !slices.Contains(strings.Fields(table), other) {
				t.Errorf("internal/%s imports internal/%s, which the table does not allow", room, other)
			}
		}
		for other := range strings.FieldsSeq(table) {
			if !seen[other] {
				t.Errorf("internal/%s does not import internal/%s any more: take the arrow out of the table (it has: %s)", room, other, got)
			}
		}
	}
	for room := range allowed {
		if actual[room] == nil {
			t.Errorf("the table has internal/%s, which does not exist", room)
		}
	}
}

// Inside a service arrows point down too: operations know the engine, the engine knows the store, never back.
func TestServiceLayers(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{"/internal/store": {"/internal/engine", "/internal/rest"}, "/internal/engine": {"/internal/rest"}}
	for _, file := range goFiles(t, "internal") {
		for layer, above := range forbidden {
			if !strings.Contains(filepath.ToSlash(filepath.Dir(file)), layer) {
				continue
			}
			for _, imported := range imports(t, file) {
				for _, upper := range above {
					if strings.HasSuffix(imported, upper) {
						t.Errorf("%s imports %s: arrows point down", file, imported)
					}
				}
			}
		}
	}
}

func roomOf(file string) string {
	relative, _ := filepath.Rel(filepath.Join(root, "internal"), file)
	room, _, _ := strings.Cut(filepath.ToSlash(relative), "/")
	return room
}

// goFiles lists the product's Go files below a folder, without tests and test helpers.
func goFiles(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasSuffix(entry.Name(), "test") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", folder, err)
	}
	return files
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}
