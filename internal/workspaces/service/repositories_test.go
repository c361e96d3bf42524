package service_test

import (
	"crypto/ed25519"
	"database/sql"
	"encoding/pem"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/service"
)

// gitAt is a repository at an address that is opened by a password, unless that is empty.
func gitAt(url, password string) map[string]any {
	config := map[string]any{"url": url, "branch": "main"}
	if password != "" {
		config["auth"] = map[string]any{"user": "me", "password": password}
	}
	return map[string]any{"name": "Main", "config": config}
}

// repositoriesOf is the body of a change of repositories: ids and repositories in turns.
func repositoriesOf(idsAndRepositories ...any) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(idsAndRepositories); i += 2 {
		all[idsAndRepositories[i].(string)] = idsAndRepositories[i+1]
	}
	return map[string]any{"repositories": all}
}

// privateKey makes a key as ssh-keygen does.
func privateKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

// stored is every text and every event that the house has stored.
func (h *house) stored() string {
	h.t.Helper()
	texts, err := sqldb.All(h.t.Context(), h.db, func(rows *sql.Rows) (text string, err error) {
		err = rows.Scan(&text)
		return text, err
	}, `SELECT body FROM ws_texts UNION ALL SELECT body FROM bus_events UNION ALL SELECT summary FROM ws_documents`)
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(texts, "\n")
}

func TestRepositoriesAreSet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		if none := ann.get(at + "/repositories").want(http.StatusOK); strings.TrimSpace(none.body.String()) != "[]" {
			t.Errorf("a new workspace: %s", none.body)
		}
		full := map[string]any{
			"name": "Main", "type": "git", "mode": "write-only",
			"config": map[string]any{"url": "https://git.example.test/team/w.git", "branch": "release/1", "dirpath": "a/b", "auth": map[string]any{"user": "me", "password": "{{secret.token}}"}},
			"pull":   map[string]any{"exclude": []any{map[string]any{"path": "index"}, map[string]any{"path": "automations/a/b"}}},
		}
		ann.patch(at, repositoriesOf("main", full, "archives", map[string]any{"name": "A", "type": "archive"})).want(http.StatusOK)
		shown := ann.get(at).want(http.StatusOK)
		if got := shown.at("repositories.main"); !reflect.DeepEqual(got, full) {
			t.Errorf("shown: %v", got)
		}
		if names := ann.get(at + "/security/secrets").names(); names != "" {
			t.Errorf("a reference made secrets: %s", names)
		}
		listed := ann.get(at + "/repositories").want(http.StatusOK)
		for path, want := range map[string]string{
			"0.id": "archives", "0.type": "archive", "0.authentication": "none", "1.id": "main", "1.name": "Main", "1.type": "git", "1.mode": "write-only", "1.platform": "false",
			"1.url": "https://git.example.test/team/w.git", "1.branch": "release/1", "1.dirpath": "a/b", "1.authentication": "password", "2": "",
		} {
			if got := listed.text(path); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
		if contains(listed.body.String(), "secret.") {
			t.Errorf("the list shows how it is opened: %s", listed.body)
		}

		// what was read can be sent back, and removing them removes them
		if again := ann.patch(at, shown.body.String()).want(http.StatusOK); again.header.Get("ETag") != shown.header.Get("ETag") {
			t.Errorf("what was read and sent back is a change: %s", again.body)
		}
		ann.patch(at, map[string]any{"repositories": nil}).want(http.StatusOK)
		if gone := ann.get(at); gone.at("repositories") != nil {
			t.Errorf("still there: %s", gone.body)
		}
	})
}

