package gitcmd_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
)

// held makes a server hold each POST until it is released, and says when it got one.
func held(t *testing.T, server *gittest.Server) (arrived <-chan struct{}, release func()) {
	t.Helper()
	got, gate := make(chan struct{}, 100), make(chan struct{})
	server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				got <- struct{}{}
				select {
				case <-gate:
				case <-r.Context().Done():
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	return got, release
}

// F-GIT-07
func TestHangingServers(t *testing.T) {
	t.Parallel()
	t.Run("https never answers", func(t *testing.T) {
		t.Parallel()
		server := gittest.HTTPS(t)
		server.Create("a")
		server.Wrap(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		})
		wantKind(t, list(t, server, quick(), server.Remote("a")), gitcmd.TimedOut)
	})
	t.Run("https trickles", func(t *testing.T) {
		t.Parallel()
		server := gittest.HTTPS(t)
		server.Create("a")
		server.Wrap(func(http.Handler) http.Handler { return http.HandlerFunc(trickle) })
		wantKind(t, list(t, server, quick(), server.Remote("a")), gitcmd.TimedOut)
	})
	t.Run("no handshake", func(t *testing.T) {
		t.Parallel()
		server := gittest.HTTPS(t)
		remote := server.Remote("a")
		remote.URL = "https://" + silent(t) + "/a"
		wantKind(t, list(t, server, quick(), remote), gitcmd.TimedOut, "2s")
	})
	t.Run("ssh never answers", func(t *testing.T) {
		t.Parallel()
		server := gittest.SSH(t)
		server.Create("a")
		release := make(chan struct{})
		defer close(release)
		server.WrapConnection(func(conn net.Conn) bool {
			<-release
			conn.Close()
			return false
		})
		wantKind(t, list(t, server, quick(), server.Remote("a")), gitcmd.TimedOut)
	})
	t.Run("in all", func(t *testing.T) {
		t.Parallel()
		server := gittest.HTTPS(t)
		server.Create("a")
		server.Wrap(func(http.Handler) http.Handler { return http.HandlerFunc(trickle) })
		wantKind(t, list(t, server, gitcmd.Limits{Total: time.Second}, server.Remote("a")), gitcmd.TimedOut, "1s")
	})
	t.Run("the caller's time", func(t *testing.T) {
		t.Parallel()
		server := gittest.HTTPS(t)
		server.Create("a")
		server.Wrap(func(http.Handler) http.Handler { return http.HandlerFunc(trickle) })
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := repository.ListRemote(ctx, server.Remote("a"))
		wantKind(t, err, gitcmd.TimedOut)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not context.DeadlineExceeded", err)
		}
	})
}

// trickle sends a byte now and then.
func trickle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
			if _, err := w.Write([]byte("0")); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// silent is the address of something that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// F-GIT-03: the server did it, and nobody heard.
func TestReplyLost(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	path := server.Create("a")
	var lose atomic.Bool
	lose.Store(true)
	server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if r.Method == http.MethodPost && answer.Code == http.StatusOK && bytes.Contains(answer.Body.Bytes(), []byte("unpack ok")) && lose.Load() {
				panic(http.ErrAbortHandler)
			}
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
	})
	repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
	id := commit(t, repository, simple("one"))
	update := gitcmd.Update{Ref: "refs/heads/main", New: id}
	wantKind(t, repository.Push(t.Context(), server.Remote("a"), update), gitcmd.Unreachable)
	if got := gittest.Lookup(t, path, "refs/heads/main"); got != id {
		t.Fatalf("the server has %q", got)
	}
	lose.Store(false)
	if err := repository.Push(t.Context(), server.Remote("a"), update); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

// heavy puts a file that cannot be compressed onto a branch.
func heavy(t *testing.T, server *gittest.Server, size int) string {
	t.Helper()
	text := make([]byte, size)
	_, _ = rand.Read(text)
	return server.Commit("a", "main", map[string][]byte{"big": text})
}

