package repositories_test

import (
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/vault"
	"atelier/internal/workspaces/internal/repositories"
)

func index(t *testing.T, text string) *dsul.Document {
	t.Helper()
	doc, problems := dsul.Parse(dsul.Index, "", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return doc
}

// sshKey makes a private key as ssh-keygen does.
func sshKey(t *testing.T) string {
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

func fieldsOf(wrong []errs.Field) (names []string) {
	for _, field := range wrong {
		names = append(names, field.Field)
	}
	return names
}

const whole = `name: W
repositories:
  main:
    name: {en: Main, fr: Principal}
    mode: read-only
    config: &main
      url: git@git.example.test:team/w.git
      branch: release
      dirpath: folder/w
      hostKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
      auth: {sshkey: '{{secret.key}}'}
    pull:
      exclude: [{path: index}, {path: automations/a/b}, {}]
  bare: {config: {url: https://git.example.test/x}}
  archives: {name: A, type: archive, pull: {exclude: [{path: security}]}}
  copy: {name: C, mode: write-only, config: {<<: *main, branch: other}}
  odd: 7
`

func TestReadingIsLenient(t *testing.T) {
	t.Parallel()
	all, err := repositories.Of(index(t, whole))
	if err != nil || len(all) != 5 {
		t.Fatalf("%v %v", all, err)
	}
	main, bare, archives, again, odd := all[0], all[1], all[2], all[3], all[4]
	if main.ID != "main" || main.Name != "Main" || main.Kind != repositories.Git || main.Mode != repositories.ReadOnly || main.Branch != "release" ||
		main.Folder != "folder/w" || main.SSHKey != "{{secret.key}}" || main.Authentication() != "sshkey" || !strings.HasPrefix(main.HostKey, "ssh-ed25519 ") {
		t.Errorf("main: %+v", main)
	}
	if !main.Excludes("index") || !main.Excludes("automations/a/b") || main.Excludes("automations/a") || main.Excludes("index.yml") || len(main.Exclude) != 2 {
		t.Errorf("exclusions: %v", main.Exclude)
	}
	if bare.Name != "bare" || bare.Mode != repositories.ReadWrite || bare.Branch != "main" || bare.Authentication() != "none" {
		t.Errorf("bare: %+v", bare)
	}
	if archives.Kind != repositories.Archive || archives.Branch != "" || !archives.Excludes("security") {
		t.Errorf("archives: %+v", archives)
	}
	if again.URL != main.URL || again.Branch != "other" || again.SSHKey == "" {
		t.Errorf("a merged one: %+v", again)
	}
	if odd.ID != "odd" || odd.URL != "" {
		t.Errorf("odd: %+v", odd)
	}
	for _, text := range []string{"name: x\n", "name: x\nrepositories:\n", "name: x\nrepositories: {}\n"} {
		if none, err := repositories.Of(index(t, text)); err != nil || len(none) != 0 {
			t.Errorf("%q: %v %v", text, none, err)
		}
	}
	if none, err := repositories.Of(nil); err != nil || len(none) != 0 {
		t.Errorf("no index: %v %v", none, err)
	}
	if _, err := repositories.Of(index(t, "name: x\nrepositories: [a]\n")); errs.CodeOf(err) != errs.ValidationFailed {
		t.Errorf("a list: %v", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	all, _ := repositories.Of(index(t, whole))
	if found, err := repositories.Find(all, "copy"); err != nil || found.ID != "copy" {
		t.Errorf("%v %v", found, err)
	}
	_, err := repositories.Find(all, "Main")
	missing := errs.From(err)
	if missing.Code != errs.NotFound || missing.Details["repositoryId"] != "Main" || len(missing.Details["availableRepositories"].([]string)) != 5 {
		t.Errorf("%+v", missing)
	}
}

// B-GIT-10.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind       repositories.Kind
		mode       repositories.Mode
		pull, push errs.Code
	}{
		{repositories.Git, repositories.ReadWrite, "", ""},
		{repositories.Git, repositories.ReadOnly, "", errs.PermissionDenied},
		{repositories.Git, repositories.WriteOnly, errs.PermissionDenied, ""},
		{repositories.Filesystem, repositories.ReadWrite, "", ""},
		{repositories.Archive, repositories.ReadWrite, errs.InvalidRequest, errs.InvalidRequest},
		{"other", repositories.ReadWrite, errs.InvalidRequest, errs.InvalidRequest},
		{repositories.Git, "whatever", errs.ValidationFailed, errs.ValidationFailed},
	} {
		r := repositories.Repository{ID: "r", Kind: test.kind, Mode: test.mode}
		if errs.CodeOf(r.MayPull()) != test.pull || errs.CodeOf(r.MayPush()) != test.push {
			t.Errorf("%s %s: pull %v, push %v", test.kind, test.mode, r.MayPull(), r.MayPush())
		}
		if err := r.MayPush(); test.push == errs.PermissionDenied && (!strings.Contains(err.Error(), "read-only") || errs.From(err).Details["mode"] != "read-only") {
			t.Errorf("the refusal does not say the mode: %v", err)
		}
	}
}

func TestFingerprints(t *testing.T) {
	t.Parallel()
	base := repositories.Repository{ID: "a", Kind: repositories.Git, URL: "https://git.example.test/team/w.git", Branch: "main", Folder: "x"}
	same, others := base, []repositories.Repository{base, base, base, base}
	same.ID, same.Name, same.Mode, same.SSHKey, same.URL, same.Folder = "b", "B", repositories.ReadOnly, "k", "HTTPS://Git.example.test:443/team/w.git/", "x/"
	if same.Fingerprint() != base.Fingerprint() {
		t.Error("the same place has two fingerprints")
	}
	others[0].URL, others[1].Branch, others[2].Folder, others[3].Kind = "https://other.example.test/team/w.git", "next", "", repositories.Filesystem
	seen := map[string]bool{base.Fingerprint(): true}
	for _, other := range others {
		if seen[other.Fingerprint()] {
			t.Errorf("another place has the same fingerprint: %v", other)
		}
		seen[other.Fingerprint()] = true
	}
}

// Credentials are in no text that is made of a repository.
func TestCredentialsAreNotShown(t *testing.T) {
	t.Parallel()
	r := repositories.Repository{ID: "main", URL: "https://me:hunter2@git.example.test/x", User: "me", Password: "hunter2", SSHKey: "hunter2"}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).InfoContext(t.Context(), "x", "repository", r)
	r.URL = strings.Replace(r.URL, "hunter2", "x", 1) // of JSON the address is the caller's own
	for _, text := range []string{fmt.Sprint(r), fmt.Sprintf("%v %+v %#v %s %q %d", r, r, r, r, r, r), fmt.Sprint(&r, []repositories.Repository{r}), log.String(), r.Address()} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "git.example.test") {
			t.Errorf("shown: %s", text)
		}
	}
	if strings.Contains(string(encoded), `"hunter2"`) {
		t.Errorf("encoded: %s", encoded)
	}
	for url, shown := range map[string]string{
		"https://git.example.test/x": "https://git.example.test/x", "git@git.example.test:x": "git@git.example.test:x", "https://tok@h/x/y": "https://h/x/y",
		"ssh://git@h:22/x": "ssh://git@h:22/x", "ssh://git:pw@h/x": "ssh://git@h/x", "": "", "https://a:b@h": "https://h/",
	} {
		if got := (repositories.Repository{URL: url}).Address(); got != shown {
			t.Errorf("%s is shown as %s", url, got)
		}
	}
}

