package crash_test

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFailedSync lets every sync of the disk fail: nothing is acknowledged any more and the process ends with code 1, for a
// second sync that succeeds would not mean that the first one's bytes are on disk. Afterwards all that was acknowledged is
// there.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("SKIPPED: failing sync: strace is not installed")
	}
	h := newHouse(t)
	h.start(t)
	h.signIn(t)
	good := &workspaceEntry{slug: "good"}
	if status, err := good.send(h); err != nil || status != http.StatusCreated {
		t.Fatalf("create: status %d, error %v", status, err)
	}
	failSyncs(t, h.process.PID())
	bad := &workspaceEntry{slug: "bad"}
	if status, err := bad.send(h); err == nil && status != http.StatusServiceUnavailable {
		t.Errorf("a write whose sync fails: status %d", status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if code, err := h.process.Wait(ctx); err != nil || code != 1 {
		t.Errorf("exit code %d, error %v, want 1", code, err)
	}
	if !strings.Contains(h.logs(t), "atelier: the database failed to write to disk") {
		t.Errorf("it does not say why it ended:\n%s", h.logs(t))
	}
	h.client.CloseIdleConnections()
	h.start(t)
	var found []struct{ ID string }
	read(t, h, "/v2/workspaces?slug=good", &found)
	if len(found) != 1 || found[0].ID != good.id {
		t.Errorf("the acknowledged workspace: %v", found)
	}
}

// failSyncs makes every sync of the process fail from now on.
func failSyncs(t *testing.T, pid int) {
	t.Helper()
	const syncs = "fsync,fdatasync"
	cmd := exec.Command("strace", "-f", "-p", strconv.Itoa(pid), "-e", "trace="+syncs, "-e", "inject="+syncs+":error=EIO")
	said := &lockedBuffer{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(said.String(), "attached") {
		select {
		case <-ended:
			t.Skipf("SKIPPED: failing sync: strace cannot attach here: %s", said)
		case <-tick.C:
		}
	}
}

// lockedBuffer is written by a process while the test reads it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
