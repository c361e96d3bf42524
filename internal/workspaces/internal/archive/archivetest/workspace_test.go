package archivetest_test

import (
	"reflect"
	"strings"
	"testing"

	"atelier/internal/dsul"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

// Every document that is made up is valid, also by the rules for writes.
func TestDocumentsAreValid(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		for _, file := range archivetest.Workspace(seed) {
			kind, slug, ok := dsul.SplitPath(file.Path)
			if !ok {
				t.Fatalf("seed %d: %q is no path", seed, file.Path)
			}
			document, problems := dsul.Parse(kind, slug, file.Text)
			if len(problems) == 0 {
				problems = document.Check(dsul.Strict)
			}
			if err := problems.Err(); err != nil {
				t.Errorf("seed %d, %s: %v\n%s", seed, file.Path, problems.Errors(), file.Text)
			}
		}
	}
}

// The same seed gives the same workspace, another one another, and together they have what tests are meant to meet.
func TestVariety(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for seed := range uint64(50) {
		files := archivetest.Workspace(seed)
		if !reflect.DeepEqual(files, archivetest.Workspace(seed)) || reflect.DeepEqual(files, archivetest.Workspace(seed+1)) {
			t.Fatalf("seed %d", seed)
		}
		for _, file := range files {
			all.WriteString(file.Path + file.Ext + "\n" + string(file.Text))
		}
	}
	for _, want := range []string{"\r\n", "&text", "*text", "# ", "é", "注文", ".json\n{", ".yaml\n", "pages/billing/invoices/create", "imports/", "security.y", "---\n"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q anywhere", want)
		}
	}
	if files := archivetest.Sized(1, 2000); len(files) < 2000+2*666 {
		t.Errorf("%d files", len(files))
	}
}
