package e2e_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// git is a stock git client with a folder of its own, and no configuration but a name.
type git struct {
	t      *testing.T
	folder string
}

func newGit(t *testing.T) *git {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git: it is not installed")
	}
	return &git{t: t, folder: t.TempDir()}
}

// in is the client in a folder below.
func (g *git) in(folder string) *git { return &git{t: g.t, folder: filepath.Join(g.folder, folder)} }

// try runs a command and gives what it said.
func (g *git) try(arguments ...string) (string, error) {
	g.t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(g.t.Context(), "git", arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.folder, &said, &said
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test",
	}
	err := cmd.Run()
	return said.String(), err
}

// run runs a command that has to succeed.
func (g *git) run(arguments ...string) string {
	g.t.Helper()
	said, err := g.try(arguments...)
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, said)
	}
	return said
}

// fails runs a command that has to fail, and to say something.
func (g *git) fails(want string, arguments ...string) {
	g.t.Helper()
	said, err := g.try(arguments...)
	if err == nil || !strings.Contains(said, want) {
		g.t.Errorf("git %s: error %v, want one with %q\n%s", strings.Join(arguments, " "), err, want, said)
	}
}

func (g *git) write(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g *git) read(name string) string {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.folder, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}

// commit commits everything.
func (g *git) commit(message string) {
	g.t.Helper()
	g.run("add", "-A")
	g.run("commit", "-q", "-m", message)
}

// address is that of a workspace for a client with this password.
func address(t *testing.T, server, name, password string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword("anybody", password), "/git/"+name
	return u.String()
}

// accessToken makes one for the account.
func accessToken(c *apptest.Client) string {
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	return c.Post("/v2/user/accessTokens", map[string]any{"name": "git", "expiresAt": soon}).Want(http.StatusCreated).Text("token")
}

const helloYML = "name: hello\ndo: []\n"

// A workspace is cloned, edited, pushed and pulled with stock git, wherever its parts run.
func TestGitClients(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		id := admin.Post("/v2/workspaces", map[string]any{"name": "Shop", "slug": "shop"}).Want(http.StatusCreated).Text("id")
		token := accessToken(admin)
		here := newGit(t)
		here.run("clone", "-q", address(t, it.URL, "shop", token), "one")
		here.run("clone", "-q", address(t, it.URL, id+".git", token), "two")
		one, two := here.in("one"), here.in("two")
		one.write("automations/hello.yml", helloYML)
		one.write("README.md", "# Shop\n")
		one.commit("Say hello")
		one.run("push", "-q")
		if got := admin.Get("/v2/workspaces/" + id + "/automations/hello").Want(http.StatusOK).Text("name"); got != "hello" {
			t.Errorf("the automation is called %q", got)
		}
		two.run("pull", "-q")
		if two.read("automations/hello.yml") != helloYML || two.read("README.md") != "# Shop\n" {
			t.Error("the other clone has something else")
		}
		admin.Post("/v2/workspaces/"+id+"/automations", map[string]any{"slug": "bye", "name": "bye", "do": []any{}}).Want(http.StatusCreated)
		two.run("pull", "-q")
		if !strings.Contains(two.read("automations/bye.yml"), "name: bye") {
			t.Error("what was made in the workspace is not there")
		}
		if who := two.run("log", "-1", "--format=%an|%ae|%s"); !strings.Contains(who, "|admin@example.test|Change automations/bye.yml") {
			t.Errorf("the commit says %q", who)
		}
		one.write("automations/other.yml", strings.ReplaceAll(helloYML, "hello", "other"))
		one.commit("Too late")
		one.fails("fetch first", "push", "-q")
		one.run("pull", "-q", "--no-rebase", "--no-edit")
		one.run("push", "-q")
		admin.Get("/v2/workspaces/" + id + "/automations/other").Want(http.StatusOK)
		one.write("automations/hello.yml", "name: hello\ndo: 7\n")
		one.commit("Wrong")
		one.fails("remote: automations/hello.yml: line 2: do:", "push")
		one.fails("remote rejected] main -> main (automations/hello.yml: line 2: do:", "push")
	})
}

// A large push goes through in one piece, also where the gateway hands it on; one that is too large hears so.
func TestGitLargePush(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		admin.Post("/v2/workspaces", map[string]any{"name": "Shop", "slug": "shop"}).Want(http.StatusCreated)
		here := newGit(t)
		here.run("clone", "-q", address(t, it.URL, "shop", admin.Token), "one")
		one := here.in("one")
		noise := make([]byte, 6_000_000)
		for i, state := 0, uint32(1); i < len(noise); i++ {
			state = state*1664525 + 1013904223
			noise[i] = byte(state >> 24)
		}
		one.write("assets/noise.bin", string(noise))
		one.commit("Noise")
		one.run("push", "-q")
		here.run("clone", "-q", address(t, it.URL, "shop", admin.Token), "two")
		if here.in("two").read("assets/noise.bin") != string(noise) {
			t.Error("the file came back as another")
		}
	})
}

// Git asks for a password only when it is told to, and shows why somebody may not.
func TestGitCredentials(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		id := newWorkspace(t, admin, "Shop")
		refs := "/git/" + id + "/info/refs?service=git-upload-pack"
		for name, c := range map[string]*apptest.Client{"nobody": it.Anyone(), "a wrong token": it.Anyone().With("Authorization", "Basic YTphdDp3cm9uZw=="), "a wrong key": it.Anyone().With("Authorization", "Basic YTpha193cm9uZw==")} {
			got := c.Get(refs).Want(http.StatusUnauthorized)
			if !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Basic realm=") {
				t.Errorf("%s: %v", name, got.Header)
			}
		}
		if got := it.Anyone().Get("/v2/workspaces/" + id).Want(http.StatusUnauthorized).Header.Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("elsewhere it is %q", got)
		}
		it.Anyone().With("Authorization", "Basic YTpi").Get("/v2/workspaces/"+id).WantError(http.StatusUnauthorized, "invalid_token")
		admin.Get(refs).Want(http.StatusOK)
		here := newGit(t)
		here.fails("Authentication failed", "clone", "-q", address(t, it.URL, id, "at:wrong"), "a")
		key := admin.Post("/v2/workspaces/"+id+"/security/apikeys", map[string]any{
			"name": "ci", "rules": []any{map[string]any{"action": "read", "subject": "workspaces"}},
		}).Want(http.StatusCreated).Text("apiKey")
		here.run("clone", "-q", address(t, it.URL, id, key), "keyed")
		keyed := here.in("keyed")
		keyed.write("automations/hello.yml", helloYML)
		keyed.commit("Not allowed")
		keyed.fails("403", "push", "-q")
		here.run("clone", "-q", address(t, it.URL, id, admin.Token), "jwt")
		visitor := it.Visitor()
		here.fails("403", "clone", "-q", address(t, it.URL, id, visitor.Token), "v")
		here.fails("remote: ", "clone", address(t, it.URL, "nothing", visitor.Token), "v")
		here.fails("not found", "clone", "-q", address(t, it.URL, "nothing", admin.Token), "n")
	})
}
