package fsblob_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/blob"
	"atelier/internal/blob/fsblob"
)

func open(t *testing.T, dir string) *fsblob.Store {
	t.Helper()
	store, err := fsblob.Open(dir)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func put(t *testing.T, store *fsblob.Store, text string) blob.Info {
	t.Helper()
	info, err := store.Put(t.Context(), strings.NewReader(text), 0)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return info
}

func readAll(t *testing.T, store *fsblob.Store, hash string) (string, error) {
	t.Helper()
	r, err := store.Open(t.Context(), hash, 0, -1)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

func pathOf(dir, hash string) string {
	digits := strings.TrimPrefix(hash, "sha256:")
	return filepath.Join(dir, digits[:2], digits[2:])
}

func temporaryFiles(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func wantNoTemporaryFiles(t *testing.T, dir string) {
	t.Helper()
	if n := len(temporaryFiles(t, dir)); n != 0 {
		t.Errorf("%d temporary files are left", n)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