// F-GIT-08
func TestTooLarge(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		server.Create("a")
		heavy(t, server, 3<<20)
		for name, limits := range map[string]gitcmd.Limits{"bytes": {Disk: 1 << 20}, "objects": {Objects: 2}} {
			repository, folder := local(t, gitFor(t, server, limits))
			err := repository.Fetch(t.Context(), server.Remote("a"), map[string]string{"refs/heads/main": "refs/heads/main"})
			wantKind(t, err, gitcmd.TooLarge)
			if refs, err := repository.Refs(t.Context(), "refs"); len(refs) != 0 || err != nil {
				t.Errorf("%s: refs: %v, %v", name, refs, err)
			}
			if size := sizeOf(t, folder); size > 1<<20 {
				t.Errorf("%s: %d bytes are left", name, size)
			}
			clean(t, repository, folder)
		}
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
		if err := repository.Fetch(t.Context(), server.Remote("a"), map[string]string{"refs/heads/main": "refs/heads/main"}); err != nil {
			t.Errorf("within the limits: %v: %v", err, errors.Unwrap(err))
		}
	})
}

// What never ends is ended while it arrives, not afterwards.
func TestEndlessPack(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	server.Create("a")
	heavy(t, server, 4<<20)
	var sent atomic.Int64
	server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				next.ServeHTTP(w, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			if !bytes.Contains(body, []byte("command=fetch")) {
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			fmt.Fprint(w, "000dpackfile\n")
			endless(w, &sent)
		})
	})
	limits := gitcmd.Limits{Disk: 4 << 20, LowSpeedTime: time.Minute}
	repository, folder := local(t, gitFor(t, server, limits))
	err := repository.Fetch(t.Context(), server.Remote("a"), map[string]string{"refs/heads/main": "refs/heads/main"})
	wantKind(t, err, gitcmd.TooLarge)
	clean(t, repository, folder)
}

// endless sends a pack with one blob of four gigabytes, stored without compression, as fast as it is taken.
func endless(w io.Writer, sent *atomic.Int64) {
	send := func(text []byte) bool {
		_, err := fmt.Fprintf(w, "%04x\x01%s", len(text)+5, text)
		sent.Add(int64(len(text)))
		return err == nil
	}
	header := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01")
	header = append(header, 0xb0, 0x80, 0x80, 0x80, 0x80, 0x01) // a blob of 2^32 bytes
	header = append(header, 0x78, 0x01)
	block := append([]byte{0x00, 0xff, 0xff, 0x00, 0x00}, bytes.Repeat([]byte{0x55}, 0xffff)...)
	if !send(header) {
		return
	}
	for sent.Load() < 1<<32 {
		for i := 0; i < len(block); i += 60000 {
			if !send(block[i:min(i+60000, len(block))]) {
				return
			}
		}
	}
}

func sizeOf(t *testing.T, folder string) int64 {
	t.Helper()
	var size int64
	_ = filepath.Walk(folder, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return nil
	})
	return size
}

func TestTooManyRefs(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		path := server.Create("a")
		head := server.Commit("a", "main", map[string][]byte{"x": []byte("x")})
		var packed strings.Builder
		packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
		for i := range 20000 {
			fmt.Fprintf(&packed, "%s refs/heads/x%06d\n", head, i)
		}
		if err := os.WriteFile(filepath.Join(path, "packed-refs"), []byte(packed.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		wantKind(t, list(t, server, gitcmd.Limits{Refs: 10000}, server.Remote("a")), gitcmd.TooLarge, "10000")
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{Refs: 10}))
		refs, err := repository.ListRemote(t.Context(), server.Remote("a"), "refs/heads/main", "refs/heads/x000007")
		if err != nil || len(refs) != 2 {
			t.Errorf("two of them: %v, %v", refs, err)
		}
	})
}