// B-GIT-01, 04, 05, 09, 10: what is wrong is refused by its place, nothing is stored and no credential is repeated.
func TestRepositoriesThatCannotBe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		before := ann.get(at).header.Get("ETag")
		config := func(keysAndValues ...any) map[string]any {
			all := map[string]any{"url": "https://git.example.test/x", "branch": "main"}
			for i := 0; i < len(keysAndValues); i += 2 {
				all[keysAndValues[i].(string)] = keysAndValues[i+1]
			}
			return map[string]any{"name": "M", "config": all}
		}
		auth := func(key, value string) map[string]any { return map[string]any{key: value} }
		for _, test := range []struct {
			id    string
			one   any
			field string
		}{
			{"r", config("url", "ext::sh -c touch% /tmp/x"), "repositories.r.config.url"},
			{"r", config("url", "--upload-pack=touch x"), "repositories.r.config.url"},
			{"r", config("url", "file:///etc"), "repositories.r.config.url"},
			{"r", config("url", "https://me:hunter2@git.example.test/x"), "repositories.r.config.url"},
			{"r", config("url", "ssh://-oProxyCommand=x/y"), "repositories.r.config.url"},
			{"r", config("url", 7), "repositories.r.config.url"},
			{"r", config("branch", "-u"), "repositories.r.config.branch"},
			{"r", config("branch", "svc/other/main"), "repositories.r.config.branch"},
			{"r", config("branch", nil), "repositories.r.config.branch"},
			{"r", config("dirpath", "../x"), "repositories.r.config.dirpath"},
			{"r", config("dirpath", "a/.git"), "repositories.r.config.dirpath"},
			{"r", config("hostKey", "x"), "repositories.r.config.hostKey"},
			{"r", config("token", "hunter2"), "repositories.r.config.token"},
			{"r", config("auth", auth("token", "hunter2")), "repositories.r.config.auth.token"},
			{"r", config("auth", auth("password", "hunter2\n")), "repositories.r.config.auth.password"},
			{"r", config("auth", auth("password", "hunter2 {{secret.x}}")), "repositories.r.config.auth.password"},
			{"r", config("auth", auth("sshkey", "{{secret.x}}")), "repositories.r.config.auth.sshkey"},
			{"r", config("url", "git@git.example.test:x", "auth", auth("sshkey", "hunter2")), "repositories.r.config.auth.sshkey"},
			{"r", config("url", "git@git.example.test:x", "auth", auth("password", "hunter2")), "repositories.r.config.auth.password"},
			{"r", map[string]any{"name": "M", "type": "filesystem", "config": map[string]any{"dirpath": "/etc"}}, "repositories.r.type"},
			{"r", map[string]any{"name": "M", "type": "archive", "mode": "append"}, "repositories.r.mode"},
			{"r", map[string]any{"name": "M", "type": "archive", "groups": []any{"base"}}, "repositories.r.groups"},
			{"r", map[string]any{"name": "M", "type": "archive", "pull": map[string]any{"exclude": []any{map[string]any{"path": "../x"}}}}, "repositories.r.pull.exclude[0].path"},
			{"r", map[string]any{"type": "archive"}, "repositories.r.name"},
			{"r", "x", "repositories.r"},
			{"-r", map[string]any{"name": "M", "type": "archive"}, "repositories.-r"},
		} {
			wrong := ann.patch(at, repositoriesOf(test.id, test.one)).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(test.field)
			if contains(wrong.body.String(), "hunter2") {
				t.Errorf("the value is repeated: %s", wrong.body)
			}
			body := repositoriesOf(test.id, test.one)
			body["name"] = "New"
			ann.post("/v2/workspaces", body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(test.field)
		}
		ann.patch(at, map[string]any{"repositories": []any{}}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("repositories")
		if after := ann.get(at).header.Get("ETag"); after != before || contains(h.stored(), "hunter2") || ann.get(at+"/security/secrets").names() != "" {
			t.Errorf("something was stored: %s", after)
		}
	})
}

