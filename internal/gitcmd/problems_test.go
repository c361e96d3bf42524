package gitcmd_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
)

// quick are limits that end what hangs while the test waits.
func quick() gitcmd.Limits {
	return gitcmd.Limits{Total: 20 * time.Second, Connect: 2 * time.Second, LowSpeed: 100_000, LowSpeedTime: time.Second}
}

func list(t *testing.T, server *gittest.Server, limits gitcmd.Limits, remote gitcmd.Remote) error {
	t.Helper()
	repository, _ := local(t, gitFor(t, server, limits))
	_, err := repository.ListRemote(t.Context(), remote)
	return err
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := netip.MustParseAddrPort(listener.Addr().String()).Port()
		listener.Close()
		remote := server.Remote("a")
		address, err := gitcmd.ParseAddress(remote.URL)
		if err != nil {
			t.Fatal(err)
		}
		address.Port = port
		remote.URL, remote.KnownHosts = address.String(), strings.ReplaceAll(remote.KnownHosts, fmt.Sprint(server.Addr().Port()), fmt.Sprint(port))
		wantKind(t, list(t, server, gitcmd.Limits{}, remote), gitcmd.Unreachable, "127.0.0.1")
	})
}

func TestMissing(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		wantKind(t, list(t, server, gitcmd.Limits{}, server.Remote("none")), gitcmd.Missing, "no repository")
	})
}

func TestDenied(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		server.Create("a")
		wrong := server.Remote("a")
		wrong.Password = "hunter2-hunter2"
		wrong.SSHKey, _ = gittest.NewSSHKey(t)
		problem := wantKind(t, list(t, server, gitcmd.Limits{}, wrong), gitcmd.Denied, "credentials")
		if strings.Contains(fmt.Sprintf("%v %+v", problem, errors.Unwrap(problem)), "hunter2") {
			t.Errorf("the password is in %v", problem)
		}
		none := server.Remote("a")
		none.Password, none.SSHKey = "", ""
		wantKind(t, list(t, server, gitcmd.Limits{}, none), gitcmd.Denied)
		bad := server.Remote("a")
		bad.Password, bad.SSHKey = "a\npath=x", "garbage"
		wantKind(t, list(t, server, gitcmd.Limits{}, bad), gitcmd.Denied)
		if err := list(t, server, gitcmd.Limits{}, server.Remote("a")); err != nil {
			t.Errorf("with the right ones: %v", err)
		}
	})
}

// F-GIT-10: credentials that are revoked between two requests.
func TestRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	path := server.Create("a")
	head := server.Commit("a", "main", map[string][]byte{"x": []byte("x")})
	remote := server.Remote("a")
	repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
	server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			if r.Method == http.MethodGet && w.Header().Get("WWW-Authenticate") == "" {
				server.SetPassword("somebody", "new")
			}
		})
	})
	mine := commit(t, repository, simple("mine"))
	err := repository.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/mine", New: mine})
	wantKind(t, err, gitcmd.Denied)
	if got := gittest.Run(t, path, "for-each-ref", "--format=%(objectname)"); got != head {
		t.Errorf("the remote has %s", got)
	}
}

// F-GIT-09
func TestCertificates(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	server.Create("a")
	git := gitFor(t, server, gitcmd.Limits{})
	selfSigned, expired, wrongHost, future := gittest.Valid(), gittest.Valid(), gittest.Valid(), gittest.Valid()
	selfSigned.SelfSigned = true
	expired.Until = time.Now().Add(-time.Minute)
	wrongHost.Names = []string{"other.test"}
	future.From = time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		certificate gittest.CertificateOf
		words       []string
	}{
		"self-signed": {selfSigned, []string{"CN=Test Server", "signed by itself", "not trusted"}},
		"expired":     {expired, []string{"CN=Test Server", "signed by CN=Test Authority", "expired"}},
		"wrong host":  {wrongHost, []string{"CN=Test Server", "another host (other.test)"}},
		"future":      {future, []string{"CN=Test Server", "not valid yet"}},
	} {
		server.SetCertificate(c.certificate)
		repository, _ := local(t, git)
		_, err := repository.ListRemote(t.Context(), server.Remote("a"))
		problem := wantKind(t, err, gitcmd.Certificate, append(c.words, "add the certificate to EXTRA_CA_CERTS", "SHA-256")...)
		if strings.Contains(problem.Message, "…") {
			t.Errorf("%s: cut: %s", name, problem.Message)
		}
	}
	server.SetCertificate(gittest.Valid())
	stranger, err := gitcmd.Open(t.Context(), gitcmd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	repository, _ := local(t, stranger)
	_, err = repository.ListRemote(t.Context(), server.Remote("a"))
	wantKind(t, err, gitcmd.Certificate, "CN=Test Server", "add the certificate to EXTRA_CA_CERTS")
	if err := list(t, server, gitcmd.Limits{}, server.Remote("a")); err != nil {
		t.Errorf("with a good one: %v", err)
	}
}