// F-GIT-02: whoever is killed, the repository is sound and the next time works.
func TestKilledMidFetch(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, repository string, cancel func()){
		"by the caller": func(_ *testing.T, _ string, cancel func()) { cancel() },
		"git":           func(t *testing.T, repository string, _ func()) { kill(t, repository, "git fetch") },
		"its helper":    func(t *testing.T, repository string, _ func()) { kill(t, repository, "git-remote-https") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := gittest.HTTPS(t)
			server.Create("a")
			head := heavy(t, server, 1<<20)
			half, release := halfway(t, server)
			repository, folder := local(t, gitFor(t, server, gitcmd.Limits{}))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				ended <- repository.Fetch(ctx, server.Remote("a"), map[string]string{"refs/heads/main": "refs/heads/main"})
			}()
			<-half
			end(t, folder, cancel)
			err := <-ended
			if err == nil {
				t.Fatal("the fetch succeeded")
			}
			if problem, ok := errors.AsType[*gitcmd.Problem](err); !ok && !errors.Is(err, context.Canceled) {
				t.Errorf("%v (%v)", err, problem)
			}
			clean(t, repository, folder)
			wantGone(t, folder)
			release()
			if err := repository.Fetch(t.Context(), server.Remote("a"), map[string]string{"refs/heads/main": "refs/heads/main"}); err != nil {
				t.Fatalf("the next time: %v", err)
			}
			if got, err := repository.Ref(t.Context(), "refs/heads/main"); got != head || err != nil {
				t.Errorf("%s, %v, want %s", got, err, head)
			}
		})
	}
}

// halfway makes a server stop in the middle of a pack until it is released.
func halfway(t *testing.T, server *gittest.Server) (half <-chan struct{}, release func()) {
	t.Helper()
	reached, gate := make(chan struct{}, 10), make(chan struct{})
	server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			text := answer.Body.Bytes()
			if len(text) > 100_000 {
				_, _ = w.Write(text[:len(text)/2])
				_ = http.NewResponseController(w).Flush()
				reached <- struct{}{}
				select {
				case <-gate:
				case <-r.Context().Done():
				}
				text = text[len(text)/2:]
			}
			_, _ = w.Write(text)
		})
	})
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	return reached, release
}