// A password or a key never stays in the definition: it is a secret, made in the same step.
func TestCredentialsOfRepositoriesAreSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		key := privateKey(t)
		secretly := map[string]any{"name": "S", "config": map[string]any{"url": "git@git.example.test:x", "branch": "main", "auth": map[string]any{"sshkey": key}}}
		at := ann.workspace("Mine")
		check := func(at string, answered *answer) {
			t.Helper()
			if got := answered.text("repositories.main.config.auth.password"); got != "{{secret.repository_main_password}}" {
				t.Errorf("answered: %s", answered.body)
			}
			if got := answered.text("repositories.s.config.auth.sshkey"); got != "{{secret.repository_s_sshkey}}" {
				t.Errorf("answered: %s", answered.body)
			}
			values := h.values(at, "none")
			if values["repository_main_password"].Reveal() != "hunter2" || values["repository_s_sshkey"].Reveal() != key || len(values) != 2 {
				t.Errorf("%d secrets", len(values))
			}
		}
		check(at, ann.patch(at, repositoriesOf("main", gitAt("https://git.example.test/x", "hunter2"), "s", secretly)).want(http.StatusOK))
		made := repositoriesOf("main", gitAt("https://git.example.test/x", "hunter2"), "s", secretly)
		made["name"] = "Made"
		created := ann.post("/v2/workspaces", made).want(http.StatusCreated)
		check(created.header.Get("Location"), created)
		if none := ann.post("/v2/workspaces", map[string]any{"name": "None", "repositories": nil}).want(http.StatusCreated); none.at("repositories") != nil {
			t.Errorf("none: %s", none.body)
		}
		if event := h.payload(at, secretsUpdated); event.text("created.0") != "repository_main_password" {
			t.Errorf("event: %s", event.body)
		}
		if all := h.stored(); contains(all, "hunter2") || contains(all, "PRIVATE KEY") {
			t.Error("a credential was stored as it is")
		}
		if export := string(ann.export(at)); contains(export, "hunter2") {
			t.Error("a credential was exported")
		}

		// the same again changes the secret alone; with a slug or a label in the same change as well
		revision := ann.get(at).header.Get("ETag")
		same := ann.patch(at, repositoriesOf("main", gitAt("https://git.example.test/x", "hunter3"), "s", secretly)).want(http.StatusOK)
		if same.header.Get("ETag") != revision || h.values(at, "none")["repository_main_password"].Reveal() != "hunter3" {
			t.Errorf("another password is an edit of the definition: %s", same.body)
		}
		body := repositoriesOf("main", gitAt("https://git.example.test/x", "hunter4"), "s", secretly)
		body["labels"] = []string{"team:core"}
		ann.patch(at, body).want(http.StatusOK)
		if h.values(at, "none")["repository_main_password"].Reveal() != "hunter4" || contains(h.stored(), "hunter4") {
			t.Error("a change with labels left the password in the text")
		}

		// what cannot be stored leaves nothing behind
		body = repositoriesOf("main", gitAt("https://git.example.test/x", "hunter5"))
		body["slug"] = created.text("slug")
		ann.patch(at, body).wantError(http.StatusConflict, errs.AlreadyExists)
		if h.values(at, "none")["repository_main_password"].Reveal() != "hunter4" {
			t.Error("a refused change has set a secret")
		}
		ann.post(at+"/writeLock", nil).want(http.StatusOK)
		ann.patch(at, repositoriesOf("other", gitAt("https://git.example.test/x", "hunter6"))).wantError(http.StatusLocked, errs.Locked)
		if len(h.values(at, "none")) != 2 {
			t.Error("a change while the workspace is locked has set a secret")
		}
	})
}

// B-GIT-03: what was entered for one host is not sent to another.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		const password, reference = "repositories.main.config.auth.password", "{{secret.repository_main_password}}"
		ann.patch(at, repositoriesOf("main", gitAt("https://one.example.test/x", "hunter2"))).want(http.StatusOK)
		if moved := ann.patch(at, repositoriesOf("main", gitAt("https://one.example.test/y", reference))).want(http.StatusOK); moved.text(password) != reference {
			t.Errorf("another path took the password: %s", moved.body)
		}
		moved := ann.patch(at, repositoriesOf("main", gitAt("https://evil.example.test/y", reference))).want(http.StatusOK)
		if moved.text(password) != "" || moved.text("repositories.main.config.auth.user") != "me" {
			t.Errorf("another host got the password: %s", moved.body)
		}
		if list := ann.get(at + "/repositories"); list.text("0.authentication") != "none" || list.text("0.url") != "https://evil.example.test/y" {
			t.Errorf("list: %s", list.body)
		}
		if entered := ann.patch(at, repositoriesOf("main", gitAt("https://two.example.test/y", "hunter3"))).want(http.StatusOK); entered.text(password) != reference {
			t.Errorf("a password for the new host: %s", entered.body)
		}
		if entered := ann.patch(at, repositoriesOf("main", gitAt("https://three.example.test/y", "{{secret.other}}"))).want(http.StatusOK); entered.text(password) != "{{secret.other}}" {
			t.Errorf("another secret for the new host: %s", entered.body)
		}
		if contains(h.stored(), "hunter") {
			t.Error("a credential was stored as it is")
		}
	})
}

