package gitcmd_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
)

// saying is a program that pretends to be a git which fails to talk to a remote with these words.
func saying(t *testing.T, stdout, stderr string) *gitcmd.Git {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"out": stdout, "err": stderr} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf(`#!/bin/sh
case "$1" in
version) echo "git version 2.40.0" ;;
init) mkdir -p "$GIT_DIR/objects" ;;
rev-parse) echo true; echo sha1 ;;
*) cat '%s/out'; cat '%s/err' >&2; exit 128 ;;
esac
`, folder, folder)
	path := filepath.Join(folder, "git")
	if err := writeProgram(path, script); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

func TestKindsOfWords(t *testing.T) {
	t.Parallel()
	const web, shell = "https://127.0.0.1:9/a", "ssh://git@127.0.0.1:9/a"
	hung := "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n"
	for _, c := range []struct {
		url, words string
		kind       gitcmd.Kind
	}{
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': server certificate verification failed. CAfile: none CRLfile: none", gitcmd.Certificate},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': SSL certificate problem: self-signed certificate", gitcmd.Certificate},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': SSL certificate problem: certificate has expired", gitcmd.Certificate},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': SSL: no alternative certificate subject name matches target host name '127.0.0.1'", gitcmd.Certificate},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': SSL: certificate subject name (x) does not match target host name 'y'", gitcmd.Certificate},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': SSL certificate OpenSSL verify result: unable to get local issuer certificate (20)\nSSL peer certificate or SSH remote key was not OK", gitcmd.Certificate},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server", gitcmd.Unreachable},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': Could not resolve host: x", gitcmd.Unreachable},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': Recv failure: Connection reset by peer", gitcmd.Unreachable},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': Empty reply from server", gitcmd.Unreachable},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': gnutls_handshake() failed: The TLS connection was non-properly terminated.", gitcmd.Unreachable},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to x:443", gitcmd.Unreachable},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': TLS connect error: error:00000000:lib(0)::reason(0)", gitcmd.Unreachable},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': The requested URL returned error: 502", gitcmd.Unreachable},
		{web, "error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL (err 8)\nerror: 5454 bytes of body are still expected\nfetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output", gitcmd.Unreachable},
		{web, "error: RPC failed; HTTP 500 curl 22 The requested URL returned error: 500\nsend-pack: unexpected disconnect while reading sideband packet\nfatal: the remote end hung up unexpectedly", gitcmd.Unreachable},
		{web, "error: RPC failed; curl 28 Operation too slow. Less than 1000 bytes/sec transferred the last 30 seconds\nfatal: expected flush after ref listing", gitcmd.TimedOut},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': Failed to connect to x port 443: Connection timed out", gitcmd.TimedOut},
		{web, "fatal: unable to access 'https://127.0.0.1:9/a/': The requested URL returned error: 504", gitcmd.TimedOut},
		{web, "remote: HTTP Basic: Access denied. If a password was provided for Git authentication, the password was incorrect or you're required to use a token instead of a password.\nfatal: Authentication failed for 'https://127.0.0.1:9/a/'", gitcmd.Denied},
		{web, "remote: Invalid username or token. Password authentication is not supported for Git operations.\nfatal: Authentication failed for 'https://127.0.0.1:9/a/'", gitcmd.Denied},
		{web, "fatal: could not read Username for 'https://127.0.0.1:9': terminal prompts disabled", gitcmd.Denied},
		{web, "remote: Permission to org/repo.git denied to somebody.\nfatal: unable to access 'https://127.0.0.1:9/a/': The requested URL returned error: 403", gitcmd.Denied},
		{web, "remote: Repository not found.\nfatal: repository 'https://127.0.0.1:9/a/' not found", gitcmd.Missing},
		{web, "remote: The project you were looking for could not be found or you don't have permission to view it.\nfatal: repository 'https://127.0.0.1:9/a/' not found", gitcmd.Missing},
		{web, "fatal: https://127.0.0.1:9/a/info/refs not valid: is this a git repository?", gitcmd.Missing},
		{web, "fatal: unable to update url base from redirection:\n  asked for: https://127.0.0.1:9/a/info/refs?service=git-upload-pack\n   redirect: https://login.example/", gitcmd.Missing},
		{web, "fatal: couldn't find remote ref refs/heads/x", gitcmd.NoRef},
		{web, "fatal: remote error: upload-pack: not our ref 1111111111111111111111111111111111111111", gitcmd.NoRef},
		{web, "error: Server does not allow request for unadvertised object 1111111111111111111111111111111111111111", gitcmd.NoRef},
		{web, "remote: fatal: pack exceeds maximum allowed size\nfatal: the remote end hung up unexpectedly", gitcmd.Unreachable}, // the other side's limit: git reports refused refs apart
		{web, "fatal: pack exceeds maximum allowed size (1.00 MiB)", gitcmd.TooLarge},
		{web, "fatal: attempting to allocate 4294967297 over limit 536870912\nfatal: fetch-pack: invalid index-pack output", gitcmd.TooLarge},
		{web, "error: object 1111: hasDotgit: contains '.git'\nfatal: fsck error in packed object\nfatal: fetch-pack: invalid index-pack output", gitcmd.Damaged},
		{web, "fatal: pack has bad object at offset 12: inflate returned -3\nfatal: fetch-pack: invalid index-pack output", gitcmd.Damaged},
		{web, "fatal: protocol error: bad line length character: <htm", gitcmd.Damaged},
		{web, "fatal: something nobody has seen before", gitcmd.Failed},
		{web, "", gitcmd.Failed},
		{web, "remote: Host key verification failed.\nremote: server certificate verification failed\nfatal: something", gitcmd.Failed}, // a server cannot pretend

		{shell, "@@@@@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@@@@@@@@@\nHost key verification failed.\r\n" + hung, gitcmd.HostKey},
		{shell, "No ED25519 host key is known for x and you have requested strict checking.\r\nHost key verification failed.\r\n" + hung, gitcmd.HostKey},
		{shell, "Unable to negotiate with 1.2.3.4 port 22: no matching host key type found. Their offer: ssh-dss\n" + hung, gitcmd.HostKey},
		{shell, "git@127.0.0.1: Permission denied (publickey).\r\n" + hung, gitcmd.Denied},
		{shell, "Received disconnect from 1.2.3.4 port 22:2: Too many authentication failures\r\n" + hung, gitcmd.Denied},
		{shell, "ERROR: Permission to org/repo.git denied to deploy key\n" + hung, gitcmd.Denied},
		{shell, "ERROR: The key you are authenticating with has been marked as read only.\n" + hung, gitcmd.Denied},
		{shell, "remote: \nremote: ========================================================================\nremote: \nremote: ERROR: You are not allowed to push code to this project.\nremote: \n" + hung, gitcmd.Denied},
		{shell, "ERROR: Repository not found.\n" + hung, gitcmd.Missing},
		{shell, "remote: \nremote: ERROR: The project you were looking for could not be found or you don't have permission to view it.\n" + hung, gitcmd.Missing},
		{shell, "fatal: '/srv/x.git' does not appear to be a git repository\n" + hung, gitcmd.Missing},
		{shell, "ssh: connect to host 1.2.3.4 port 22: Connection refused\r\n" + hung, gitcmd.Unreachable},
		{shell, "ssh: connect to host 1.2.3.4 port 22: No route to host\r\n" + hung, gitcmd.Unreachable},
		{shell, "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by 1.2.3.4 port 22\r\n" + hung, gitcmd.Unreachable},
		{shell, "Connection closed by 1.2.3.4 port 22\r\n" + hung, gitcmd.Unreachable},
		{shell, "ssh: connect to host 1.2.3.4 port 22: Connection timed out\r\n" + hung, gitcmd.TimedOut},
		{shell, "Connection timed out during banner exchange\r\nConnection to 1.2.3.4 port 22 timed out\r\n" + hung, gitcmd.TimedOut},
		{shell, "Timeout, server 1.2.3.4 not responding.\r\n" + hung, gitcmd.TimedOut},
	} {
		repository, _ := local(t, saying(t, "", c.words))
		remote := gitcmd.Remote{URL: c.url, Password: "p", IP: netip.MustParseAddr("127.0.0.1")}
		remote.SSHKey, remote.KnownHosts = gittest.NewSSHKey(t)
		_, err := repository.ListRemote(t.Context(), remote)
		problem, ok := errors.AsType[*gitcmd.Problem](err)
		if !ok || problem.Kind != c.kind {
			t.Errorf("%.120q: %v, want %s", c.words, err, c.kind)
			continue
		}
		if len(problem.Message) > 800 || strings.Contains(problem.Message, "\n") || problem.Message[0] < 'A' || problem.Message[0] > 'Z' {
			t.Errorf("%.120q: %q is not a short sentence", c.words, problem.Message)
		}
	}
}

