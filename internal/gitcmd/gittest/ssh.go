package gittest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// shell is the SSH side of a server: each connection gets an sshd of its own, so that no port has to be guessed.
type shell struct {
	listener net.Listener
	program  string
	folder   string
	wrap     func(net.Conn) bool // guarded by Server.mu
	serving  sync.WaitGroup
	mu       sync.Mutex
	running  map[*exec.Cmd]bool
	closed   bool
}

// SSH starts a server that accepts one key and runs nothing but the programs of git. Without an OpenSSH server the test
// is skipped, or fails where CI is set.
func SSH(t testing.TB) *Server {
	t.Helper()
	program := findSSHD(t)
	folder := t.TempDir()
	s := &Server{t: t, root: filepath.Join(folder, "repositories")}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.shell = &shell{listener: listener, program: program, folder: folder, running: map[*exec.Cmd]bool{}}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.base = fmt.Sprintf("ssh://%s@%s%s/", who.Username, listener.Addr(), s.root)
	var public string
	s.SSHKey, public = NewSSHKey(t)
	write(t, filepath.Join(folder, "authorized_keys"), []byte(public), 0o600)
	write(t, filepath.Join(folder, "git-only"), []byte(gitOnly), 0o700)
	write(t, filepath.Join(folder, "sshd_config"), []byte(s.shell.config()), 0o600)
	s.NewHostKey()
	s.shell.serving.Go(s.accept)
	t.Cleanup(s.shell.close)
	return s
}

// gitOnly is what every session runs, whatever was asked for.
const gitOnly = `#!/bin/sh
case "$SSH_ORIGINAL_COMMAND" in
"git-upload-pack "* | "git-receive-pack "*) exec git shell -c "$SSH_ORIGINAL_COMMAND" ;;
esac
echo "only git is served here" >&2
exit 1
`

func findSSHD(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"sshd", "/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return path
			}
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("sshd is not installed; install openssh-server")
	}
	t.Skip("SKIPPED: sshd: not installed; install openssh-server")
	return ""
}

func (h *shell) config() string {
	if os.Geteuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) //nolint:gosec // where sshd locks its unprivileged half up; it insists on this mode
	}
	return strings.Join([]string{
		"HostKey " + filepath.Join(h.folder, "host_key"),
		"AuthorizedKeysFile " + filepath.Join(h.folder, "authorized_keys"),
		"ForceCommand " + filepath.Join(h.folder, "git-only"),
		"StrictModes no", "UsePAM no", "PermitRootLogin yes", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"PubkeyAuthentication yes", "AllowTcpForwarding no", "X11Forwarding no", "PermitTTY no", "PrintMotd no", "AcceptEnv GIT_PROTOCOL", "LogLevel ERROR", "",
	}, "\n")
}

// NewSSHKey returns a private key in PEM form and its line of authorized_keys.
func NewSSHKey(t testing.TB) (private, public string) {
	t.Helper()
	publicKey, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(publicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(line))
}

// NewHostKey gives the server another key from the next connection on, and puts it into KnownHosts.
func (s *Server) NewHostKey() {
	s.t.Helper()
	private, public := NewSSHKey(s.t)
	write(s.t, filepath.Join(s.shell.folder, "host_key.new"), []byte(private), 0o600)
	if err := os.Rename(filepath.Join(s.shell.folder, "host_key.new"), filepath.Join(s.shell.folder, "host_key")); err != nil {
		s.t.Fatal(err)
	}
	addr := s.Addr()
	s.KnownHosts = fmt.Sprintf("[%s]:%d %s", addr.Addr(), addr.Port(), public)
}

// WrapConnection puts a fault in front of the SSH server: f sees each new connection, and when it returns false sshd does
// not get it; then f has to close it.
func (s *Server) WrapConnection(f func(net.Conn) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shell.wrap = f
}

func (s *Server) accept() {
	for {
		conn, err := s.shell.listener.Accept()
		if err != nil {
			return
		}
		s.requests.Add(1)
		s.mu.Lock()
		wrap := s.shell.wrap
		s.mu.Unlock()
		s.shell.serving.Go(func() {
			if wrap == nil || wrap(conn) {
				s.shell.serve(conn)
			}
		})
	}
}

// serve hands a connection to an sshd.
func (h *shell) serve(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	file, err := tcp.File()
	_ = conn.Close()
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	c := exec.Command(h.program, "-i", "-e", "-f", filepath.Join(h.folder, "sshd_config")) //nolint:gosec,noctx // ends with the server
	c.Env = environment()
	c.Stdin, c.Stdout = file, file
	if h.start(c) {
		_ = c.Wait()
		h.mu.Lock()
		delete(h.running, c)
		h.mu.Unlock()
	}
}

func (h *shell) start(c *exec.Cmd) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || c.Start() != nil {
		return false
	}
	h.running[c] = true
	return true
}

func (h *shell) close() {
	_ = h.listener.Close()
	h.mu.Lock()
	h.closed = true
	for c := range h.running {
		_ = c.Process.Kill()
	}
	h.mu.Unlock()
	h.serving.Wait()
}