// processes are the command lines of those that work on a repository, by their ids.
func processes(t *testing.T, repository string) map[int]string {
	t.Helper()
	found := map[int]string{}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(folders) == 0 {
		t.Skip("SKIPPED: /proc: not on this machine")
	}
	for _, folder := range folders {
		environ, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !bytes.Contains(environ, []byte("GIT_DIR="+repository+"\x00")) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		id, errID := strconv.Atoi(filepath.Base(folder))
		if err == nil && errID == nil && len(line) > 0 {
			found[id] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// wantGone waits until nobody works on a repository any more: whoever is killed needs a moment.
func wantGone(t *testing.T, repository string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		alive := processes(t, repository)
		if len(alive) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("still alive: %v", alive)
			return
		case <-ticker.C:
		}
	}
}

// kill ends one of the processes that work on a repository.
func kill(t *testing.T, repository, name string) {
	t.Helper()
	all := processes(t, repository)
	for id, line := range all {
		if strings.Contains(strings.Join(strings.Fields(line)[:2], " "), name) {
			if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("there is no %s among %v", name, all)
}

// F-GIT-04: of those that push at the same time, each accepted one is in the past of the last.
func TestRacingPushers(t *testing.T) {
	t.Parallel()
	server := gittest.HTTPS(t)
	path := server.Create("a")
	git := gitFor(t, server, gitcmd.Limits{})
	repository, _ := local(t, git)
	remote := server.Remote("a")
	start := commit(t, repository, simple("start"))
	if err := repository.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/main", New: start}); err != nil {
		t.Fatal(err)
	}
	const pushers = 6
	var group sync.WaitGroup
	accepted := make(chan string, pushers)
	var lost atomic.Int64
	for i := range pushers {
		group.Go(func() {
			for {
				refs, err := repository.ListRemote(t.Context(), remote, "refs/heads/main")
				if err != nil {
					t.Errorf("ListRemote: %v", err)
					return
				}
				head := refs["refs/heads/main"]
				if err := repository.Fetch(t.Context(), remote, map[string]string{head: fmt.Sprintf("refs/x/%d", i)}); err != nil {
					t.Errorf("Fetch: %v (%v)", err, errors.Unwrap(err))
					return
				}
				id, err := repository.Commit(t.Context(), simple(fmt.Sprint("pusher ", i), head))
				if err != nil {
					t.Errorf("Commit: %v", err)
					return
				}
				err = repository.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/main", Old: head, New: id}, gitcmd.Update{Ref: fmt.Sprintf("refs/heads/p%d", i), New: id})
				if err == nil {
					accepted <- id
					return
				}
				problem, ok := errors.AsType[*gitcmd.Problem](err)
				if !ok || problem.Kind != gitcmd.Moved {
					t.Errorf("Push: %v (%v)", err, errors.Unwrap(err))
					return
				}
				lost.Add(1)
			}
		})
	}
	group.Wait()
	close(accepted)
	for id := range accepted {
		gittest.Run(t, path, "merge-base", "--is-ancestor", id, "refs/heads/main")
	}
	if got := gittest.Run(t, path, "rev-list", "--count", "refs/heads/main"); got != fmt.Sprint(pushers+1) {
		t.Errorf("%s commits, want %d; %d races were lost", got, pushers+1, lost.Load())
	}
	if err := repository.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Secrets are in the memory and the environment of git and its helpers, and nowhere else.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	t.Run("https", func(t *testing.T) {
		t.Parallel()
		server := gittest.HTTPS(t)
		server.Create("a")
		server.Commit("a", "main", map[string][]byte{"x": []byte("x")})
		secret := "s3cret-of-" + fmt.Sprint(time.Now().UnixNano())
		server.SetPassword("somebody", secret)
		arrived, release := held(t, server)
		repository, folder := local(t, gitFor(t, server, gitcmd.Limits{}))
		ended := make(chan error, 1)
		go func() {
			ended <- repository.Fetch(t.Context(), server.Remote("a"), map[string]string{"refs/heads/main": "refs/heads/main"})
		}()
		<-arrived
		if lines := processes(t, folder); len(lines) < 2 {
			t.Errorf("git and its helper are not running: %v", lines)
		}
		wantNoSecret(t, secret)
		release()
		if err := <-ended; err != nil {
			t.Errorf("Fetch: %v", err)
		}
		if text, err := os.ReadFile(filepath.Join(folder, "config")); err != nil || bytes.Contains(text, []byte(secret)) {
			t.Errorf("the configuration holds it, or %v", err)
		}
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		server := gittest.SSH(t)
		server.Create("a")
		gate, arrived := make(chan struct{}), make(chan struct{}, 10)
		release := sync.OnceFunc(func() { close(gate) })
		defer release()
		server.WrapConnection(func(net.Conn) bool {
			arrived <- struct{}{}
			<-gate
			return true
		})
		repository, _ := local(t, gitFor(t, server, gitcmd.Limits{}))
		ended := make(chan error, 1)
		go func() {
			_, err := repository.ListRemote(t.Context(), server.Remote("a"))
			ended <- err
		}()
		<-arrived
		agent := agentFolder(t, server)
		info, err := os.Stat(agent)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", agent, info, err)
		}
		lines := strings.Split(server.SSHKey, "\n")
		wantNoSecret(t, lines[2])
		entries, _ := os.ReadDir(agent)
		for _, entry := range entries {
			if text, err := os.ReadFile(filepath.Join(agent, entry.Name())); err == nil && bytes.Contains(text, []byte("PRIVATE KEY")) {
				t.Errorf("%s holds the key", entry.Name())
			}
		}
		release()
		if err := <-ended; err != nil {
			t.Errorf("ListRemote: %v", err)
		}
		if _, err := os.Stat(agent); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", agent, err)
		}
	})
}

// agentFolder is the folder that the ssh process which talks to a server was told about.
func agentFolder(t *testing.T, server *gittest.Server) string {
	t.Helper()
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		line := string(text)
		if _, rest, ok := strings.Cut(line, "UserKnownHostsFile="); ok && strings.Contains(line, fmt.Sprintf("\x00-p\x00%d\x00", server.Addr().Port())) {
			folder, _, _ := strings.Cut(rest, "/known_hosts")
			return folder
		}
	}
	t.Fatal("no ssh is running")
	return ""
}

// wantNoSecret looks at the command lines of this machine, and at the environment of all that are not of our group.
func wantNoSecret(t *testing.T, secret string) {
	t.Helper()
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		if bytes.Contains(line, []byte(secret)) {
			t.Errorf("the secret is in the command line %q", line)
		}
		environ, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if bytes.Contains(environ, []byte(secret)) && !bytes.Contains(environ, []byte("ATELIER_GIT_PASSWORD="+secret)) {
			t.Errorf("the secret is in the environment of %q", line)
		}
	}
	for _, pattern := range []string{"/dev/shm/atelier*/*", os.TempDir() + "/atelier*/*"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds the secret", path)
			}
		}
	}
}
