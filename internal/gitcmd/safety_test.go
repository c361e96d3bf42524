package gitcmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/gitcmd"
)

// Nothing of our own environment reaches git: not a secret, not a setting.
func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("ATELIER_SECRET", "hunter2")
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'alias.evil'='!touch /tmp/evil'")
	t.Setenv("GIT_SSH_COMMAND", "touch /tmp/evil")
	t.Setenv("GIT_ASKPASS", "/tmp/evil")
	git := open(t, "")
	got, err := run(t, git, newRepository(t, git), gitcmd.NewCommand("-c", "alias.env=!env", "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"hunter2", "evil", "/elsewhere"} {
		if strings.Contains(got, bad) {
			t.Errorf("git sees %q in:\n%s", bad, got)
		}
	}
	for _, want := range []string{
		"HOME=/dev/null/nowhere", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null/nowhere", "GIT_ALLOW_PROTOCOL=https:ssh",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
}

func TestCertificateBundle(t *testing.T) {
	t.Parallel()
	for bundle, want := range map[string]bool{"": false, "/somewhere/bundle.pem": true} {
		git, err := gitcmd.Open(t.Context(), gitcmd.Config{CABundle: bundle})
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(t, git, newRepository(t, git), gitcmd.NewCommand("-c", "alias.env=!env", "env"))
		if err != nil || strings.Contains(got, "GIT_SSL_CAINFO="+bundle) != want {
			t.Errorf("with %q: %v, git sees:\n%s", bundle, err, got)
		}
	}
}

// B-GIT-01: protocols that run programs, read files or travel in the clear.
func TestForbiddenProtocols(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	repository := newRepository(t, git)
	marker := filepath.Join(t.TempDir(), "touched")
	for _, url := range []string{
		"ext::sh -c touch% " + marker, "fd::3", "file://" + repository, repository, "git://127.0.0.1:1/x", "http://127.0.0.1:1/x", "ftp://127.0.0.1:1/x",
	} {
		_, err := run(t, git, "", gitcmd.NewCommand("ls-remote").Values(url))
		if err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v, want git to refuse the protocol", url, err)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a URL was executed")
	}
}

// B-GIT-08: hooks of a repository never run, neither those in its folder nor those its configuration names.
func TestHooksNeverRun(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	for _, folder := range []string{"hooks", "configured"} {
		repository := newRepository(t, git)
		hooks, marker := filepath.Join(repository, folder), filepath.Join(t.TempDir(), "touched")
		if err := os.MkdirAll(hooks, 0o700); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\ntouch '" + marker + "'\n"
		if err := os.WriteFile(filepath.Join(hooks, "reference-transaction"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if folder != "hooks" {
			if _, err := run(t, git, repository, gitcmd.NewCommand("config", "--local").Values("core.hooksPath", hooks)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := run(t, git, repository, gitcmd.NewCommand("hash-object", "-w", "-t", "tree", "--stdin")); err != nil {
			t.Fatal(err)
		}
		const tag = "create refs/tags/x 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n" // the empty tree
		if err := git.Run(t.Context(), repository, gitcmd.NewCommand("update-ref", "--stdin"), strings.NewReader(tag), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Errorf("a hook of %s ran", folder)
		}
	}
}

// The repository is the one that was named, not one found in a parent folder.
func TestRepositoryIsNotSearchedFor(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	inside := filepath.Join(newRepository(t, git), "refs")
	if got, err := run(t, git, inside, gitcmd.NewCommand("rev-parse", "--git-dir")); err == nil {
		t.Errorf("%s was found instead of the folder named", got)
	}
}

// A command without a repository has none, wherever it happens to run. Looked at, not tried: if this ever breaks, a
// command that writes would write into the root of the machine.
func TestNoRepositoryIsNowhere(t *testing.T) {
	t.Parallel()
	got, err := run(t, open(t, ""), "", gitcmd.NewCommand("-c", "alias.env=!env", "env"))
	if err != nil || !strings.Contains(got, "GIT_DIR=/dev/null/nowhere") {
		t.Errorf("%v, git sees:\n%s", err, got)
	}
}

func TestComplaintsAreBoundedAndPrintable(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	_, err := run(t, git, newRepository(t, git), gitcmd.NewCommand("-c", `alias.shout=!printf '\033[31mred\007' >&2; head -c 100000 /dev/zero | tr '\0' x >&2; exit 3`, "shout"))
	if err == nil || len(err.Error()) > 9000 || strings.ContainsAny(err.Error(), "\x1b\x07") || !strings.Contains(err.Error(), "red") {
		t.Errorf("got %.100q, %d bytes", err, len(err.Error()))
	}
}