func TestKindsOfPushReports(t *testing.T) {
	t.Parallel()
	head := "To https://127.0.0.1:9/a\n"
	for _, c := range []struct {
		out, words string
		kind       gitcmd.Kind
	}{
		{"!\ta:refs/heads/main\t[rejected] (stale info)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[rejected] (fetch first)\nDone\n", "error: failed to push some refs to 'x'\nhint: Updates were rejected", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[rejected] (non-fast-forward)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/tags/v1\t[rejected] (already exists)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/x\t[rejected] (atomic push failed)\n!\ta:refs/heads/main\t[rejected] (stale info)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[remote rejected] (failed to update ref)\nDone\n", "remote: error: cannot lock ref 'refs/heads/main': is at 1 but expected 2\nerror: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[remote rejected] (failed to update ref)\nDone\n", "remote: error: Unable to create 'refs/heads/main.lock': File exists.\nerror: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[remote rejected] (incorrect old value provided)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[remote rejected] (atomic transaction failed)\n!\ta:refs/heads/x\t[remote rejected] (atomic transaction failed)\nDone\n", "remote: error: cannot lock ref 'refs/heads/main': reference already exists\nerror: failed to push some refs to 'x'", gitcmd.Moved},
		{"!\ta:refs/heads/main\t[remote rejected] (failed to update ref)\nDone\n", "remote: error: disk is full\nerror: failed to push some refs to 'x'", gitcmd.Rejected},
		{"!\ta:refs/heads/main\t[remote rejected] (atomic transaction failed)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Rejected},
		{"!\ta:refs/heads/main\t[remote rejected] (pre-receive hook declined)\nDone\n", "remote: GitLab: You are not allowed to push code to protected branches on this project.\nerror: failed to push some refs to 'x'", gitcmd.Rejected},
		{"!\ta:refs/heads/main\t[remote rejected] (protected branch hook declined)\nDone\n", "remote: error: GH006: Protected branch update failed for refs/heads/main.\nerror: failed to push some refs to 'x'", gitcmd.Rejected},
		{"!\ta:refs/heads/main\t[remote rejected] (unpacker error)\nDone\n", "error: remote unpack failed: unpack-objects abnormal exit\nerror: failed to push some refs to 'x'", gitcmd.Rejected},
		{"!\ta:refs/heads/main\t[remote rejected] (branch is currently checked out)\nDone\n", "error: failed to push some refs to 'x'", gitcmd.Rejected},
		{"", "fatal: unable to access 'x': Failed to connect to x", gitcmd.Unreachable},
		{"", "remote: Write access to repository not granted.\nfatal: unable to access 'x': The requested URL returned error: 403", gitcmd.Denied},
	} {
		repository, _ := local(t, saying(t, head+c.out, c.words))
		remote := gitcmd.Remote{URL: "https://127.0.0.1:9/a", Password: "p", IP: netip.MustParseAddr("127.0.0.1")}
		err := repository.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/main", New: strings.Repeat("1", 40)}, gitcmd.Update{Ref: "refs/heads/x", New: strings.Repeat("1", 40)})
		if problem, ok := errors.AsType[*gitcmd.Problem](err); !ok || problem.Kind != c.kind {
			t.Errorf("%q %q: %v, want %s", c.out, c.words, err, c.kind)
		}
	}
}

// B-GIT-11: whatever form a server repeats a secret in, it is not shown.
func TestWordsAreCleaned(t *testing.T) {
	t.Parallel()
	key, known := gittest.NewSSHKey(t)
	for _, c := range []struct{ words, want string }{
		{"fatal: s3cr%t/+ \x1b[1mwrong\x1b[0m", "fatal: *** wrong"},
		{"fatal: s3cr%25t%2F%2B and s3cr%25t%2F+", "fatal: *** and ***"},
		{"fatal: Authorization: Basic dXNlcjpzM2NyJXQvKw==", "fatal: Authorization: Basic ***"},
		{"fatal: at https://user:other@host/x and ssh://git@host/x", "fatal: at https://***@host/x and ssh://***@host/x"},
		{"fatal: \x1b]0;title\x07\x1b[2J\x1b[31;1mred\x1b(B \x9b x\ty\x00z", "fatal: red ? x y z"},
		{"fatal: " + key, "fatal: ***"},
		{"fatal: " + strings.Split(key, "\n")[2], "fatal: ***"},
		{"fatal: \u202eevil\u2066", "fatal: evil"},
	} {
		repository, _ := local(t, saying(t, "", c.words))
		remote := gitcmd.Remote{URL: "ssh://git@127.0.0.1:9/a", User: "user", Password: "s3cr%t/+", SSHKey: key, KnownHosts: known, IP: netip.MustParseAddr("127.0.0.1")}
		_, err := repository.ListRemote(t.Context(), remote)
		problem := wantKind(t, err, gitcmd.Failed)
		if _, got, _ := strings.Cut(problem.Message, "could not do it: "); got != c.want {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
	repository, _ := local(t, saying(t, "", strings.Repeat("x", 100_000)+"\nfatal: Authentication failed for 'x'\n"))
	_, err := repository.ListRemote(t.Context(), gitcmd.Remote{URL: "https://127.0.0.1:9/a", IP: netip.MustParseAddr("127.0.0.1")})
	wantKind(t, err, gitcmd.Denied) // the end of what was said counts too
}

// writeProgram writes a file that is run. No other test starts a program meanwhile: it would hold the file open for a moment, and
// what is open for writing cannot be run.
func writeProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o700)
}
