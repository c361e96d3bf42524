package crash_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStopAndStartAreQuickAndQuiet restarts the server the way an update does.
func TestStopAndStartAreQuickAndQuiet(t *testing.T) {
	h := newHouse(t)
	h.start(t)
	h.signIn(t)
	const rounds, stopWithin = 5, 2 * time.Second
	for round := range rounds {
		asked := time.Now()
		if err := h.process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		code, err := h.process.Wait(ctx)
		cancel()
		if took := time.Since(asked); err != nil || code != 0 || took > stopWithin {
			t.Errorf("stopped after %v with code %d, error %v", took, code, err)
		}
		if lines := strings.Count(h.logs(t), "\n"); round > 0 && lines != 1 {
			t.Errorf("it said more than that it is ready:\n%s", h.logs(t))
		}
		if took := h.start(t); took > readyWithin {
			t.Errorf("ready after %v", took)
		}
	}
}
