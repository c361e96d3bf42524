package matrix_test

import (
	"maps"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
)

const (
	password = "a password for tests"
	// foreign is in the name of everything of the other workspace: whoever has no business there must never read it.
	foreign = "zebra-of-the-others"
)

// principal is one of the callers of the matrix.
type principal struct {
	name string
	call func(c *apptest.Client) *apptest.Client
	// explain is how POST .../security/explain names the caller; nil when there is no such caller.
	explain map[string]any
}

// world is a server with two workspaces and everybody the matrix calls as.
type world struct {
	*apptest.Server
	t      *testing.T
	clock  *clock.Manual
	super  *apptest.Client
	w, w2  string
	ids    map[string]string // user ids by name
	params map[string]string // what path parameters stand for
	// others are the same parameters, of the other workspace or of another user.
	others     map[string]string
	principals []principal
}

func newWorld(t *testing.T) *world {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	w := &world{
		Server: apptest.Start(t, clk, "DATA_DIR="+t.TempDir(), "ACCOUNT_VALIDATION_METHOD=auto", "OIDC_CLIENT_REGISTRATION_TOKEN=a-registration-token"),
		t:      t, clock: clk, ids: map[string]string{}, params: map[string]string{}, others: map[string]string{},
	}
	w.super = w.Admin()
	admin, stranger := w.user("admin"), w.user("stranger")
	w.w = admin.Post("/v2/workspaces", map[string]any{"name": "ours", "slug": "ours"}).Want(http.StatusCreated).Text("id")
	w.w2 = stranger.Post("/v2/workspaces", map[string]any{"name": foreign, "slug": foreign}).Want(http.StatusCreated).Text("id")
	w.fill(admin, stranger)
	for w.super.Get("/v2/workspaces/"+w.w+"/security").Want(http.StatusOK).Text("authentication.clientId") == "" {
		runtime.Gosched() // the client of its pages is made a moment later
	}
	return w
}

// user makes an account and signs in to it.
func (w *world) user(name string) *apptest.Client {
	w.t.Helper()
	email := name + "@people.test"
	made := w.Anyone().Post("/v2/signup", map[string]any{"email": email, "password": password, "firstName": name, "lastName": "x"}).Want(http.StatusCreated)
	w.ids[name] = made.Text("id")
	return w.signIn(name)
}

func (w *world) signIn(name string) *apptest.Client {
	w.t.Helper()
	return w.Anyone().SignIn(name+"@people.test", password)
}

// share gives a user something in the workspace.
func (w *world) share(admin *apptest.Client, name string, permissions map[string]any) {
	w.t.Helper()
	admin.Post("/v2/workspaces/"+w.w+"/permissions", map[string]any{"target": map[string]any{"id": w.ids[name]}, "permissions": permissions}).Want(http.StatusOK)
}

