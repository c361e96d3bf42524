package fsblob

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"atelier/internal/blob"
)

// F-STO-05: after a failed sync nothing is acknowledged any more, also when later syncs claim to succeed.
func TestFailedSyncIsRemembered(t *testing.T) {
	t.Parallel()
	store := openFailing(t, &os.PathError{Op: "fsync", Err: syscall.EIO})
	if _, err := store.Put(t.Context(), strings.NewReader("x"), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("Put = %v, want EIO", err)
	}
	store.sync = (*os.File).Sync
	if _, err := store.Put(t.Context(), strings.NewReader("x"), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("the next Put = %v, want the earlier EIO", err)
	}
	if err := store.Ping(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("Ping = %v, want the earlier EIO", err)
	}
	wantEmpty(t, store)
}

// F-STO-03: a full disk ends by itself.
func TestFullDiskIsForgotten(t *testing.T) {
	t.Parallel()
	store := openFailing(t, &os.PathError{Op: "fsync", Err: syscall.ENOSPC})
	if _, err := store.Put(t.Context(), strings.NewReader("x"), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Put = %v, want ENOSPC", err)
	}
	wantEmpty(t, store)
	store.sync = (*os.File).Sync
	if _, err := store.Put(t.Context(), strings.NewReader("x"), 0); err != nil {
		t.Errorf("Put after space came back: %v", err)
	}
}

func openFailing(t *testing.T, failure error) *Store {
	t.Helper()
	store, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	store.sync = func(*os.File) error { return failure }
	return store
}

func wantEmpty(t *testing.T, store *Store) {
	t.Helper()
	if err := store.Walk(t.Context(), func(info blob.Info) error { return errors.New(info.Hash) }); err != nil {
		t.Errorf("something was kept: %v", err)
	}
}
