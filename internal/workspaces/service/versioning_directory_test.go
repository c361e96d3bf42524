package service_test

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/errs"
)

// eachShelf runs a test on a house whose platform has the repository hub, a directory.
func eachShelf(t *testing.T, run func(t *testing.T, h *house, dir string)) {
	t.Helper()
	each(t, func(t *testing.T, h *house) {
		dir := filepath.Join(t.TempDir(), "shelf")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		h.platform(map[string]string{"WORKSPACES_STORAGE_GIT_PLATFORM_hub_TYPE": "filesystem", "WORKSPACES_STORAGE_GIT_PLATFORM_hub_DIRPATH": dir})
		run(t, h, dir)
	})
}

// below is every file below a directory with its text; folders and links are there with what they are.
func below(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || entry.IsDir() {
			found[name] = entry.Type().String()
			return err
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A directory that is gone, is no directory, or cannot be written is said to be so, without its place. Nothing is half written,
// the workspace is what it was and unlocked, and all goes on once the directory is as it should be.
func TestDirectoryThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(dir string) (mend func() error, err error){
		"it is gone": func(dir string) (func() error, error) {
			return func() error { return os.Rename(dir+"-gone", dir) }, os.Rename(dir, dir+"-gone")
		},
		"a file stands there": func(dir string) (func() error, error) {
			if err := os.Rename(dir, dir+"-gone"); err != nil {
				return nil, err
			}
			mend := func() error {
				if err := os.Remove(dir); err != nil {
					return err
				}
				return os.Rename(dir+"-gone", dir)
			}
			return mend, os.WriteFile(dir, []byte("x"), 0o600)
		},
		"a file stands where the folder was": func(dir string) (func() error, error) {
			folder := filepath.Join(dir, "mine")
			if err := os.Rename(folder, folder+"-gone"); err != nil {
				return nil, err
			}
			mend := func() error {
				if err := os.Remove(folder); err != nil {
					return err
				}
				return os.Rename(folder+"-gone", folder)
			}
			return mend, os.WriteFile(folder, []byte("x"), 0o600)
		},
		"one document cannot be written": func(dir string) (func() error, error) {
			inTheWay := filepath.Join(dir, "mine", "automations", "zz.yml") // the last one that is written
			return func() error { return os.RemoveAll(inTheWay) }, os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700)
		},
		"a new folder cannot be made": func(dir string) (func() error, error) {
			inTheWay := filepath.Join(dir, "mine", "pages")
			return func() error { return os.Remove(inTheWay) }, os.WriteFile(inTheWay, []byte("x"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachShelf(t, func(t *testing.T, h *house, dir string) {
				root := h.superAdmin()
				at := workspacesPath + root.post("/v2/workspaces", map[string]any{"name": "Mine", "slug": "mine"}).want(http.StatusCreated).text("id")
				root.automation(at, "aa", map[string]any{"description": "old"})
				root.automation(at, "gone", nil)
				root.post(at+"/push", inHub()).want(http.StatusOK)
				root.automation(at, "aa", map[string]any{"description": "new"})
				root.automation(at, "zz", nil)
				root.delete(at + "/automations/gone").want(http.StatusOK)
				root.post(at+"/pages", map[string]any{"slug": "p", "name": "p"}).want(http.StatusCreated)
				mend, err := breakIt(dir)
				if err != nil {
					t.Fatal(err)
				}
				parent := filepath.Dir(dir)
				before := below(t, parent)
				for what, ask := range map[string]func() *answer{
					"push": func() *answer { return root.post(at+"/push", inHub()) },
					"pull": func() *answer { return root.post(at+"/pull", inHub()) },
				} {
					if what == "pull" && strings.Contains(name, "cannot be") {
						continue // what is there can be read
					}
					refused := ask().wantError(http.StatusNotFound, errs.NotFound)
					if message := refused.text("message"); !strings.Contains(message, "directory") || strings.Contains(refused.body.String(), dir) {
						t.Errorf("%s: %s", what, refused.body)
					}
					if now := below(t, parent); !maps.Equal(now, before) {
						t.Errorf("%s left\n%v\nwhere there was\n%v", what, now, before)
					}
					h.wantUnlocked(root, at)
				}
				if w := root.get(at); w.text("dirty") != "true" {
					t.Errorf("%s", w.body)
				}
				if err := mend(); err != nil {
					t.Fatal(err)
				}
				root.post(at+"/push", inHub()).want(http.StatusOK)
				now := below(t, filepath.Join(dir, "mine"))
				if !strings.Contains(now["automations/aa.yml"], "new") || now["automations/zz.yml"] == "" || now["automations/gone.yml"] != "" || now["pages/p.yml"] == "" {
					t.Errorf("the directory has %v", now)
				}
			})
		})
	}
}
