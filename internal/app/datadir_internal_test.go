package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/config"
	"atelier/internal/ident"
)

func TestDataDirIsForOneProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	lock, err := LockDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockDataDir(dir); err == nil || !strings.Contains(err.Error(), "another Atelier process is using the data directory "+dir) {
		t.Errorf("error %v, want that it is in use", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := LockDataDir(dir)
	if err != nil {
		t.Fatalf("after its process is gone: %v", err)
	}
	_ = again.Close()
	if err := os.Mkdir(filepath.Join(dir, "restore.part"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LockDataDir(dir); err == nil || !strings.Contains(err.Error(), "a backup is being restored into the data directory") {
		t.Errorf("error %v, want that it is being restored", err)
	}
}

func TestInternalKeyIsKept(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Target: []string{"all"}, DataDir: filepath.Join(t.TempDir(), "data")}
	path := filepath.Join(cfg.DataDir, "internal.key")
	first, err := internalKey(cfg, ident.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || len(first) < 24 {
		t.Errorf("%v, error %v, %d characters", info.Mode(), err, len(first))
	}
	if second, err := internalKey(cfg, ident.Source{}); err != nil || second != first {
		t.Errorf("error %v, or another key", err)
	}
	if err := os.WriteFile(path, []byte(" \n"), 0o600); err != nil { // a disk that was full
		t.Fatal(err)
	}
	if third, err := internalKey(cfg, ident.Source{}); err != nil || third == "" || third == first {
		t.Errorf("error %v, want a new key", err)
	}
	cfg.InternalAPIKey = "configured"
	if key, err := internalKey(cfg, ident.Source{}); err != nil || key != "configured" {
		t.Errorf("%q, error %v", key, err)
	}
	cfg.InternalAPIKey, cfg.Target = "", []string{"gateway"}
	if _, err := internalKey(cfg, ident.Source{}); err == nil || !strings.HasPrefix(err.Error(), "INTERNAL_API_KEY: ") {
		t.Errorf("error %v, want that the key must be set", err)
	}
}

func TestBlobDir(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]config.Config{
		"d/blobs":    {DataDir: "d", StorageType: "FILESYSTEM"},
		"/elsewhere": {DataDir: "d", StorageType: "FILESYSTEM", StorageDir: "/elsewhere"},
		"":           {DataDir: "d", StorageType: "S3_LIKE", StorageDir: "/elsewhere"},
	} {
		if got := BlobDir(cfg); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