// B-GIT-01, B-GIT-04, B-GIT-05, B-GIT-09: what is wrong is named by its place, and no value is repeated.
func TestCheck(t *testing.T) {
	t.Parallel()
	if wrong := repositories.Check(index(t, strings.ReplaceAll(strings.ReplaceAll(whole, "  odd: 7\n", ""), "x}}", "x, branch: main}}"))); len(wrong) > 0 {
		t.Errorf("good ones: %v", wrong)
	}
	for config, field := range map[string]string{
		"{branch: main}":                                        "config.url",
		"{url: 'https://h.test/x'}":                             "config.branch",
		"{url: 'ext::sh -c touch% /tmp/x', branch: main}":       "config.url",
		"{url: 'file:///etc', branch: main}":                    "config.url",
		"{url: '-u', branch: main}":                             "config.url",
		"{url: 'http://h.test/x', branch: main}":                "config.url",
		"{url: 'https://me:hunter2@h.test/x', branch: m}":       "config.url",
		"{url: 'https://hunter2@h.test/x', branch: m}":          "config.url",
		"{url: 'ssh://git:hunter2@h.test/x', branch: m}":        "config.url",
		"{url: 'https://h.test/x', branch: --exec=x}":           "config.branch",
		"{url: 'https://h.test/x', branch: svc/w/main}":         "config.branch",
		"{url: 'https://h.test/x', branch: a..b}":               "config.branch",
		"{url: 'https://h.test/x', branch: m, dirpath: a/../b}": "config.dirpath",
		"{url: 'https://h.test/x', branch: m, dirpath: .git}":   "config.dirpath",
		"{url: 'https://h.test/x', branch: m, hostKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl'}": "config.hostKey",
		"{url: 'git@h.test:x', branch: m, hostKey: 'SHA256:x'}":                                                                             "config.hostKey",
		"{url: 'git@h.test:x', branch: m, hostKey: 'ssh-dss AAAA'}":                                                                         "config.hostKey",
		"{url: 'https://h.test/x', branch: m, auth: {sshkey: '{{secret.k}}'}}":                                                              "config.auth.sshkey",
		"{url: 'git@h.test:x', branch: m, auth: {password: '{{secret.k}}'}}":                                                                "config.auth.password",
		"{url: 'https://h.test/x', branch: m, auth: {password: 'hunter2{{secret.k}}'}}":                                                     "config.auth.password",
		"{url: 'https://h.test/x', branch: m, auth: {password: '{{config.hunter2}}'}}":                                                      "config.auth.password",
		"{url: 'https://h.test/x', branch: m, auth: {password: \"hunter2\\n\"}}":                                                            "config.auth.password",
		"{url: 'https://h.test/x', branch: m, auth: {user: 'a:hunter2'}}":                                                                   "config.auth.user",
		"{url: 'https://h.test/x', branch: m, auth: {user: '{{user}}', password: pppp}}":                                                    "config.auth.user",
		"{url: 'git@h.test:x', branch: m, auth: {sshkey: hunter2}}":                                                                         "config.auth.sshkey",
		"{url: 'git@h.test:x', branch: m, auth: {sshkey: 'ssh-ed25519 AAAAhunter2'}}":                                                       "config.auth.sshkey",
	} {
		wrong := repositories.Check(index(t, "name: x\nrepositories: {r: {name: R, config: "+config+"}}\n"))
		if !slices.Equal(fieldsOf(wrong), []string{"repositories.r." + field}) {
			t.Errorf("%s: %v", config, wrong)
		}
		if strings.Contains(fmt.Sprint(wrong), "hunter2") {
			t.Errorf("the value is repeated: %v", wrong)
		}
	}
	for one, field := range map[string]string{
		"r: {type: filesystem, config: {dirpath: etc}}": "repositories.r.type",
		"r: {type: svn}":                                                             "repositories.r.type",
		"r: {type: archive, mode: sometimes}":                                        "repositories.r.mode",
		"r: {type: archive, config: {url: 'file:///etc'}}":                           "repositories.r.config.url",
		"r: {type: archive, pull: {exclude: [{path: ../x}]}}":                        "repositories.r.pull.exclude[0].path",
		"r: {type: archive, pull: {exclude: [{path: index.yml}]}}":                   "repositories.r.pull.exclude[0].path",
		"r: {type: archive, name: " + strings.Repeat("x", 101) + "}":                 "repositories.r.name",
		"my repo.2: {type: svn}":                                                     `repositories["my repo.2"].type`,
		"r: {type: archive, pull: {exclude: [" + many(1001, "{path: index}") + "]}}": "repositories.r.pull.exclude",
		strings.ReplaceAll(numbered(51), "#", ": {type: archive}"):                   "repositories",
	} {
		if wrong := repositories.Check(index(t, "name: x\nrepositories: {"+one+"}\n")); !slices.Equal(fieldsOf(wrong), []string{field}) {
			t.Errorf("%.100s: %v", one, wrong)
		}
	}
}

