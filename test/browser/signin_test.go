package browser_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// registration opens the registration of clients.
const registration = "a registration token for tests"

// TestSignIn signs up and in on the pages of a whole server. The checks themselves are in signin.test.mjs.
func TestSignIn(t *testing.T) {
	tools, err := findTools()
	if err != nil {
		absent(t, err)
	}
	server := apptest.New(t, "ACCOUNT_VALIDATION_METHOD=auto", "RATE_LIMIT_SIGNUP=1000", "OIDC_CLIENT_REGISTRATION_TOKEN="+registration)
	strict := apptest.New(t, "MFA_FORCE_LOCAL=yes")
	// Passkeys belong to a name, and localhost is one that browsers trust without TLS.
	address := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	checks := exec.CommandContext(ctx, tools.node, "--test-reporter=spec", "signin.test.mjs")
	checks.Env = append(os.Environ(), "SIGNIN_SERVER="+address, "SIGNIN_BROWSER="+tools.chromium, "SIGNIN_REGISTRATION="+registration,
		"SIGNIN_STRICT="+strict.URL, "SIGNIN_STRICT_EMAIL="+apptest.AdminEmail, "SIGNIN_STRICT_PASSWORD="+apptest.AdminPassword, "NO_COLOR=1")
	// Asked to end, the driver closes the browser; killed, it would leave it behind.
	checks.Cancel = func() error { return checks.Process.Signal(syscall.SIGTERM) }
	checks.WaitDelay = 10 * time.Second
	output, err := checks.CombinedOutput()
	if err != nil {
		t.Fatalf("the checks failed: %v\n%s", err, output)
	}
	t.Logf("\n%s", output)
}
