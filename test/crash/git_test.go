package crash_test

import (
	"bytes"
	"context"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/failpoint/failpointtest"
)

// TestKilledDuringGit kills the server at every step of a clone and of a push with stock git. Afterwards what is cloned is
// what the workspace has, nothing that was there is lost, nobody is locked out, and the push can be done again.
func TestKilledDuringGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git: it is not installed")
	}
	h := newHouse(t)
	program, err := armed()
	if err != nil {
		t.Fatal(err)
	}
	h.program = program
	base := h.prepare(t)
	fired := map[string]bool{}
	for _, point := range failpointtest.Points(t, "../..", "git.") {
		fired[point] = false
		for _, what := range []string{"clone", "push"} {
			t.Run(point+" "+what, func(t *testing.T) {
				h.restore(t, base)
				if h.killedByGit(t, point, what) {
					fired[point] = true
				}
				h.kill()
			})
		}
	}
	for point, did := range fired {
		if !did {
			t.Errorf("%s was never reached", point)
		}
	}
}

// gitRun runs stock git in a folder.
func (h *house) gitRun(t *testing.T, folder string, arguments ...string) (string, error) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "git", arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &said, &said
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test",
	}
	err := cmd.Run()
	return strings.TrimSpace(said.String()), err
}

// git is gitRun of what has to succeed.
func (h *house) git(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	said, err := h.gitRun(t, folder, arguments...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s\n%s", strings.Join(arguments, " "), err, said, h.logs(t))
	}
	return said
}

// gitURL is the address of the workspace for git.
func (h *house) gitURL(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword("ada", h.token), "/git/shop"
	return u.String()
}

// cloned clones the workspace.
func (h *house) cloned(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "clone")
	h.git(t, "", "clone", "-q", h.gitURL(t), folder)
	return folder
}

// killedByGit clones or pushes while the program is to die at a point, tells whether it did, and looks at what is left.
func (h *house) killedByGit(t *testing.T, point, what string) bool {
	t.Helper()
	var work, before string
	if what == "push" {
		h.start(t)
		work = h.cloned(t)
		before = h.git(t, work, "rev-parse", "HEAD")
		h.kill()
		for name, text := range newDocuments() {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h.git(t, work, "add", "-A")
		h.git(t, work, "commit", "-q", "-m", "New")
	}
	ordinary := h.env
	h.env = append(slices.Clone(ordinary), "FAILPOINT="+point)
	h.start(t)
	h.env = ordinary
	var err error
	if what == "push" {
		_, err = h.gitRun(t, work, "push", "-q")
	} else {
		_, err = h.gitRun(t, "", "clone", "-q", h.gitURL(t), filepath.Join(t.TempDir(), "never"))
	}
	died := err != nil
	if died {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if code, err := h.process.Wait(ctx); err != nil || code != -1 {
			t.Fatalf("exit code %d, error %v: it did not die by a signal\n%s", code, err, h.logs(t))
		}
		h.client.CloseIdleConnections()
		h.start(t)
	}
	after := h.wantSameAsCloned(t)
	if what == "clone" {
		return died
	}
	h.git(t, after, "merge-base", "--is-ancestor", before, "HEAD")
	h.git(t, work, "push", "-q") // again, or there is nothing to push any more
	final := h.wantSameAsCloned(t)
	if want := h.git(t, work, "rev-parse", "HEAD"); h.git(t, final, "rev-parse", "HEAD") != want {
		t.Errorf("what was pushed is not the head:\n%s", h.git(t, final, "log", "--oneline"))
	}
	return died
}

// wantSameAsCloned fails unless a clone has exactly what the workspace has.
func (h *house) wantSameAsCloned(t *testing.T) string {
	t.Helper()
	folder := h.cloned(t)
	want := h.exported(t, h.idOf(t, "shop"))
	got := map[string]string{}
	for name := range strings.FieldsSeq(h.git(t, folder, "ls-files")) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(text)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the clone has\n%v\nthe workspace\n%v", got, want)
	}
	h.git(t, folder, "fsck", "--strict")
	return folder
}
