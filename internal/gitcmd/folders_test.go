package gitcmd_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/gitcmd"
)

// Folders, files and objects are looked for at once; what is not there is no error.
func TestFoldersAreFound(t *testing.T) {
	t.Parallel()
	repository, err := open(t, "").Repository(t.Context(), filepath.Join(t.TempDir(), "r"))
	if err != nil {
		t.Fatal(err)
	}
	made := commit(t, repository, gitcmd.Commit{
		Write: map[string][]byte{"env/b/x.yml": []byte("b"), "env/a/x.yml": []byte("aa"), "env/file": []byte("c"), "top": []byte("d")},
		When:  time.Unix(1, 0), Message: "x",
	})
	folders, err := repository.Folders(t.Context(), made, "env")
	if err != nil || len(folders) != 2 || folders[0].Path != "a" || folders[1].Path != "b" || folders[0].Mode != "040000" {
		t.Errorf("folders %v, %v", folders, err)
	}
	if none, err := repository.Folders(t.Context(), made, "nowhere/below"); err != nil || len(none) != 0 {
		t.Errorf("folders of nothing %v, %v", none, err)
	}
	if _, err := repository.Folders(t.Context(), made, "env/file"); !errors.Is(err, gitcmd.ErrNotFolder) {
		t.Errorf("folders of a file: %v", err)
	}
	found, err := repository.Find(t.Context(), made, "env/a/x.yml", "env/c/x.yml", "env/a")
	if err != nil || found[0].Object != gitcmd.BlobID([]byte("aa")) || found[0].Size != 2 || found[1].Object != "" || found[2].Object != folders[0].Object {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := repository.Find(t.Context(), made, "a\nb"); err == nil {
		t.Error("a path of two lines was looked for")
	}
	absent := strings.Repeat("1", 40)
	if missing, err := repository.Lacks(t.Context(), made, absent, found[0].Object); err != nil || len(missing) != 1 || missing[0] != absent {
		t.Errorf("lacks %v, %v", missing, err)
	}
}
