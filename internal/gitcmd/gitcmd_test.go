package gitcmd_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/gitcmd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *gitcmd.Git {
	t.Helper()
	git, err := gitcmd.Open(t.Context(), gitcmd.Config{Path: path})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return git
}

// fake is a program of testdata that pretends to be git.
func fake(t *testing.T, name string) *gitcmd.Git {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

func run(t *testing.T, git *gitcmd.Git, repository string, command gitcmd.Command) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a forbidden protocol could wait for ever
	defer cancel()
	var out strings.Builder
	err := git.Run(ctx, repository, command, nil, &out)
	return strings.TrimSpace(out.String()), err
}

func newRepository(t *testing.T, git *gitcmd.Git) string {
	t.Helper()
	repository := filepath.Join(t.TempDir(), "repository")
	if _, err := run(t, git, repository, gitcmd.NewCommand("init", "--quiet", "--bare")); err != nil {
		t.Fatal(err)
	}
	return repository
}

func TestInstalledGitPasses(t *testing.T) {
	git := open(t, "")
	if git.Version().Before(gitcmd.Version{Major: 2, Minor: 38}) {
		t.Skipf("SKIPPED: git: %s is too old", git.Version())
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := git.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("the check left %v, %v", left, err)
	}
}

func TestUnusableGits(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"git-2.30":            "git 2.30.0 at ",
		"git-crashes":         "ended with code 134: BUG: non-INDEX",
		"git-never-conflicts": "the conflicting one: false",
		"git-says-nothing":    "named no merged tree",
	} {
		if err := fake(t, name).Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/missing", "/nowhere/git", "testdata/not-git", "no-such-program"} {
		if _, err := gitcmd.Open(t.Context(), gitcmd.Config{Path: path}); err == nil {
			t.Errorf("%s was taken for git", path)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"git-2.30": "2.30.0", "git-never-conflicts": "2.45.1", "git-says-nothing": "2.40.0"} {
		if got := fake(t, name).Version().String(); got != want {
			t.Errorf("%s: version %s, want %s", name, got, want)
		}
	}
	ordered := []gitcmd.Version{{1, 9, 9}, {2, 9, 5}, {2, 38, 0}, {2, 38, 1}, {2, 39, 0}, {3, 0, 0}}
	for i, v := range ordered {
		for j, other := range ordered {
			if v.Before(other) != (i < j) {
				t.Errorf("%s before %s: %t", v, other, v.Before(other))
			}
		}
	}
}

func TestValuesAreNeverOptions(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	marker := filepath.Join(t.TempDir(), "touched")
	for _, value := range []string{"--upload-pack=touch " + marker, "-u", "-", "--", "", "a\x00b"} {
		_, err := run(t, git, "", gitcmd.NewCommand("ls-remote").Values(value))
		if _, reached := errors.AsType[*gitcmd.ExitError](err); err == nil || reached {
			t.Errorf("%q reached git: %v", value, err)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a value was executed")
	}
}

func TestValuesComeLast(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	repository := newRepository(t, git)
	base := gitcmd.NewCommand("rev-parse", "--sq-quote")
	one, two := base.Values("one"), base.Values("two", "$(id)")
	for want, command := range map[string]gitcmd.Command{"'--' 'one'": one, "'--' 'two' '$(id)'": two} {
		if got, err := run(t, git, repository, command); err != nil || got != want {
			t.Errorf("git saw %s, %v, want %s", got, err, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	_, err := run(t, git, newRepository(t, git), gitcmd.NewCommand("cat-file", "-t").Values("HEAD"))
	exit, ok := errors.AsType[*gitcmd.ExitError](err)
	if !ok || exit.Code != 128 || !strings.Contains(exit.Stderr, "HEAD") || exit.Command != "git cat-file" {
		t.Errorf("got %#v, want code 128 with what git said", err)
	}
}

// When we are killed, git does not live on: a push that nobody knows of any more must not arrive.
func TestEndsWithUs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux ends children with their parent")
	}
	const role = "ATELIER_TEST_SLEEPER"
	if os.Getenv(role) != "" {
		_ = fake(t, "git-sleeps").Run(t.Context(), "", gitcmd.NewCommand("push"), nil, os.Stdout)
		return
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	us := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEndsWithUs$")
	us.Env, us.Stdout = append(os.Environ(), role+"=1"), writer
	if err := us.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	lines := bufio.NewReader(reader)
	if line, err := lines.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = us.Process.Kill()
	_ = us.Wait()
	_ = reader.SetReadDeadline(clock.System{}.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("git lives on: %v", err)
	}
}

func TestEverythingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	git := fake(t, "git-hangs")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- git.Run(ctx, "", gitcmd.NewCommand("fetch"), nil, writer) }()
	if _, err := reader.Read(make([]byte, 1)); err != nil { // git and its helper run
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want context.Canceled", err)
	}
	_ = writer.Close()
	// The helper holds the other end of the pipe: the output ends when the helper does.
	_ = reader.SetReadDeadline(clock.System{}.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, reader); err != nil {
		t.Errorf("the helper lives on: %v", err)
	}
}