// F-GIT-09: a host key is never taken on trust.
func TestHostKeys(t *testing.T) {
	t.Parallel()
	server := gittest.SSH(t)
	server.Create("a")
	remote := server.Remote("a")
	unknown := remote
	unknown.KnownHosts = ""
	wantKind(t, list(t, server, gitcmd.Limits{}, unknown), gitcmd.HostKey, "not known yet")
	unknown.KnownHosts = strings.Replace(remote.KnownHosts, "127.0.0.1", "127.0.0.2", 1)
	wantKind(t, list(t, server, gitcmd.Limits{}, unknown), gitcmd.HostKey)
	if err := list(t, server, gitcmd.Limits{}, remote); err != nil {
		t.Fatalf("with the right key: %v", err)
	}
	server.NewHostKey()
	wantKind(t, list(t, server, gitcmd.Limits{}, remote), gitcmd.HostKey, "not the one that is known")

	git := gitFor(t, server, gitcmd.Limits{})
	address, err := gitcmd.ParseAddress(remote.URL)
	if err != nil {
		t.Fatal(err)
	}
	known, fingerprints, err := git.HostKeys(t.Context(), address, new(net.Dialer).DialContext)
	if err != nil || known != server.KnownHosts || len(fingerprints) != 1 || !strings.HasPrefix(fingerprints[0], "ssh-ed25519 SHA256:") {
		t.Errorf("HostKeys: %q, %v, %v, want %q", known, fingerprints, err, server.KnownHosts)
	}
	remote.KnownHosts = known
	if err := list(t, server, gitcmd.Limits{}, remote); err != nil {
		t.Errorf("with the confirmed key: %v", err)
	}
	_, key, _ := strings.Cut(known, " ")
	remote.KnownHosts = key
	if err := list(t, server, gitcmd.Limits{}, remote); err != nil {
		t.Errorf("with the key alone: %v", err)
	}
}

func TestHostKeysOfNobody(t *testing.T) {
	t.Parallel()
	server := gittest.SSH(t)
	git := gitFor(t, server, quick())
	address, err := gitcmd.ParseAddress(server.URL("a"))
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("not allowed")
	_, _, err = git.HostKeys(t.Context(), address, func(context.Context, string, string) (net.Conn, error) { return nil, refused })
	if !errors.Is(err, refused) {
		t.Errorf("%v, want the error of the dialler", err)
	}
	release := make(chan struct{})
	server.WrapConnection(func(conn net.Conn) bool {
		<-release
		conn.Close()
		return false
	})
	_, _, err = git.HostKeys(t.Context(), address, new(net.Dialer).DialContext)
	close(release)
	wantKind(t, err, gitcmd.TimedOut)
	server.WrapConnection(func(conn net.Conn) bool {
		fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		conn.Close()
		return false
	})
	_, _, err = git.HostKeys(t.Context(), address, new(net.Dialer).DialContext)
	wantKind(t, err, gitcmd.Unreachable)
	_, _, err = git.HostKeys(t.Context(), gitcmd.Address{Scheme: "https", Host: "x"}, new(net.Dialer).DialContext)
	if err == nil {
		t.Error("a web server has host keys")
	}
}