func many(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+", ", n), ", ") }

func numbered(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("r%d#", i))
	}
	return strings.Join(all, ", ")
}

func TestFill(t *testing.T) {
	t.Parallel()
	key := sshKey(t)
	secrets := map[string]vault.Secret{"name": "me", "pw": "hunter2", "key": vault.Secret(strings.TrimSpace(key)), "lines": "hunter2\n", "garbage": "hunter2"}
	of := func(config string) repositories.Repository {
		all, err := repositories.Of(index(t, "name: x\nrepositories: {r: {name: R, config: "+config+"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	good := func(config string) repositories.Repository {
		filled, err := repositories.Fill(of(config), secrets)
		if err != nil {
			t.Errorf("%s: %v", config, err)
		}
		return filled
	}
	if r := good("{url: 'https://h.test/x', auth: {user: '{{secret.name}}', password: '{{ secret.pw }}'}}"); r.User != "me" || r.Password != "hunter2" {
		t.Errorf("password: %q %q", r.User, r.Password)
	}
	if r := good("{url: 'https://h.test/x', auth: {password: '{{secret.pw}}'}}"); r.User != "" || r.Password != "hunter2" {
		t.Errorf("token: %q %q", r.User, r.Password)
	}
	if r := good("{url: 'https://h.test/x'}"); r.User != "" || r.Password != "" {
		t.Errorf("public: %q %q", r.User, r.Password)
	}
	if r := good("{url: 'git@h.test:x', auth: {sshkey: '{{secret.key}}'}}"); r.SSHKey != strings.TrimSpace(key) {
		t.Errorf("key: %q", r.SSHKey)
	}
	for config, field := range map[string]string{
		"{url: 'https://h.test/x', auth: {user: '{{secret.none}}', password: '{{secret.pw}}'}}": "user",
		"{url: 'https://h.test/x', auth: {password: '{{secret.none}}'}}":                        "password",
		"{url: 'https://h.test/x', auth: {password: '{{secret.lines}}'}}":                       "password",
		"{url: 'https://h.test/x', auth: {}}":                                                   "password",
		"{url: 'https://h.test/x', auth: {user: me}}":                                           "password",
		"{url: 'git@h.test:x'}":                                                                 "sshkey",
		"{url: 'git@h.test:x', auth: {sshkey: '{{secret.garbage}}'}}":                           "sshkey",
	} {
		filled, err := repositories.Fill(of(config), secrets)
		if failure := errs.From(err); err == nil || failure.Code != errs.ValidationFailed || !slices.Equal(fieldsOf(failure.Fields), []string{"repositories.r.config.auth." + field}) {
			t.Errorf("%s: %v %+v", config, filled, failure)
		}
		if strings.Contains(fmt.Sprintf("%+v", err), "hunter2") {
			t.Errorf("the secret is repeated: %v", err)
		}
	}
	_, err := repositories.Fill(of("{url: 'https://h.test/x', auth: {password: '{{secret.none}}'}}"), secrets)
	if !strings.Contains(fmt.Sprint(errs.From(err).Fields), "none") {
		t.Errorf("the missing secret is not named: %v", err)
	}
	platform := repositories.Repository{ID: "p", Platform: true, Kind: repositories.Git, URL: "https://h.test/x", Password: "{{secret.pw}}"}
	if filled, err := repositories.Fill(platform, secrets); err != nil || filled.Password != "{{secret.pw}}" {
		t.Errorf("what the operator configured took a secret of the workspace: %v", err)
	}
}

// What was entered for one host is not sent to another (B-GIT-03), and no credential stays in the text.
func TestSettle(t *testing.T) {
	t.Parallel()
	const before = "name: x # named\nrepositories:\n  r:\n    name: R\n    config: {url: 'https://one.test/x', branch: m, auth: {user: me, password: '{{secret.a}}'}} # ours\n"
	settle := func(from, to string) (repositories.Settled, error) {
		var was *dsul.Document
		if from != "" {
			was = index(t, from)
		}
		return repositories.Platform{Repositories: []repositories.Repository{{ID: "shared"}}}.Settle(was, index(t, to))
	}
	for name, test := range map[string]struct {
		old, new string
		kept     bool
	}{
		"another path":       {"one.test/x", "one.test/y", true},
		"another spelling":   {"one.test/x", "ONE.test:443/x", true},
		"another host":       {"one.test/x", "two.test/x", false},
		"another port":       {"one.test/x", "one.test:8443/x", false},
		"a sub-domain":       {"one.test/x", "one.test.evil.test/x", false},
		"another reference":  {"one.test/x', branch: m, auth: {user: me, password: '{{secret.a}}", "two.test/x', branch: m, auth: {user: me, password: '{{secret.b}}", true},
		"another user alone": {"one.test/x', branch: m, auth: {user: me", "two.test/x', branch: m, auth: {user: you", false},
	} {
		settled, err := settle(before, strings.Replace(before, test.old, test.new, 1))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all, _ := repositories.Of(settled.Index)
		if kept := all[0].Password != ""; kept != test.kept || len(settled.Secrets) > 0 || !strings.Contains(string(settled.Index.Text), "name: x # named\n") {
			t.Errorf("%s: %s", name, settled.Index.Text)
		}
		if _, err := repositories.Fill(all[0], map[string]vault.Secret{"a": "v", "b": "v"}); (err == nil) != test.kept {
			t.Errorf("%s: %v", name, err)
		}
	}
	key := sshKey(t)
	block := "      sshkey: |\n        " + strings.ReplaceAll(strings.TrimSpace(key), "\n", "\n        ") + "\n"
	settled, err := settle(before, "name: x\nrepositories:\n"+
		"  r: {name: R, config: {url: 'https://two.test/x', branch: m, auth: {password: hunter2}}}\n"+
		"  my repo: {name: R, config: {url: 'https://two.test/x', branch: m, auth: {password: hunter3}}}\n"+
		"  s:\n    name: S\n    config:\n      url: git@h.test:x\n      branch: m\n      auth:\n  "+strings.ReplaceAll(block, "\n      ", "\n        ")+"# the end\n")
	if err != nil {
		t.Fatal(err)
	}
	text := string(settled.Index.Text)
	if strings.Contains(text, "hunter") || strings.Contains(text, "PRIVATE") || !strings.Contains(text, "{{secret.repository_r_password}}") || !strings.HasSuffix(text, "# the end\n") {
		t.Errorf("the text: %s", text)
	}
	names := slices.Sorted(maps.Keys(settled.Secrets))
	other := repositories.SecretName("my repo", "password")
	if !slices.Equal(names, []string{other, "repository_r_password", "repository_s_sshkey"}) || settled.Secrets["repository_r_password"] != "hunter2" ||
		settled.Secrets[other] != "hunter3" || settled.Secrets["repository_s_sshkey"].Reveal() != key {
		t.Errorf("secrets: %v", names)
	}
	if other == repositories.SecretName("my_repo", "password") || other == repositories.SecretName("my.repo", "password") {
		t.Error("two repositories share a secret")
	}
	for name, text := range map[string]string{
		"an alias":     "labels: &p hunter2\nrepositories: {r: {name: R, config: {url: 'https://two.test/x', branch: m, auth: {password: *p}}}}\n",
		"an anchor":    "repositories: {r: {name: R, config: {url: 'https://two.test/x', branch: m, auth: {password: &p hunter2}}}}\nlabels: *p\n",
		"a merge key":  "config: &c {url: 'https://two.test/x', branch: m, auth: {password: hunter2}}\nrepositories: {r: {name: R, config: {<<: *c}}}\n",
		"a merged one": "blocks: &b {repositories: {r: {name: R, config: {url: 'https://two.test/x', branch: m, auth: {password: hunter2}}}}}\n<<: *b\n",
		"a mistake":    "repositories: {r: {name: R, config: {url: 'file:///x', branch: m, auth: {password: hunter2}}}}\n",
		"a taken id":   "repositories: {shared: {name: R, type: archive}}\n",
		"a list":       "repositories: []\n",
	} {
		if settled, err := settle(before, "name: x\n"+text); errs.CodeOf(err) != errs.ValidationFailed || strings.Contains(fmt.Sprintf("%+v", err), "hunter2") {
			t.Errorf("%s: %v %v", name, settled.Index, err)
		}
	}
	if _, err := settle("name: x\nrepositories: {shared: {name: R, type: archive}}\n", "name: x\nrepositories: {shared: {name: S, type: archive}}\n"); err != nil {
		t.Errorf("an id that was there before the platform's: %v", err)
	}
	if _, err := settle("", before); err != nil {
		t.Errorf("a new one: %v", err)
	}
}
