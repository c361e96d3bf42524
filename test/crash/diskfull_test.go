package crash_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFullDisk fills the disk under the data directory: writes are refused as service_unavailable and leave nothing,
// reads go on, and when there is room again everything works without a restart.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	h := newHouse(t)
	h.dir = filepath.Join(disk, "data")
	h.start(t)
	h.signIn(t)
	var workspace struct{ ID string }
	body := map[string]string{"name": "Full", "slug": "full"}
	if status, err := h.call(t.Context(), http.MethodPost, "/v2/workspaces", "", body, &workspace); err != nil || status != http.StatusCreated {
		t.Fatalf("create: status %d, error %v", status, err)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, filler)

	acked := writeUntilRefused(t, h, workspace.ID)
	for range 3 {
		if failure := emitLarge(t, h, workspace.ID); failure.status != http.StatusServiceUnavailable || failure.Error != "service_unavailable" {
			t.Errorf("write on a full disk: %+v", failure)
		}
		if stored := readEvents(t, h, workspace.ID, eventType); len(stored) != acked {
			t.Errorf("%d events are stored, want the %d acknowledged ones", len(stored), acked)
		}
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	recovered(t, h, workspace.ID)
	if stored := readEvents(t, h, workspace.ID, eventType); len(stored) != acked+1 {
		t.Errorf("%d events are stored, want %d", len(stored), acked+1)
	}
	h.kill() // and what was acknowledged on the way is still there
	h.start(t)
	if stored := readEvents(t, h, workspace.ID, eventType); len(stored) != acked+1 {
		t.Errorf("%d events after a restart, want %d", len(stored), acked+1)
	}
}

// smallDisk is a disk of its own, of 48 MB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("SKIPPED: full disk: a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until nothing fits any more.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	chunk := make([]byte, 4096)
	for {
		if _, err := file.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// refusal is an answer that may be an error.
type refusal struct {
	status int
	Error  string
}

// emitLarge emits an event that needs room.
func emitLarge(t *testing.T, h *house, workspaceID string) refusal {
	t.Helper()
	body := map[string]any{"events": []any{map[string]any{"type": eventType, "payload": map[string]string{"text": strings.Repeat("x", 60_000)}}}}
	var r refusal
	status, err := h.call(t.Context(), http.MethodPost, "/v2/workspaces/"+workspaceID+"/events", "", body, &r)
	if err != nil && status != http.StatusOK { // events are a list, which is not looked at
		t.Fatal(err)
	}
	r.status = status
	return r
}

// writeUntilRefused uses up the room that is left inside the database, and tells how many events were taken.
func writeUntilRefused(t *testing.T, h *house, workspaceID string) int {
	t.Helper()
	const most = 1000
	for acked := range most {
		if emitLarge(t, h, workspaceID).status != http.StatusOK {
			return acked
		}
	}
	t.Fatalf("%d events were taken on a full disk", most)
	return 0
}

// recovered writes until it works again, which must be soon.
func recovered(t *testing.T, h *house, workspaceID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		last := emitLarge(t, h, workspaceID)
		if last.status == http.StatusOK {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("it does not recover: %+v", last)
		}
	}
}
