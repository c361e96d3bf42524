package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"atelier/internal/backup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 7, 8, 9, 10, 11, 0, time.FixedZone("UTC+12:45", 45900))

// snapshot stands for the engine's copy of its database.
func snapshot(text string) func(context.Context, string) error {
	return func(_ context.Context, path string) error { return os.WriteFile(path, []byte(text), 0o600) }
}

// accept stands for the engine's look at a good database.
func accept(context.Context, string) error { return nil }

// blobPath is the path of a content below its directory.
func blobPath(content string) string {
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	return hash[:2] + "/" + hash[2:]
}

// files writes files below a new directory.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tree reads every file below a directory; a directory without anything is there with a slash behind it.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if !entry.IsDir() {
			text, err := os.ReadFile(path)
			texts[filepath.ToSlash(name)] = string(text)
			return err
		}
		inside, err := os.ReadDir(path)
		if len(inside) == 0 && path != dir {
			texts[filepath.ToSlash(name)+"/"] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func wantTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// sample is a data directory as a running server has it, with what does not belong into a backup.
func sample(t *testing.T) string {
	t.Helper()
	return files(t, map[string]string{
		"atelier.db": "live, never read", "atelier.db-wal": "live", "atelier.lock": "", "internal.key": "the key\n",
		"blobs/" + blobPath("one"): "one", "blobs/" + blobPath("two"): "two", "blobs/" + blobPath(""): "",
		"blobs/tmp/1234": "half-written", "blobs/README": "not a content", "blobs/" + strings.ToUpper(blobPath("three")): "three",
	})
}

func restored() map[string]string {
	return map[string]string{
		"atelier.db": "the database", "internal.key": "the key\n",
		"blobs/" + blobPath("one"): "one", "blobs/" + blobPath("two"): "two", "blobs/" + blobPath(""): "",
	}
}

func source(dir string) backup.Source {
	return backup.Source{
		Snapshot: snapshot("the database"), DataDir: dir, BlobDir: filepath.Join(dir, "blobs"), Version: "1.2.3", Now: now,
	}
}

// create makes a backup and gives its bytes.
func create(t *testing.T, s backup.Source) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup")
	if _, err := backup.Create(t.Context(), path, s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func into(dir string) backup.Target {
	return backup.Target{DataDir: dir, BlobDir: filepath.Join(dir, "blobs")}
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	dir := sample(t)
	before := tree(t, dir)
	out := t.TempDir()
	made, err := backup.Create(t.Context(), filepath.Join(out, "backup"), source(dir))
	if err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, before) // it leaves no trace
	if names := tree(t, out); len(names) != 1 || len(made.Files) != len(restored()) {
		t.Errorf("%d files beside each other, manifest %v", len(names), made)
	}
	text, err := os.ReadFile(filepath.Join(out, "backup"))
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "new", "data")
	manifest, err := backup.Restore(t.Context(), bytes.NewReader(text), into(target), func(_ context.Context, path string) error {
		if database, err := os.ReadFile(path); err != nil || string(database) != "the database" {
			t.Errorf("given to check: %q, error %v", database, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, manifest); diff != "" || manifest.Version != "1.2.3" || !manifest.CreatedAt.Equal(now) {
		t.Errorf("manifest %v\n%s", manifest, diff)
	}
	wantTree(t, target, restored())
	wantPrivate(t, target)
}

func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, error %v: for its owner alone", path, info.Mode(), err)
		}
		return nil
	})
}

func TestBackupFileIsWholeOrAbsent(t *testing.T) {
	t.Parallel()
	dir, out := sample(t), t.TempDir()
	path := filepath.Join(out, "backup")
	failing := source(dir)
	failing.Snapshot = func(_ context.Context, path string) error {
		return errors.Join(os.WriteFile(path, []byte("half"), 0o600), errors.New("no space"))
	}
	if _, err := backup.Create(t.Context(), path, failing); err == nil || !strings.Contains(err.Error(), "copy the database: no space") {
		t.Errorf("error %v", err)
	}
	wantTree(t, out, map[string]string{})
	cancelled, cancel := context.WithCancel(t.Context())
	ending := source(dir)
	ending.Snapshot = func(ctx context.Context, path string) error {
		cancel()
		return snapshot("the database")(ctx, path)
	}
	if _, err := backup.Create(cancelled, path, ending); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	wantTree(t, out, map[string]string{})
}

func TestBackupUsesUpWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	out := files(t, map[string]string{"backup.part": strings.Repeat("x", 10000), "backup.part.db": "half", "backup": "the one before"})
	if _, err := backup.Create(t.Context(), filepath.Join(out, "backup"), source(sample(t))); err != nil {
		t.Fatal(err)
	}
	text := tree(t, out)["backup"]
	if _, err := backup.Restore(t.Context(), strings.NewReader(text), into(filepath.Join(t.TempDir(), "data")), accept); err != nil || len(tree(t, out)) != 1 {
		t.Errorf("error %v, files %v", err, len(tree(t, out)))
	}
}

func TestTwoBackupsToOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "backup")
	slow := source(sample(t))
	slow.Snapshot = func(ctx context.Context, to string) error {
		if _, err := backup.Create(ctx, path, source(sample(t))); err == nil || !strings.Contains(err.Error(), "another backup to "+path+" is being made") {
			t.Errorf("error %v, want that it is being made already", err)
		}
		return snapshot("the database")(ctx, to)
	}
	if _, err := backup.Create(t.Context(), path, slow); err != nil {
		t.Error(err)
	}
}

func TestBackupWithoutContents(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]backup.Source{
		"nothing stored": source(files(t, map[string]string{"internal.key": "k"})),
		"in a bucket":    {Snapshot: snapshot("the database"), DataDir: files(t, map[string]string{"internal.key": "k", "blobs/" + blobPath("old"): "old"})},
	} {
		target := filepath.Join(t.TempDir(), "data")
		if _, err := backup.Restore(t.Context(), bytes.NewReader(create(t, s)), into(target), accept); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantTree(t, target, map[string]string{"atelier.db": "the database", "internal.key": "k"})
	}
}

func TestBackupNotesDamagedContents(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"blobs/" + blobPath("good"): "good", "blobs/" + blobPath("was good"): "is bad"})
	manifest, err := backup.Create(t.Context(), filepath.Join(t.TempDir(), "backup"), source(dir))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"blobs/" + blobPath("was good")}, manifest.Damaged); diff != "" {
		t.Error(diff)
	}
	target := filepath.Join(t.TempDir(), "data")
	if _, err := backup.Restore(t.Context(), bytes.NewReader(create(t, source(dir))), into(target), accept); err != nil {
		t.Error(err)
	}
	if tree(t, target)["blobs/"+blobPath("was good")] != "is bad" {
		t.Error("it is restored as it was")
	}
}
