// Package gittest starts real Git servers for tests: git http-backend behind TLS, and sshd. They need git, and for SSH an
// OpenSSH server, and listen on 127.0.0.1 only.
package gittest

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"atelier/internal/gitcmd"
)

// Server is a Git server with bare repositories below one folder. It ends with its test.
type Server struct {
	// CAFile holds the authority that signed the certificate of an https server, for gitcmd.Config.CABundle or
	// EXTRA_CA_CERTS.
	CAFile string
	// SSHKey is a private key that the SSH server accepts, KnownHosts its own key as a list of known hosts.
	SSHKey, KnownHosts string

	t        testing.TB
	root     string
	base     string // of every URL
	requests atomic.Int64

	mu             sync.Mutex
	user, password string
	web            *web
	shell          *shell
}

// Addr is where the server listens.
func (s *Server) Addr() netip.AddrPort {
	if s.web != nil {
		return netip.MustParseAddrPort(s.web.listener.Addr().String())
	}
	return netip.MustParseAddrPort(s.shell.listener.Addr().String())
}

// Requests is how many requests (https) or connections (SSH) the server got.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// Path is the folder of a repository, for git commands of a test.
func (s *Server) Path(name string) string { return filepath.Join(s.root, name+".git") }

// URL is the address of a repository, whether it exists or not.
func (s *Server) URL(name string) string { return s.base + name + ".git" }

// Remote is a repository with the right credentials.
func (s *Server) Remote(name string) gitcmd.Remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	return gitcmd.Remote{
		URL: s.URL(name), User: s.user, Password: s.password, SSHKey: s.SSHKey, KnownHosts: s.KnownHosts, IP: s.Addr().Addr(),
	}
}

// Create makes an empty bare repository that can be pushed to, and returns its folder.
func (s *Server) Create(name string) string {
	s.t.Helper()
	path := s.Path(name)
	Run(s.t, "", "init", "--quiet", "--bare", "--initial-branch=main", path)
	Run(s.t, path, "config", "http.receivepack", "true")
	return path
}

// Commit puts a commit onto a branch of a repository, on top of what is there, as somebody else would: files are written,
// those with a nil text removed. It returns the commit.
func (s *Server) Commit(name, branch string, files map[string][]byte) string {
	s.t.Helper()
	ref := "refs/heads/" + branch
	parent := Lookup(s.t, s.Path(name), ref)
	var script bytes.Buffer
	fmt.Fprintf(&script, "commit %s\ncommitter Somebody Else <else@example.com> 1700000000 +0000\ndata 5\nelse\n\n", ref)
	if parent != "" {
		fmt.Fprintf(&script, "from %s\n", parent)
	}
	for path, text := range files {
		if text == nil {
			fmt.Fprintf(&script, "D %s\n", path)
			continue
		}
		fmt.Fprintf(&script, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
	}
	feed(s.t, s.Path(name), &script, "fast-import", "--quiet", "--force")
	return Lookup(s.t, s.Path(name), ref)
}

// Lookup is the object that a ref of a repository points to, empty when there is none.
func Lookup(t testing.TB, repository, ref string) string {
	t.Helper()
	out, err := command(t, repository, nil, "rev-parse", "--verify", "--quiet", ref).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Run runs git in a folder as a user would, without any configuration of this machine, and returns what it printed. The
// test ends when it fails.
func Run(t testing.TB, folder string, arguments ...string) string {
	t.Helper()
	return feed(t, folder, nil, arguments...)
}

func feed(t testing.TB, folder string, in *bytes.Buffer, arguments ...string) string {
	t.Helper()
	c := command(t, folder, in, arguments...)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, &complaints)
	}
	return strings.TrimSpace(string(out))
}

func command(t testing.TB, folder string, in *bytes.Buffer, arguments ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", arguments...) //nolint:gosec // of a test
	c.Dir, c.Env = folder, environment()
	if in != nil {
		c.Stdin = in
	}
	return c
}

// environment is that of a user without configuration.
func environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=Somebody Else", "GIT_AUTHOR_EMAIL=else@example.com",
		"GIT_COMMITTER_NAME=Somebody Else", "GIT_COMMITTER_EMAIL=else@example.com",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
	}
}

// write writes a file that only we can read.
func write(t testing.TB, path string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
}

// Merge puts a merge commit onto a branch of a repository, as somebody with a Git client would: its tree is that of the last
// parent with these files written, or removed where the text is nil. It returns the commit.
func (s *Server) Merge(name, branch string, parents []string, files map[string][]byte) string {
	s.t.Helper()
	ref := "refs/heads/" + branch
	var script bytes.Buffer
	fmt.Fprintf(&script, "commit %s\ncommitter Somebody Else <else@example.com> 1700000000 +0000\ndata 5\nelse\n\nfrom %s\n", ref, parents[0])
	for _, parent := range parents[1:] {
		fmt.Fprintf(&script, "merge %s\n", parent)
	}
	fmt.Fprintf(&script, "M 040000 %s \n", strings.TrimSpace(Run(s.t, s.Path(name), "rev-parse", parents[len(parents)-1]+"^{tree}")))
	for path, text := range files {
		if text == nil {
			fmt.Fprintf(&script, "D %s\n", path)
			continue
		}
		fmt.Fprintf(&script, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
	}
	feed(s.t, s.Path(name), &script, "fast-import", "--quiet", "--force")
	return Lookup(s.t, s.Path(name), ref)
}

// Feed runs git in a folder with a text as its input.
func Feed(t testing.TB, folder, input string, arguments ...string) {
	t.Helper()
	feed(t, folder, bytes.NewBufferString(input), arguments...)
}
