// Package failpointtest finds the failpoints of a part of the product, so that a test kills at each of them without a list
// that somebody has to keep.
package failpointtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Points are the names beginning with prefix that the Go files below root give to failpoint.At, sorted. Tests and testdata
// below root are left out. A name that is not a literal, or no point at all, fails the test.
func Points(t testing.TB, root, prefix string) []string {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return pointsOf(t, path, names)
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return !strings.HasPrefix(name, prefix) })
	if len(names) == 0 {
		t.Fatalf("no failpoint below %s begins with %q", root, prefix)
	}
	return slices.Sorted(maps.Keys(names))
}

// pointsOf adds the points of one file.
func pointsOf(t testing.TB, path string, names map[string]bool) error {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || !isPoint(call.Fun) {
			return true
		}
		name, ok := literal(call)
		if !ok {
			t.Errorf("%s: the name of a failpoint must be a literal", files.Position(call.Pos()))
			return true
		}
		names[name] = true
		return true
	})
	return nil
}

func isPoint(function ast.Expr) bool {
	selector, ok := function.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "At" {
		return false
	}
	room, ok := selector.X.(*ast.Ident)
	return ok && room.Name == "failpoint"
}

func literal(call *ast.CallExpr) (string, bool) {
	if len(call.Args) != 1 {
		return "", false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	name, err := strconv.Unquote(text.Value)
	return name, err == nil && name != ""
}
