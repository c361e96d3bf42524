package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"atelier/internal/app"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// One driver, one folder, one line in the table of drivers, and the contract's suite in its test.
func TestEveryDriverIsInTheTable(t *testing.T) {
	t.Parallel()
	table := read(t, "internal/app/drivers.go")
	suites := map[string]string{"sqldb": "sqldbtest.", "bus": "bustest.", "kv": "kvtest.", "blob": "blobtest.", "mail": "mailtest."}
	for contract, suite := range suites {
		entries, err := os.ReadDir(filepath.Join(root, "internal", contract))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if !entry.IsDir() || slices.Contains([]string{"internal", "migrations", "testdata"}, entry.Name()) || strings.HasSuffix(entry.Name(), "test") {
				continue
			}
			path := contract + "/" + entry.Name()
			if !strings.Contains(table, `"atelier/internal/`+path+`"`) {
				t.Errorf("the driver internal/%s is not in internal/app/drivers.go", path)
			}
			if contract != "sqldb" && !strings.Contains(testsOf(t, "internal/"+path), suite+"Run(") {
				t.Errorf("the tests of internal/%s do not run the contract's suite, %sRun", path, suite)
			}
		}
	}
}

func testsOf(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		relative, _ := filepath.Rel(root, file)
		all.WriteString(read(t, relative))
	}
	return all.String()
}

// One command, one file, one line in main.go.
func TestEveryCommandIsInTheTable(t *testing.T) {
	t.Parallel()
	table := read(t, "cmd/atelier/main.go")
	constructor := regexp.MustCompile(`(?m)^func (\w+Command)\(`)
	for _, file := range goFiles(t, "cmd/atelier") {
		relative, _ := filepath.Rel(root, file)
		for _, found := range constructor.FindAllStringSubmatch(read(t, relative), -1) {
			if found[1] != "rootCommand" && !strings.Contains(table, found[1]+"(p)") {
				t.Errorf("%s is not in the list of main.go", found[1])
			}
		}
	}
}

// One service, one file in app, one line in the table of targets.
func TestEveryServiceIsATarget(t *testing.T) {
	t.Parallel()
	table := read(t, "internal/app/targets.go")
	for _, name := range app.TargetNames() {
		if !strings.Contains(read(t, "internal/app/"+name+".go"), "func build") {
			t.Errorf("internal/app/%s.go does not build the service", name)
		}
		if !strings.Contains(table, `name: "`+name+`"`) {
			t.Errorf("%s is not in the table of targets", name)
		}
	}
	for _, api := range app.APIs() {
		if len(api.Operations()) == 0 {
			t.Error("a service has no operations at all")
		}
	}
}

// Every set of migrations is applied: a component that is forgotten in the list has no tables.
func TestEveryMigrationIsApplied(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, component := range app.Migrations() {
		listed[component.Component] = true
	}
	name := regexp.MustCompile(`Component: "(\w+)"`)
	for _, file := range goFiles(t, "internal") {
		relative, _ := filepath.Rel(root, file)
		for _, found := range name.FindAllStringSubmatch(read(t, relative), -1) {
			if !listed[found[1]] {
				t.Errorf("the migrations of %s (%s) are not in app.Migrations", found[1], relative)
			}
		}
	}
}

// No hidden registration: nothing runs before main.
func TestNoInit(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"internal", "cmd"} {
		for _, file := range goFiles(t, folder) {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, declaration := range parsed.Decls {
				if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
					t.Errorf("%s has an init function", file)
				}
			}
		}
	}
}