// Repositories are for those who may manage them, and their credentials for those who may set secrets.
func TestWhoSetsRepositories(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		rules := func(more ...any) {
			t.Helper()
			ann.put(at+"/security", map[string]any{"authorizations": map[string]any{
				"roles": map[string]any{"editor": map[string]any{}},
				"rules": append([]any{map[string]any{"role": "editor", "action": []string{"read", "update"}, "subject": "workspaces"}}, more...),
			}}).want(http.StatusOK)
		}
		rules()
		ann.patch(at, repositoriesOf("main", gitAt("https://one.example.test/x", "hunter2"))).want(http.StatusOK)
		before := ann.get(at).header.Get("ETag")
		for _, body := range []map[string]any{
			repositoriesOf("main", gitAt("https://evil.example.test/x", "")), repositoriesOf(),
			{"repositories": nil},
			repositoriesOf("main", gitAt("https://one.example.test/x", "theirs")), repositoriesOf("main", gitAt("file:///etc", "")),
		} {
			bob.patch(at, body).wantError(http.StatusForbidden, errs.PermissionDenied)
		}
		bob.patch(at, map[string]any{"description": "Bob may say this"}).want(http.StatusOK)
		bob.patch(at, bob.get(at).body.String()).want(http.StatusOK)
		eve.get(at+"/repositories").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		bob.get(at + "/repositories").want(http.StatusOK)

		manages := map[string]any{"role": "editor", "action": "manage_repositories", "subject": "workspaces"}
		rules(manages)
		bob.patch(at, repositoriesOf("main", gitAt("https://one.example.test/x", "theirs"))).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.patch(at, repositoriesOf("main", gitAt("https://one.example.test/x", "{{secret.token}}"))).want(http.StatusOK)
		rules(manages, map[string]any{"role": "editor", "action": []string{"create", "update"}, "subject": "secrets"})
		bob.patch(at, repositoriesOf("main", gitAt("https://one.example.test/x", "bobs"))).want(http.StatusOK)
		if h.values(at, "none")["repository_main_password"].Reveal() != "bobs" || ann.get(at).header.Get("ETag") == before {
			t.Error("bob's change is not there")
		}
	})
}

