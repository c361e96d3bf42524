// Package browser_test reads the pages of a server with a real browser.
package browser_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// limit is far more than the checks take; it ends a browser that hangs.
const limit = 5 * time.Minute

// TestDocs checks the page at /docs of a whole server. The checks themselves are in docs.test.mjs.
func TestDocs(t *testing.T) {
	tools, err := findTools()
	if err != nil {
		absent(t, err)
	}
	server := apptest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	checks := exec.CommandContext(ctx, tools.node, "--test-reporter=spec", "docs.test.mjs")
	checks.Env = append(os.Environ(), "DOCS_SERVER="+server.URL, "DOCS_BROWSER="+tools.chromium, "DOCS_PROFILE="+t.TempDir(),
		"DOCS_EMAIL="+apptest.AdminEmail, "DOCS_PASSWORD="+apptest.AdminPassword, "NO_COLOR=1")
	// Asked to end, the driver closes the browser; killed, it would leave it behind.
	checks.Cancel = func() error { return checks.Process.Signal(syscall.SIGTERM) }
	checks.WaitDelay = 10 * time.Second
	output, err := checks.CombinedOutput()
	if err != nil {
		t.Fatalf("the checks failed: %v\n%s", err, output)
	}
	t.Logf("\n%s", output)
}

type tools struct {
	node, chromium string
}

// findTools looks for what scripts/browser provides. TEST_BROWSER may name the browser.
func findTools() (tools, error) {
	browser := os.Getenv("TEST_BROWSER")
	if !strings.ContainsRune(browser, filepath.Separator) {
		browser = "chromium"
	}
	chromium, err1 := exec.LookPath(browser)
	node, err2 := exec.LookPath("node")
	_, err3 := os.Stat(filepath.Join("node_modules", "playwright-core"))
	if err := cmp.Or(err1, err2, err3); err != nil {
		return tools{}, fmt.Errorf("run scripts/browser first: %w", err)
	}
	return tools{node: node, chromium: chromium}, nil
}

// absent skips the test loudly, unless somebody counts on it.
func absent(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("TEST_BROWSER") != "" {
		t.Fatalf("browser: %v", err)
	}
	t.Skipf("SKIPPED: browser: %v", err)
}
