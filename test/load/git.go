package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// gitServer is git http-backend behind TLS, with the repositories hub, for the product, and plain, for plain git.
type gitServer struct {
	dir, ca string
	server  *httptest.Server
}

func startGit(dir string) (*gitServer, error) {
	g := &gitServer{dir: dir, ca: filepath.Join(dir, "ca.pem")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	backend := &cgi.Handler{
		Path: path, Args: []string{"http-backend"}, Dir: "/", Stderr: io.Discard,
		Env: []string{"PATH=" + os.Getenv("PATH"), "GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=load"},
	}
	g.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 { // CGI has no requests of unknown length
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		}
		backend.ServeHTTP(w, r)
	}))
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
	if err := os.WriteFile(g.ca, certificate, 0o600); err != nil {
		return nil, err
	}
	for _, name := range []string{"hub", "plain"} {
		if _, err := g.git(context.Background(), "", nil, "init", "--quiet", "--bare", "--initial-branch=main", filepath.Join(dir, name+".git")); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *gitServer) stop() { g.server.Close() }

func (g *gitServer) url(name string) string { return g.server.URL + "/" + name + ".git" }

// startProduct starts the product on a data directory, with hub as a repository of the platform.
func (g *gitServer) startProduct(ctx context.Context, dir, binary, data string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	env := []string{
		"EXTRA_CA_CERTS=" + g.ca, "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8", "WORKSPACES_GROUP_all_LABELS=team:all", "WORKSPACES_STORAGE_GIT_PLATFORM_hub_URL=" + g.url("hub"),
	}
	p, err := startWith(ctx, env, dir, regexp.MustCompile(`is ready: (http://\S+)`), binary, "serve", "--host", "127.0.0.1", "--port", port, "--data-dir", data)
	if err != nil {
		return nil, err
	}
	var signedIn struct {
		Token string `json:"token"`
	}
	err = post(ctx, p, "/v2/login", map[string]string{"email": "admin@localhost", "password": password}, &signedIn)
	p.token = signedIn.Token
	return p, err
}

func indexOf(i int) string {
	return fmt.Sprintf("name: Load %d\nslug: load-%d\nlabels:\n  - team:all\n", i, i)
}

func document(i, j int) string {
	return fmt.Sprintf("slug: automation-%02d\nname: Automation %d of %d\ndo:\n", j, j, i) + strings.Repeat("  - set:\n      name: value\n      value: '{{payload.value}} and more'\n", 10)
}

// smallArchive is one of the workspaces that bulk operations are measured with.
func smallArchive(i int) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for j := range documents {
		name, text := "current/index.yml", indexOf(i)
		if j > 0 {
			name, text = fmt.Sprintf("current/automations/automation-%02d.yml", j), document(i, j)
		}
		file, err := archive.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(file, text); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

// memory is what the process has in memory, in MiB; zero where /proc does not tell.
func (p *process) memory() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kib float64
			_, _ = fmt.Sscan(rest, &kib)
			return kib / 1024
		}
	}
	return 0
}