func (w *world) fill(admin, stranger *apptest.Client) {
	w.t.Helper()
	other, exmember, reader, editor := w.user("other"), w.user("exmember"), w.user("reader"), w.user("editor")
	w.share(admin, "exmember", map[string]any{"role": "editor"})
	w.share(admin, "reader", map[string]any{"policies": map[string]any{"read": true}})
	w.share(admin, "editor", map[string]any{"role": "editor"})
	admin.Delete("/v2/workspaces/" + w.w + "/permissions/" + w.ids["exmember"]).Want(http.StatusOK)
	readKey, readID := w.key(admin, w.w, "workspaces")
	filesKey, filesID := w.key(admin, w.w, "files")
	foreignKey, foreignID := w.key(stranger, w.w2, "workspaces")
	admin.Patch("/v2/workspaces/"+w.w+"/security/secrets", map[string]any{"ours": map[string]any{"value": "x"}}).Want(http.StatusOK)
	stranger.Patch("/v2/workspaces/"+w.w2+"/security/secrets", map[string]any{foreign: map[string]any{"value": foreign}}).Want(http.StatusOK)
	admin.Put("/v2/workspaces/"+w.w+"/automations/ours", anAutomation()).Want(http.StatusCreated)
	admin.Put("/v2/workspaces/"+w.w+"/pages/ours", aPage()).Want(http.StatusCreated)
	stranger.Put("/v2/workspaces/"+w.w2+"/automations/"+foreign, anAutomation()).Want(http.StatusCreated)
	revoked := w.signIn("admin")
	revoked.Post("/v2/logout", nil).Want(http.StatusNoContent)
	expired := w.Anyone().Post("/v2/login/anonymous", map[string]any{"expiresAfter": 60}).Want(http.StatusOK).Text("token")
	w.clock.Advance(10 * time.Minute)
	visitor := w.Visitor()
	userID := func(name string) map[string]any { return map[string]any{"userId": w.ids[name]} }
	w.principals = []principal{
		{"none", as(""), map[string]any{"public": true}},
		{"garbage", as("garbage"), nil},
		{"expired", as(expired), nil},
		{"anon", as(visitor.Token), map[string]any{"userId": visitor.Get("/v2/me").Text("id")}},
		{"other", as(other.Token), userID("other")},
		{"exmember", as(exmember.Token), userID("exmember")},
		{"reader", as(reader.Token), userID("reader")},
		{"editor", as(editor.Token), userID("editor")},
		{"admin", as(admin.Token), userID("admin")},
		{"at-reader", as(w.accessToken(reader, nil)), userID("reader")},
		{"low-scope", as(w.accessToken(admin, []string{"files:read"})), userID("admin")},
		{"keyW-read", withKey(readKey), map[string]any{"apiKeyId": readID}},
		{"keyW-files", withKey(filesKey), map[string]any{"apiKeyId": filesID}},
		{"keyW2", withKey(foreignKey), nil}, // a key of another workspace is nobody here
		{"revoked", as(revoked.Token), nil},
		{"super", as(w.super.Token), userID("super")},
		{"internal", withKey(apptest.InternalKey), nil},
	}
	w.ids["super"] = w.super.Get("/v2/me").Text("id")
	w.principals[15].explain = userID("super")
	w.params = map[string]string{
		"workspaceId": w.w, "apiKey": readID, "target": w.ids["reader"], "userId": w.ids["other"], "secretName": "ours",
		"slug...": "ours", "name": "ours", "revision": "1", "version": "latest",
	}
	w.others = map[string]string{"apiKey": foreignID, "target": w.ids["stranger"], "secretName": foreign}
	maps.Copy(w.params, w.file(admin, w.w))
	maps.Copy(w.params, w.apps(admin))
	maps.Copy(w.params, w.pages(admin))
	maps.Copy(w.params, w.webhook(admin, w.w))
	theirs := w.file(stranger, w.w2)
	w.others["fileId"], w.others["fileId..."] = theirs["fileId"], theirs["fileId"]
	maps.Copy(w.others, w.webhook(stranger, w.w2))
}

func as(token string) func(*apptest.Client) *apptest.Client {
	return func(c *apptest.Client) *apptest.Client {
		with := c.With("X-Test", "matrix")
		with.Token = token
		return with
	}
}

func withKey(key string) func(*apptest.Client) *apptest.Client {
	return func(c *apptest.Client) *apptest.Client { return c.With("X-Svc-Api-Key", key) }
}

// key makes an API key that may read one kind of thing.
func (w *world) key(owner *apptest.Client, workspace, subject string) (secret, id string) {
	w.t.Helper()
	made := owner.Post("/v2/workspaces/"+workspace+"/security/apikeys", map[string]any{
		"name": "key of " + workspace, "rules": []any{map[string]any{"action": "read", "subject": subject}},
	}).Want(http.StatusCreated)
	return made.Text("apiKey"), made.Text("id")
}

func (w *world) accessToken(owner *apptest.Client, scopes []string) string {
	w.t.Helper()
	body := map[string]any{"name": strings.Join(scopes, " ") + " token", "expiresAt": w.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
	if scopes != nil {
		body["scopes"] = scopes
	}
	return owner.Post("/v2/user/accessTokens", body).Want(http.StatusCreated).Text("token")
}