func TestPlatformRepositoriesAreShown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		const prefix = "WORKSPACES_STORAGE_GIT_PLATFORM_"
		environ := func(asked string) map[string]string {
			return map[string]map[string]string{
				prefix: {
					"all_URL": "https://git.example.test/all", "all_DIRPATH": "base", "all_NAME": "All of them", "all_AUTH_PASSWORD": "hunter2",
					"disk_TYPE": "filesystem", "disk_DIRPATH": "/srv/hidden", "disk_MODE": "read-only",
				},
				"WORKSPACES_GROUP_": {"core_LABELS": "team:core"},
			}[asked]
		}
		platform, err := service.ReadPlatform(environ, service.PlatformSettings{Groups: `{"more":["team:more"]}`})
		if err != nil {
			t.Fatal(err)
		}
		h.deps.Platform = platform
		h.open()
		ann := h.user("ann")
		at := ann.workspace("Mine")
		shown := ann.get(at).want(http.StatusOK)
		all := map[string]any{"name": "All of them", "type": "git", "mode": "read-write", "config": map[string]any{"url": "https://git.example.test/all", "branch": "main", "dirpath": "base"}}
		disk := map[string]any{"name": "disk", "type": "filesystem", "mode": "read-only", "config": map[string]any{}}
		if got := shown.at("platformRepositories"); !reflect.DeepEqual(got, map[string]any{"all": all, "disk": disk}) {
			t.Errorf("shown: %v", got)
		}
		list := ann.get(at + "/repositories").want(http.StatusOK)
		for path, want := range map[string]string{
			"0.id": "all", "0.platform": "true", "0.dirpath": "base/" + shown.text("slug"), "0.authentication": "password", "0.groups": "",
			"1.id": "disk", "1.dirpath": "", "1.mode": "read-only", "1.authentication": "none",
		} {
			if got := list.text(path); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
		root := h.superAdmin()
		for _, answered := range []*answer{root.get("/v2/workspaces/platform"), root.get("/v2/workspaces/platform/repositories"), shown, list} {
			if text := answered.want(http.StatusOK).body.String(); contains(text, "hunter2") || contains(text, "/srv") {
				t.Errorf("a credential or a path of the machine: %s", text)
			}
		}
		if groups := root.get("/v2/workspaces/platform").text("platformRepositories.all.groups"); groups != "[core more]" {
			t.Errorf("groups: %s", groups)
		}
		if groups := root.get("/v2/workspaces/platform/repositories").text("1.groups"); groups != "[core more]" {
			t.Errorf("groups: %s", groups)
		}

		// they are for reading alone
		if again := ann.patch(at, shown.body.String()).want(http.StatusOK); again.header.Get("ETag") != shown.header.Get("ETag") {
			t.Errorf("what was read and sent back is a change: %s", again.body)
		}
		ann.patch(at, map[string]any{"platformRepositories": map[string]any{}}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("platformRepositories")
		ann.patch(at, repositoriesOf("all", gitAt("https://git.example.test/x", ""))).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("repositories.all")

		environ = func(asked string) map[string]string {
			return map[string]map[string]string{prefix: {"all_URL": "https://x:hunter2@git.example.test/all"}}[asked]
		}
		if _, err := service.ReadPlatform(environ, service.PlatformSettings{}); err == nil || !contains(err.Error(), prefix+"all_URL") || contains(err.Error(), "hunter2") {
			t.Errorf("a broken setting: %v", err)
		}
	})
}

// What an archive, an undo or a rollback brings was settled before, or is only warned of.
func TestRepositoriesOnOtherWays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.bring(newImport, pack("index.yml", "name: Mine\nrepositories: {odd: {type: svn, config: {url: 'file:///etc', auth: {password: hunter2}}}}\n")).made()
		if list := ann.get(at + "/repositories").want(http.StatusOK); list.text("0.type") != "svn" || contains(h.stored(), "hunter2") {
			t.Errorf("an import: %s", list.body)
		}
		ann.patch(at, map[string]any{"description": "other things can be changed"}).want(http.StatusOK)
		ann.post(at+"/versions", map[string]any{"name": "v1"}).want(http.StatusCreated)
		ann.patch(at, repositoriesOf("main", gitAt("https://one.example.test/x", "hunter3"))).want(http.StatusOK)
		revision := ann.get(at + "/history?limit=1").text("0.revision")
		ann.patch(at, repositoriesOf("main", gitAt("https://two.example.test/x", "{{secret.b}}"))).want(http.StatusOK)
		ann.post(at+"/history/"+ann.get(at+"/history?limit=1").text("0.revision")+"/undo", nil).want(http.StatusOK)
		if back := ann.get(at).text("repositories.main.config.auth.password"); back != "{{secret.repository_main_password}}" {
			t.Errorf("after undo: %s", back)
		}
		if text := ann.get(at + "/history/" + revision + "/text?path=index").want(http.StatusOK).body.String(); contains(text, "hunter3") || !contains(text, "repository_main_password") {
			t.Errorf("the history: %s", text)
		}
		ann.post(at+"/versions/v1/pull", nil).want(http.StatusOK)
		if list := ann.get(at + "/repositories"); list.text("0.id") != "odd" {
			t.Errorf("after rollback: %s", list.body)
		}
	})
}
