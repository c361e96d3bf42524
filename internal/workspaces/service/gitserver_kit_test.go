package service_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/gitcmd"
	"atelier/internal/workspaces/service"
)

// forge is a cabinet whose workspaces git clients can clone.
type forge struct {
	*cabinet

	folder string
}

// eachForge runs a test on a new forge, on every engine.
func eachForge(t *testing.T, run func(t *testing.T, f *forge)) {
	t.Helper()
	program, err := gitcmd.Open(t.Context(), gitcmd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		f := &forge{cabinet: c, folder: t.TempDir()}
		c.deps.Versioning = service.Versioning{Git: program, Folder: f.folder}
		c.open()
		run(t, f)
	})
}

// again is the same installation in another process: only the database and the blob store are shared.
func (f *forge) again(t *testing.T) *forge {
	t.Helper()
	house := *f.house
	other := &forge{cabinet: &cabinet{house: &house, blobs: f.blobs, photos: f.photos}, folder: t.TempDir()}
	house.deps.Versioning.Folder = other.folder
	other.open()
	return other
}

// listen serves the forge to a caller, as the gateway would.
func (f *forge) listen(t *testing.T, c *caller) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.door.ServeHTTP(w, r.WithContext(access.With(r.Context(), c.who)))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/git/"
}

// repo is a folder in which stock git runs.
type repo struct {
	t      *testing.T
	folder string
}

// clone clones a workspace at an address as a caller.
func (f *forge) clone(t *testing.T, c *caller, at string, options ...string) *repo {
	t.Helper()
	r := &repo{t: t, folder: filepath.Join(t.TempDir(), "clone")}
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git(append(append([]string{"clone", "-q"}, options...), f.listen(t, c)+strings.TrimPrefix(at, workspacesPath), ".")...)
	return r
}

// try runs git and gives what it said.
func (r *repo) try(arguments ...string) (string, error) {
	r.t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(r.t.Context(), "git", arguments...) //nolint:forbidigo // a client, as users have it
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.folder, &said, &said
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(r.folder), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", //nolint:forbidigo // of the client
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.test", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.test",
	}
	err := cmd.Run()
	return said.String(), err
}

// git runs a command that has to succeed, and gives what it said.
func (r *repo) git(arguments ...string) string {
	r.t.Helper()
	said, err := r.try(arguments...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, said)
	}
	return strings.TrimSpace(said)
}

// refused runs a command that has to fail, and to say all of these.
func (r *repo) refused(arguments []string, want ...string) {
	r.t.Helper()
	said, err := r.try(arguments...)
	if err == nil {
		r.t.Errorf("git %s succeeded\n%s", strings.Join(arguments, " "), said)
	}
	for _, part := range want {
		if !strings.Contains(said, part) {
			r.t.Errorf("git %s does not say %q:\n%s", strings.Join(arguments, " "), part, said)
		}
	}
}

// write writes files, names and texts in turns; an empty text removes one.
func (r *repo) write(namesAndTexts ...string) *repo {
	r.t.Helper()
	for i := 0; i+1 < len(namesAndTexts); i += 2 {
		path := filepath.Join(r.folder, namesAndTexts[i])
		if namesAndTexts[i+1] == "" {
			if err := os.Remove(path); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(namesAndTexts[i+1]), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	return r
}

// commit commits everything.
func (r *repo) commit() *repo {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "A change")
	return r
}

func (r *repo) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

func (r *repo) head() string { r.t.Helper(); return r.git("rev-parse", "HEAD") }

// push is a push of main that is to be refused.
func push(options ...string) []string {
	return append([]string{"push", "origin", "HEAD:main"}, options...)
}

// wantNoLeftOvers fails when a quarantine or a spooled pack is left on the disk.
func (f *forge) wantNoLeftOvers() {
	f.t.Helper()
	for _, pattern := range []string{".pack-*", "served/*.git/objects/tmp_objdir-*"} {
		found, err := filepath.Glob(filepath.Join(f.folder, pattern))
		if err != nil || len(found) > 0 {
			f.t.Errorf("left over: %v %v", found, err)
		}
	}
}
