package backup_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/backup"
)

func TestRestoreElsewhere(t *testing.T) {
	t.Parallel()
	text := create(t, source(sample(t)))
	contents := map[string]string{}
	for name, content := range restored() {
		if path, ok := strings.CutPrefix(name, "blobs/"); ok {
			contents[path] = content
		}
	}
	data, blobs := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "far", "contents")
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{DataDir: data, BlobDir: blobs}, accept); err != nil {
		t.Fatal(err)
	}
	wantTree(t, data, map[string]string{"atelier.db": "the database", "internal.key": "the key\n"})
	wantTree(t, blobs, contents)

	data = filepath.Join(t.TempDir(), "data")
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{DataDir: data, BlobDir: data}, accept); err != nil {
		t.Fatal(err)
	}
	contents["atelier.db"], contents["internal.key"] = "the database", "the key\n"
	wantTree(t, data, contents)
}

func TestRestoreIntoTheRootOfANewDisk(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"lost+found/x": ""})
	if err := os.Remove(filepath.Join(dir, "lost+found", "x")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(create(t, source(sample(t)))), into(dir), accept); err != nil {
		t.Fatal(err)
	}
	want := restored()
	want["lost+found/"] = ""
	wantTree(t, dir, want)
	if after, err := os.Stat(dir); err != nil || !os.SameFile(info, after) {
		t.Errorf("the directory was replaced, which the root of a disk cannot be: %v", err)
	}
}

func TestRestoreOverwritesNothing(t *testing.T) {
	t.Parallel()
	text := create(t, source(sample(t)))
	for name, want := range map[string]string{
		"atelier.db":              "is not empty; move it away first",
		".hidden":                 "is not empty; move it away first",
		"atelier.lock":            "is not empty; move it away first",
		"restore.part/atelier.db": "another restore into",
	} {
		dir := files(t, map[string]string{name: "mine"})
		_, err := backup.Restore(t.Context(), bytes.NewReader(text), into(dir), accept)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v, want %q and the directory", name, err, want)
		}
		wantTree(t, dir, map[string]string{name: "mine"})

		elsewhere := filepath.Join(t.TempDir(), "new", "data")
		if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{DataDir: elsewhere, BlobDir: dir}, accept); err == nil {
			t.Errorf("%s: contents were put into a directory that is not empty", name)
		}
		wantTree(t, dir, map[string]string{name: "mine"})
		wantAbsent(t, filepath.Dir(elsewhere))
	}
}

func wantAbsent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was left behind", path)
	}
}

func TestUnfinishedRestoreIsSeen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	seen := false
	_, err := backup.Restore(t.Context(), bytes.NewReader(create(t, source(sample(t)))), into(dir), func(context.Context, string) error {
		seen = backup.Unfinished(dir)
		return nil
	})
	if err != nil || !seen || backup.Unfinished(dir) {
		t.Errorf("error %v, seen while it ran: %t, afterwards: %t", err, seen, backup.Unfinished(dir))
	}
}

// A server that is started into the directory while it is being restored keeps what it made.
func TestRestoreGivesWayToAServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	_, err := backup.Restore(t.Context(), bytes.NewReader(create(t, source(sample(t)))), into(dir), func(context.Context, string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "atelier.lock"), nil, 0o600), errors.New("damaged"))
	})
	if err == nil {
		t.Fatal("no error")
	}
	wantTree(t, dir, map[string]string{"atelier.lock": ""})
}

func TestRefusedDatabaseLeavesNothing(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, string) error { return errors.New("page 3 is wrong") }
	text := create(t, source(sample(t)))
	parent := t.TempDir()
	_, err := backup.Restore(t.Context(), bytes.NewReader(text), into(filepath.Join(parent, "new", "data")), refuse)
	if err == nil || !strings.Contains(err.Error(), "the database in the backup is damaged: page 3 is wrong") {
		t.Errorf("error %v", err)
	}
	wantTree(t, parent, map[string]string{})
	data, blobs := t.TempDir(), t.TempDir() // existing ones stay, and stay empty
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{DataDir: data, BlobDir: blobs}, refuse); err == nil {
		t.Error("no error")
	}
	wantTree(t, data, map[string]string{})
	wantTree(t, blobs, map[string]string{})
}

func TestCancelledRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	parent := t.TempDir()
	_, err := backup.Restore(ctx, bytes.NewReader(create(t, source(sample(t)))), into(filepath.Join(parent, "data")), accept)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	wantTree(t, parent, map[string]string{})
}