func TestMoved(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		path := server.Create("a")
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
		remote := server.Remote("a")
		first := commit(t, repository, simple("one"))
		second := commit(t, repository, simple("two", first))
		push := func(updates ...gitcmd.Update) error { return repository.Push(t.Context(), remote, updates...) }
		if err := push(gitcmd.Update{Ref: "refs/heads/main", New: first}); err != nil {
			t.Fatal(err)
		}
		if err := push(gitcmd.Update{Ref: "refs/heads/main", New: first}); err != nil {
			t.Errorf("what is there already: %v", err)
		}
		wantKind(t, push(gitcmd.Update{Ref: "refs/heads/main", New: second}), gitcmd.Moved, "branch main", "Pull first")
		other := server.Commit("a", "main", map[string][]byte{"x": []byte("x")})
		wantKind(t, push(gitcmd.Update{Ref: "refs/heads/main", Old: first, New: second}), gitcmd.Moved, "branch main")
		wantKind(t, push(gitcmd.Update{Ref: "refs/heads/main", Old: first}), gitcmd.Moved)
		// All or nothing.
		wantKind(t, push(gitcmd.Update{Ref: "refs/heads/new", New: second}, gitcmd.Update{Ref: "refs/heads/main", Old: first, New: second}), gitcmd.Moved, "branch main")
		if got := gittest.Run(t, path, "for-each-ref", "--format=%(refname) %(objectname)"); got != "refs/heads/main "+other {
			t.Errorf("the remote has %s", got)
		}
		gittest.Run(t, path, "update-ref", "refs/heads/gone", other)
		if err := push(gitcmd.Update{Ref: "refs/heads/gone", Old: other}); err != nil {
			t.Errorf("remove: %v: %v", err, errors.Unwrap(err))
		}
		if got := gittest.Lookup(t, path, "refs/heads/gone"); got != "" {
			t.Errorf("the remote still has %s", got)
		}
	})
}

// B-GIT-11: the server's own words arrive, but not the password, and nothing for a terminal.
func TestRejected(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		path := server.Create("a")
		remote := server.Remote("a")
		hook := "#!/bin/sh\nprintf '\\033[31mGH006: Protected branch\\033[0m \\007 %s %s\\n' '" + strings.ReplaceAll(remote.Password, "'", `'\''`) + "' 'https://me:secret@host/'\n" +
			"head -c 5000 /dev/zero | tr '\\0' y\nexit 1\n"
		writeHook(t, path, "pre-receive", hook)
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
		id := commit(t, repository, simple("one"))
		err := repository.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/main", New: id}, gitcmd.Update{Ref: "refs/heads/b", New: id})
		problem := wantKind(t, err, gitcmd.Rejected, "GH006: Protected branch", "refuses the push")
		for _, bad := range []string{"\x1b", "\x07", "[31m", "secret"} {
			if strings.Contains(problem.Message, bad) {
				t.Errorf("%q is in %q", bad, problem.Message)
			}
		}
		if remote.Password != "" && strings.Contains(fmt.Sprint(problem.Message, errors.Unwrap(problem)), remote.Password) {
			t.Errorf("the password is in %v", problem)
		}
		if len(problem.Message) > 700 {
			t.Errorf("%d bytes", len(problem.Message))
		}
		if got := gittest.Run(t, path, "for-each-ref"); got != "" {
			t.Errorf("the remote has %s", got)
		}
	})
}

func writeHook(t *testing.T, repository, name, text string) {
	t.Helper()
	folder := filepath.Join(repository, "hooks")
	if err := errors.Join(os.MkdirAll(folder, 0o700), writeProgram(filepath.Join(folder, name), text)); err != nil {
		t.Fatal(err)
	}
}

// One ref that is refused keeps all others from changing.
func TestRejectedRefIsAtomic(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	path := server.Create("a")
	writeHook(t, path, "update", "#!/bin/sh\ntest \"$1\" != refs/heads/protected || { echo 'not this one'; exit 1; }\n")
	repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
	id := commit(t, repository, simple("one"))
	err := repository.Push(t.Context(), server.Remote("a"), gitcmd.Update{Ref: "refs/heads/a", New: id}, gitcmd.Update{Ref: "refs/heads/protected", New: id}, gitcmd.Update{Ref: "refs/heads/z", New: id})
	wantKind(t, err, gitcmd.Rejected, "not this one", "refs/heads/protected")
	if got := gittest.Run(t, path, "for-each-ref"); got != "" {
		t.Errorf("the remote has %s", got)
	}
}

func TestServerWithoutAtomicPush(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		path := server.Create("a")
		gittest.Run(t, path, "config", "receive.advertiseAtomic", "false")
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
		remote := server.Remote("a")
		first := commit(t, repository, simple("one"))
		second := commit(t, repository, simple("two", first))
		if err := repository.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/b", New: first}, gitcmd.Update{Ref: "refs/heads/a", New: first}); err != nil {
			t.Fatalf("%v: %v", err, errors.Unwrap(err))
		}
		writeHook(t, path, "update", "#!/bin/sh\ntest \"$1\" != refs/heads/a || exit 1\n")
		err := repository.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/b", Old: first, New: second}, gitcmd.Update{Ref: "refs/heads/a", Old: first, New: second}, gitcmd.Update{Ref: "refs/heads/c", New: second})
		wantKind(t, err, gitcmd.Rejected, "refs/heads/a")
		want := "refs/heads/a " + first + "\nrefs/heads/b " + second
		if got := gittest.Run(t, path, "for-each-ref", "--format=%(refname) %(objectname)"); got != want {
			t.Errorf("the remote has\n%s\nwant\n%s", got, want)
		}
	})
}

func TestNoRef(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		server.Create("a")
		head := server.Commit("a", "main", map[string][]byte{"x": []byte("x")})
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
		remote := server.Remote("a")
		wantKind(t, repository.Fetch(t.Context(), remote, map[string]string{"refs/heads/none": "refs/x/none"}), gitcmd.NoRef, "branch none")
		wantKind(t, repository.Fetch(t.Context(), remote, map[string]string{"refs/heads/main": "refs/x/main", "refs/tags/v1": "refs/x/v1"}), gitcmd.NoRef, "tag v1")
		wantKind(t, repository.Fetch(t.Context(), remote, map[string]string{head: "refs/x/head", strings.Repeat("1", 40): "refs/x/none"}), gitcmd.NoRef)
		if refs, err := repository.Refs(t.Context(), "refs"); len(refs) != 0 || err != nil {
			t.Errorf("refs changed: %v, %v", refs, err)
		}
		for name, ref := range map[string]string{"main": "refs/x", "refs/heads/main": "x", "--all": "refs/x", "refs/heads/*": "refs/x/*", "HEAD": "refs/x/a"} {
			if repository.Fetch(t.Context(), remote, map[string]string{name: ref}) == nil {
				t.Errorf("%s was fetched to %s", name, ref)
			}
		}
	})
}

// B-GIT-07: a history with a file .git never enters the repository.
func TestDamaged(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		path := server.Create("a")
		blob := gittest.Run(t, path, "hash-object", "-w", "--stdin")
		entry := filepath.Join(t.TempDir(), "tree")
		raw, _ := hex.DecodeString(blob)
		if err := os.WriteFile(entry, append([]byte("100644 .git\x00"), raw...), 0o600); err != nil {
			t.Fatal(err)
		}
		tree := gittest.Run(t, path, "hash-object", "-t", "tree", "-w", "--literally", entry)
		id := gittest.Run(t, path, "commit-tree", "-m", "x", tree)
		gittest.Run(t, path, "update-ref", "refs/heads/main", id)
		repository, folder := local(t, gitFor(t, server, gitcmd.Limits{}))
		wantKind(t, repository.Fetch(t.Context(), server.Remote("a"), map[string]string{"refs/heads/main": "refs/x/main"}), gitcmd.Damaged, ".git")
		if ok, err := repository.Has(t.Context(), id); ok || err != nil {
			t.Errorf("it entered: %t, %v", ok, err)
		}
		clean(t, repository, folder)
	})
}

// Histories that old programs wrote can still be used.
func TestOldFlawsAreTolerated(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	path := server.Create("a")
	folder := t.TempDir()
	object := func(kind, text string) string {
		file := filepath.Join(folder, kind)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return gittest.Run(t, path, "hash-object", "-t", kind, "-w", "--literally", file)
	}
	blob, _ := hex.DecodeString(object("blob", "x"))
	tree := object("tree", "0100644 x\x00"+string(blob))
	id := object("commit", "tree "+tree+"\nauthor A<a@b> 1 +0000000\ncommitter <c@d> 01 +0000\n\nold\n")
	gittest.Run(t, path, "update-ref", "refs/heads/main", id)
	repository, local := local(t, gitFor(t, server, gitcmd.Limits{}))
	if err := repository.Fetch(t.Context(), server.Remote("a"), map[string]string{"refs/heads/main": "refs/heads/main"}); err != nil {
		t.Fatalf("%v: %v", err, errors.Unwrap(err))
	}
	clean(t, repository, local)
	q, err := repository.Receive(t.Context(), bytes.NewReader(pack(t, path, id)), 1<<20)
	if err != nil {
		t.Fatalf("%v: %v", err, errors.Unwrap(err))
	}
	q.Drop()
}

// clean checks that nothing is left of an operation that failed.
func clean(t *testing.T, repository *gitcmd.Repository, folder string) {
	t.Helper()
	if err := repository.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for _, pattern := range []string{"objects/tmp_*", "objects/pack/tmp_*", "objects/incoming-*", "FETCH_HEAD", "*.lock", "refs/*/*.lock"} {
		if left, _ := filepath.Glob(filepath.Join(folder, pattern)); len(left) != 0 {
			t.Errorf("left over: %v", left)
		}
	}
}

// B-GIT-02: what the host resolves to is not asked, and a redirect is not followed.
func TestPinnedAddress(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	server.Create("a")
	server.Commit("a", "main", map[string][]byte{"x": []byte("x")})
	remote := server.Remote("a")
	remote.URL = strings.Replace(remote.URL, "127.0.0.1", gittest.Host, 1)
	repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
	if err := repository.Fetch(t.Context(), remote, map[string]string{"refs/heads/main": "refs/heads/main"}); err != nil {
		t.Errorf("%v: %v", err, errors.Unwrap(err))
	}
	ssh := gittest.SSH(t)
	ssh.Create("a")
	remote = ssh.Remote("a")
	remote.URL = strings.Replace(remote.URL, "127.0.0.1", gittest.Host, 1)
	remote.KnownHosts = strings.Replace(remote.KnownHosts, "127.0.0.1", gittest.Host, 1)
	if _, err := repository.ListRemote(t.Context(), remote); err != nil {
		t.Errorf("%v: %v", err, errors.Unwrap(err))
	}
	for _, ip := range []string{"127.0.0.2", "::1"} {
		remote = server.Remote("a")
		remote.IP = netip.MustParseAddr(ip)
		if _, err := repository.ListRemote(t.Context(), remote); err == nil {
			t.Errorf("127.0.0.1 was found at %s", ip)
		}
	}
	remote.IP = netip.Addr{}
	if _, err := repository.ListRemote(t.Context(), remote); err == nil {
		t.Error("a remote without an address was reached")
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	asked := make(chan *http.Request, 10)
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r }))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := gittest.HTTPS(t)
		server.Create("a")
		server.Wrap(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+r.URL.Path, status) })
		})
		wantKind(t, list(t, server, gitcmd.Limits{}, server.Remote("a")), gitcmd.Missing, "another address")
	}
	if len(asked) != 0 {
		t.Errorf("the other server was asked: %v", (<-asked).URL)
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]gitcmd.Kind{
		403: gitcmd.Denied, 404: gitcmd.Missing, 410: gitcmd.Missing, 413: gitcmd.TooLarge, 429: gitcmd.Unreachable, 500: gitcmd.Unreachable, 502: gitcmd.Unreachable, 503: gitcmd.Unreachable, 504: gitcmd.TimedOut,
	} {
		server := gittest.HTTPS(t)
		server.Wrap(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) })
		})
		err := list(t, server, gitcmd.Limits{}, server.Remote("a"))
		if problem, ok := errors.AsType[*gitcmd.Problem](err); !ok || problem.Kind != kind {
			t.Errorf("%d: %v (%v), want %s", status, err, errors.Unwrap(err), kind)
		}
	}
	server := gittest.HTTPS(t)
	server.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>\nhello\n</html>") })
	})
	wantKind(t, list(t, server, gitcmd.Limits{}, server.Remote("a")), gitcmd.Missing)
}
