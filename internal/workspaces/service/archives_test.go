package service_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

// Both layouts are the same to us: the documents in a folder of any name, or at the root.
func TestLayoutsOfArchives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		want := []archive.File{
			{Path: "automations/a b/c", Ext: ".json", Text: []byte(`{"name": "c", "do": []}`)},
			{Path: "imports/i", Ext: ".yaml", Text: []byte("appSlug: Custom Code\n")},
			{Path: "index", Ext: ".yaml", Text: []byte("name: Shop # ours\nslug: shop\n")},
			{Path: "pages/p", Ext: ".yml", Text: []byte("name: p\r\nblocks: []\r\n")},
		}
		for _, root := range []string{"", "current/", "My Shop/"} {
			names := []string{"README.md", "hello", root + "blocks/x.yml", "a: b"}
			for _, file := range want {
				names = append(names, root+file.Path+file.Ext, string(file.Text))
			}
			done := ann.bring(newImport, pack(names...))
			at := done.made()
			ann.wantDocuments(at, want)
			if done.finding("ignored") == "" || len(done.list("imported")) != 4 {
				t.Errorf("%q: %s", root, done.body)
			}
		}
		if slug := ann.get(workspacesPath + "slug:shop").want(http.StatusOK).text("name"); slug != "Shop" {
			t.Errorf("the slug of the archive is used: %s", slug)
		}
	})
}

// What is exported tells its kind and its name, and only to those who may read.
func TestExports(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, eve := h.user("ann"), h.user("eve")
		at := ann.bring(newImport, pack("index.yml", "name: Shop\n", "automations/a.yml", "name: first\ndo: []\n")).made()
		id := strings.TrimPrefix(at, workspacesPath)
		ann.post(at+"/versions", map[string]any{"name": "v1"}).want(http.StatusCreated)
		ann.put(at+"/automations/a", map[string]any{"name": "second", "do": []any{}}).want(http.StatusOK)
		for path, root := range map[string]string{"/versions/current/export": "current", "/versions/v1/export": "v1", "/versions/latest/export": "latest"} {
			exported := ann.post(at+path, nil).want(http.StatusOK)
			if exported.header.Get("Content-Type") != zipKind || exported.header.Get("Content-Disposition") != "attachment; filename="+id+"-"+root+".zip" {
				t.Errorf("%s: %v", path, exported.header)
			}
			wanted := map[bool]string{true: "second", false: "first"}[root == "current"]
			if text := unzip(t, exported.body.Bytes())[root+"/automations/a.yml"]; !strings.Contains(text, wanted) {
				t.Errorf("%s: %q", path, text)
			}
		}
		if got := ann.get(at + "/export").want(http.StatusOK); got.body.String() != ann.post(at+"/versions/current/export", nil).body.String() {
			t.Error("the two ways to export differ")
		}
		for _, version := range []string{"v2", "lastPush", "a%20b", strings.Repeat("v", 16), strings.Repeat("v", 1000)} {
			ann.post(at+"/versions/"+version+"/export", nil).wantError(http.StatusNotFound, errs.NotFound)
		}
		for _, refused := range []*answer{eve.get(at + "/export"), eve.post(at+"/versions/v1/export", nil), eve.get(workspacesPath + "nosuch1/export")} {
			refused.wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		}
		named := workspacesPath + "slug:" + ann.get(at).text("slug")
		if unpack(t, ann.export(named)).Import.WorkspaceID != id {
			t.Error("exported by its slug")
		}
	})
}

// B-ARC-05: nothing in an archive makes it somebody else's, or takes anything of somebody else.
func TestArchivesTakeNothingOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, eve := h.user("ann"), h.user("eve")
		theirs := eve.workspace("Theirs")
		other := strings.TrimPrefix(theirs, workspacesPath)
		page := eve.post(theirs+"/pages", map[string]any{"name": "Home", "slug": "home"}).want(http.StatusCreated).text("id")
		eve.patch(theirs+"/security/secrets", map[string]any{"token": map[string]any{"value": "hunter2"}}).want(http.StatusOK)
		before := eve.get(theirs).body.String()
		stolen := fmt.Sprintf("id: %s\nname: Mine\nslug: %s\nownerId: eve\ncreatedBy: eve\nupdatedBy: eve\ncreatedAt: 2001-01-01T00:00:00Z\nworkspaceId: %s\n"+
			"permissions: {eve: owner}\nwriteLock: {reason: merge_conflict}\ndirty: false\nlastPush: {version: v1}\n", other, eve.get(theirs).text("slug"), other)
		raw := pack("index.yml", stolen,
			"pages/home.yml", "id: "+page+"\nname: Home\ncreatedBy: eve\nworkspaceId: "+other+"\nblocks: []\n",
			"automations/a.yml", "name: a\ncreatedBy: eve\ndo:\n  - set: {name: x, value: '{{secret.token}}'}\n", ".import.yml", "workspaceId: "+other+"\n")
		mine := ann.workspace("Mine")
		for _, path := range []string{newImport, mine + "/import"} {
			at := ann.bring(path, raw).made()
			if at == theirs || path != newImport && at != mine {
				t.Fatalf("imported into %s", at)
			}
			shown := ann.get(at).want(http.StatusOK)
			if shown.text("id") == other || shown.text("createdBy") != "ann" || shown.text("updatedBy") != "ann" || shown.at("writeLock") != nil || shown.at("lastPush") != nil ||
				!strings.HasPrefix(shown.text("createdAt"), "2026-") || shown.text("slug") == eve.get(theirs).text("slug") {
				t.Errorf("%s: %s", path, shown.body)
			}
			if home := ann.get(at + "/pages/home").want(http.StatusOK); home.text("id") == page || home.text("createdBy") != "ann" || home.text("workspaceId") == other {
				t.Errorf("%s: %s", path, home.body)
			}
			if a := ann.get(at + "/automations/a").want(http.StatusOK); a.text("createdBy") != "ann" {
				t.Errorf("%s: %s", path, a.body)
			}
			if secrets := ann.get(at + "/security/secrets").want(http.StatusOK); strings.Contains(secrets.body.String(), "token") {
				t.Errorf("%s: %s", path, secrets.body)
			}
			eve.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		}
		if after := eve.get(theirs).body.String(); after != before {
			t.Errorf("the other workspace changed: %s", after)
		}
		if home := eve.get(theirs + "/pages/home").want(http.StatusOK); home.text("id") != page {
			t.Errorf("the page of the other workspace: %s", home.body)
		}
		ann.get(theirs).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		ann.bring(theirs+"/import", raw).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
	})
}

// B-ARC-07: what is secret, or somebody's, does not leave.
func TestWhatNeverLeaves(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, h *cabinet) {
		ann := h.user("owner77x")
		at := ann.workspace("Mine")
		var marks []string
		mark := func() string {
			marks = append(marks, fmt.Sprintf("marker%02dx", len(marks)))
			return marks[len(marks)-1]
		}
		raw := pack("index.yml", "name: Mine\nlabels: [kept]\nconfig:\n  schema:\n    apiKey: {type: string, secret: true}\n    plain: {type: string}\n"+
			"    nested: {type: object, properties: {inner: {type: string, secret: true}}}\n    byName: {type: string, secret: true}\n"+
			"  value: {apiKey: "+mark()+", plain: visible, nested: {inner: "+mark()+"}, byName: '{{secret.token}}'}\n"+
			"repositories:\n  main: {name: Main, type: git, config: {url: 'https://me:"+mark()+"@git.example.test/r.git', branch: main, auth: {user: me, password: "+mark()+", sshkey: '{{secret.key}}'}}}\n"+
			"  other: {name: Other, config: {url: 'ssh://git@example.test/r.git', auth: "+mark()+"}}\n"+
			"platformRepositories:\n  p: {config: {url: 'https://"+mark()+"@git.example.test/p.git', auth: {token: "+mark()+"}}}\n",
			"automations/a.yml", "name: a\ndo: []\n")
		done := ann.bring(at+"/import", raw).want(http.StatusOK)
		if !strings.Contains(done.finding("credentials"), "repositories.main.config.auth.password") || strings.Count(done.body.String(), `"credentials"`) != 5 {
			t.Errorf("what was left out is told: %s", done.body)
		}
		if index := ann.with("Accept", "application/yaml").get(at).body.String(); strings.Contains(index, marks[2]) || strings.Contains(index, marks[3]) || !strings.Contains(index, "https://git.example.test/r.git") ||
			!strings.Contains(index, "ssh://git@example.test/r.git") || !strings.Contains(index, "{{secret.key}}") {
			t.Errorf("the index that was stored:\n%s", index)
		}
		ann.patch(at+"/security/secrets", map[string]any{"token": map[string]any{"value": mark(), "description": mark()}}).want(http.StatusOK)
		made := ann.post(at+"/security/apikeys", key(mark(), "read", "workspaces")).want(http.StatusCreated)
		marks = append(marks, made.text("apiKey"), made.text("id"), "owner77x")
		ann.upload(at, aFile(mark()+".txt", "text/plain", mark()))
		h.user(mark())
		ann.share(at, marks[len(marks)-1], map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.post(at+"/writeLock", map[string]any{"reason": mark()}).want(http.StatusOK)
		ann.delete(at + "/writeLock").want(http.StatusOK)
		ann.post(at+"/versions", map[string]any{"name": "v1", "description": mark()}).want(http.StatusCreated)
		id := strings.TrimPrefix(at, workspacesPath)
		for name, raw := range map[string][]byte{
			"export": ann.export(at), "version": ann.post(at+"/versions/v1/export", nil).want(http.StatusOK).body.Bytes(),
			"bulk": ann.post(workspacesPath+"export", map[string]any{"workspaces": map[string]any{"query": map[string]any{"ids": []string{id}}}}).want(http.StatusOK).body.Bytes(),
		} {
			files := unzip(t, raw)
			for file, text := range files {
				for _, mark := range marks {
					if strings.Contains(text, mark) {
						t.Errorf("%s: %s has %s:\n%s", name, file, mark, text)
					}
				}
			}
			all := strings.Join(slices.Collect(maps.Values(files)), "\n")
			for _, kept := range []string{"visible", "{{secret.token}}", "{{secret.key}}", "labels: [kept]", id} {
				if !strings.Contains(all, kept) {
					t.Errorf("%s: %s was lost:\n%s", name, kept, all)
				}
			}
		}
	})
}

// What an app calls secret does not leave with its instances, whoever exports them, and the rest of the text stays as it is.
func TestSecretsOfInstancesNeverLeave(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		app := ann.product("Weather")
		secret := map[string]any{"type": "string", "secret": true}
		ann.patch(app, map[string]any{"config": map[string]any{"schema": map[string]any{
			"city": map[string]any{"type": "string"}, "token": secret, "named": secret, "taken": secret, "none": secret, "number": map[string]any{"type": "number", "secret": true},
			"hosts": map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"password": secret}}},
		}}}).want(http.StatusOK)
		ann.publish(app, "weather").want(http.StatusCreated)
		const before = "# Ours\nappSlug:   weather # follows\nconfig:\n  city: 'Bern' # capital\n"
		const after = "  named: '{{secret.token}}'\n  taken: \"{{config.token}}\"\n  none: ~\nlabels: [ a,b ]\n"
		const untouched = "appSlug:   weather\nconfig: {  city: Bern, named: '{{secret.x}}' }\n"
		const unknown = "appSlug: elsewhere\nconfig: {token: kept}\n"
		at := ann.workspace("Mine")
		ann.bring(at+"/import", pack("index.yml", "name: Mine\n", "imports/b.yml", untouched, "imports/u.yml", unknown,
			"imports/a.yml", before+"  # the token\n  token: hunter2\n  number: 271828\n"+after,
			"imports/l.yml", "appSlug: weather\nconfig:\n  hosts:\n    - {name: h, password: hunter2}\n    - {password: hunter2}\n",
			"imports/r.yml", "appSlug: weather\nconfig:\n  <<: {token: hunter2}\n  city: Bern\n",
			"imports/j.json", `{"appSlug": "weather", "config": {"token": "hunter2", "city": "Bern"}}`)).want(http.StatusOK)
		deny := rule(nil, "read", "apps")
		deny["inverted"] = true
		ann.put(app+"/security", document(nil, deny)).want(http.StatusOK) // the schema counts also for those who may not see it
		ann.share(at, "bob", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		ann.post(at+"/versions", map[string]any{"name": "v1"}).want(http.StatusCreated)
		for name, raw := range map[string][]byte{"current": bob.export(at), "version": ann.post(at+"/versions/v1/export", nil).want(http.StatusOK).body.Bytes()} {
			for file, text := range unzip(t, raw) {
				if strings.Contains(text, "hunter2") || strings.Contains(text, "271828") {
					t.Errorf("%s: %s has it:\n%s", name, file, text)
				}
			}
			found := unpack(t, raw)
			got := listing(found.Files)
			for file, want := range map[string]string{"imports/a.yml": before + after, "imports/b.yml": untouched, "imports/u.yml": unknown} {
				if got[file] != want {
					t.Errorf("%s: %s is %q, want %q", name, file, got[file], want)
				}
			}
			if problems := found.Import.Verify(found.Files); len(problems) != 0 {
				t.Errorf("%s: checksums: %v", name, problems)
			}
		}
		if text := ann.yaml(at + "/apps/a"); !strings.Contains(text, "hunter2") {
			t.Errorf("it is gone from the workspace: %s", text)
		}
	})
}

// Credentials are found wherever the index says them, and when they cannot be taken out alone the repositories go.
func TestCredentialsBehindAliases(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		for name, index := range map[string]string{
			"an alias":     "name: Mine\nrepositories:\n  a: {config: &c {url: 'https://h/x', auth: {password: hunter2}}}\n  b: {config: *c}\n",
			"a merge key":  "name: Mine\nrepositories:\n  a: &a {config: {url: 'https://h/x', auth: {password: hunter2}}}\n  b:\n    <<: *a\n    name: b\n",
			"a whole list": "name: Mine\nrepositories:\n  a: {config: {auth: [hunter2]}}\n",
			"JSON":         `{"name": "Mine", "repositories": {"a": {"config": {"auth": {"user": "me", "password": "hunter2"}, "url": "https://x:hunter2@h/x"}}}}`,
		} {
			ext := map[bool]string{true: "index.json", false: "index.yml"}[name == "JSON"]
			at := ann.bring(newImport, pack(ext, index)).made()
			for file, text := range unzip(t, ann.export(at)) {
				if strings.Contains(text, "hunter2") {
					t.Errorf("%s: %s\n%s", name, file, text)
				}
			}
			if text := ann.with("Accept", "application/yaml").get(at).body.String(); strings.Contains(text, "hunter2") {
				t.Errorf("%s is stored:\n%s", name, text)
			}
		}
	})
}

// Where a workspace is pushed to is for those to say who may manage its repositories, and never for an archive.
func TestRepositoriesStay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		const mine, theirs = "repositories:\n  r: {config: {url: 'https://ours.test/r'}}\n", "repositories: {r: {config: {url: 'https://evil.test/r'}}}\n"
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		index := func() string { return ann.with("Accept", "application/yaml").get(at).body.String() }
		if done := bob.bring(at+"/import", pack("index.yml", "name: Mine\n"+theirs)).want(http.StatusOK); done.finding("permission_denied") == "" || strings.Contains(index(), "evil") {
			t.Errorf("an editor brought repositories: %s\n%s", done.body, index())
		}
		ann.bring(at+"/import", pack("index.yml", "name: Mine\n"+mine)).want(http.StatusOK)
		if !strings.Contains(index(), "https://ours.test/r") {
			t.Fatalf("the owner may: %s", index())
		}
		for _, c := range []*caller{ann, bob} {
			for _, given := range []string{theirs, ""} {
				raw := pack("index.yml", "# "+c.who.UserID+"\nname: Mine # and\nphoto: https://example.test/p.png\n"+given)
				done := c.bring(at+"/import", raw).want(http.StatusOK)
				if text := index(); (done.finding("repositories_kept") == "") != (given == "") || strings.Contains(text, "evil") || !strings.Contains(text, "ours.test") || !strings.Contains(text, "name: Mine # and") {
					t.Errorf("%s: %s", text, done.body)
				}
				if again := c.bring(at+"/import", raw).want(http.StatusOK); len(again.list("imported")) != 0 {
					t.Errorf("the same again changed %v", again.list("imported"))
				}
			}
		}
	})
}

// Roles and rules apply only for those who may manage the security, and only when they can.
func TestRolesInArchives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		ann.put(at+"/security", document(map[string]any{"reader": map[string]any{}}, rule("editor", []string{"read", "update"}, "workspaces"))).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		h.user("carl")
		ann.share(at, "carl", map[string]any{"role": "reader"}).want(http.StatusOK)
		before := ann.get(at + "/security").body.String()
		const good = "# ours\nauthorizations:\n  roles: {reader: {}, agent: {}}\n  rules:\n    - {role: editor, action: [read, update], subject: workspaces}\n    - {role: agent, action: read, subject: pages}\n"
		archived := func(n int, security string) []byte {
			return pack("index.yml", "name: Mine\n", "security.yml", security, "automations/a.yml", fmt.Sprintf("name: a%d\ndo: []\n", n))
		}
		done := bob.bring(at+"/import", archived(1, good)).want(http.StatusOK)
		if !slices.Equal(done.list("imported"), []string{"index", "automations/a"}) || !strings.HasPrefix(done.finding("permission_denied"), "security: ") {
			t.Errorf("an editor: %s", done.body)
		}
		for n, bad := range []string{
			"authorizations: {roles: [], rules: 7}\n", "authorizations: {rules: [{action: read, subject: nothing-known, role: 12}]}\n", "a: b\n",
		} {
			done := ann.bring(at+"/import", archived(2+n, bad)).want(http.StatusOK)
			if !slices.Equal(done.list("imported"), []string{"automations/a"}) || done.finding("security_invalid") == "" {
				t.Errorf("%q: %s", bad, done.body)
			}
		}
		for n, refused := range []string{ // a role in use would be gone; the owner would be locked out
			"authorizations: {roles: {agent: {}}, rules: []}\n",
			"authorizations: {roles: {reader: {}}, rules: [{action: manage_security, subject: workspaces, inverted: true}]}\n",
		} {
			plan := ann.bring(at+"/import?dryRun=true", archived(10+n, refused)).want(http.StatusOK)
			done := ann.bring(at+"/import", archived(10+n, refused)).want(http.StatusOK)
			samePlan(t, plan, done)
			if now := ann.get(at + "/security").body.String(); now != before || !strings.HasPrefix(done.finding("resource_conflict"), "security: ") || !slices.Equal(done.list("imported"), []string{"automations/a"}) {
				t.Errorf("%q: %s %s", refused, now, done.body)
			}
			h.wantUnlocked(ann, at)
		}
		done = ann.bring(at+"/import", archived(20, good)).want(http.StatusOK)
		if !slices.Equal(done.list("imported"), []string{"automations/a", "security"}) || ann.get(at+"/security").at("authorizations.roles.agent") == nil {
			t.Errorf("the owner: %s", done.body)
		}
		if text := unzip(t, ann.export(at))["current/security.yml"]; text != good {
			t.Errorf("exported: %q", text)
		}
		if told := h.payload(at, "workspaces.security.updated"); told.at("security.authorizations.roles.agent") == nil {
			t.Errorf("told: %s", told.body)
		}
		fresh := ann.bring(newImport, archived(21, good)).made()
		if ann.get(fresh+"/security").at("authorizations.roles.agent") == nil {
			t.Error("the roles of a new workspace are those of its archive")
		}
		locked := ann.bring(newImport, archived(22, "authorizations: {roles: {}, rules: [{action: manage, subject: workspaces, inverted: true}]}\n"))
		if ann.patch(locked.made(), map[string]any{"name": "Still mine"}).want(http.StatusOK); locked.finding("resource_conflict") == "" {
			t.Errorf("a new workspace nobody could use: %s", locked.body)
		}
	})
}

// An import does nothing that its caller could not do document by document.
func TestImportsObeyRules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.bring(newImport, pack("index.yml", "name: Mine\nconfig: {value: {a: 1}}\n", "pages/p.yml", "name: p\nlabels: [fixed]\nblocks: []\n")).made()
		fields, pages := rule("editor", "update", "workspaces"), rule("editor", "update", "pages")
		fields["inverted"], fields["fields"] = true, []string{"config"}
		pages["inverted"], pages["conditions"] = true, map[string]any{"labels": map[string]any{"$in": []string{"fixed"}}}
		ann.put(at+"/security", document(map[string]any{"editor": map[string]any{}}, rule("editor", []string{"read", "update"}, []string{"workspaces", "pages"}), fields, pages)).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		before := h.rows()
		for document, raw := range map[string][]byte{
			"index":   pack("index.yml", "name: Mine\nconfig: {value: {a: 2}}\n"),
			"pages/p": pack("index.yml", "name: Mine\nconfig: {value: {a: 1}}\n", "pages/p.yml", "name: p\nblocks: []\n"),
		} {
			for _, query := range []string{"", "?dryRun=true"} {
				if refused := bob.bring(at+"/import"+query, raw).wantError(http.StatusForbidden, errs.PermissionDenied); refused.text("details.document") != document {
					t.Errorf("%s: %s", document, refused.body)
				}
			}
		}
		if after := h.rows(); after != before {
			t.Errorf("something was stored:\n%s\n%s", before, after)
		}
		h.wantUnlocked(ann, at)
		bob.bring(at+"/import", pack("index.yml", "name: Mine # still\nconfig: {value: {a: 1}}\n", "pages/q.yml", "name: q\nblocks: []\n")).want(http.StatusOK)
		reader := h.user("reader")
		ann.share(at, "reader", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		reader.get(at + "/export").want(http.StatusOK)
		reader.bring(at+"/import", pack("index.yml", "name: Mine\n")).wantError(http.StatusForbidden, errs.PermissionDenied)
		reader.bring(at+"/import", []byte("no archive")).wantError(http.StatusForbidden, errs.PermissionDenied) // before anything is looked at
		h.visitor().bring(newImport, pack("index.yml", "name: Mine\n")).wantError(http.StatusForbidden, errs.InsufficientScope)
	})
}

// What belongs to the workspace stays: its slug, its own labels, whatever of its documents the archive does not have.
func TestWhatAWorkspaceKeeps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		made := ann.post("/v2/workspaces", map[string]any{"name": "Mine", "slug": "mine", "labels": []string{"local", "both"}}).want(http.StatusCreated)
		at := workspacesPath + made.text("id")
		ann.put(at+"/automations/own", map[string]any{"name": "own", "do": []any{}}).want(http.StatusCreated)
		raw := pack("index.yml", "name: Shop\nslug: shop\ndescription: Ours\nlabels: [both, theirs, 'not a label!']\nunknownKey: kept\n", "pages/p.yml", "name: p\nnonsense: 1\nblocks: []\n")
		done := ann.bring(at+"/import", raw).want(http.StatusOK)
		shown := ann.get(at)
		if shown.text("slug") != "mine" || shown.text("name") != "Shop" || shown.text("description") != "Ours" || fmt.Sprint(shown.list("labels")) != "[local both theirs]" {
			t.Errorf("after the import: %s", shown.body)
		}
		if !strings.Contains(done.finding("unknown_key"), "index: ") || !strings.Contains(done.body.String(), "nonsense") {
			t.Errorf("unknown keys are kept and reported: %s", done.body)
		}
		ann.get(at + "/automations/own").want(http.StatusOK)
		ann.patch(at, map[string]any{"description": "Other"}).want(http.StatusOK)
		if labels := fmt.Sprint(ann.get(at).list("labels")); labels != "[local both theirs]" {
			t.Errorf("the labels after an edit of something else: %s", labels)
		}
		for _, labels := range [][]string{{"both", "theirs"}, {"both"}} { // the first is what the index says already
			if set := ann.patch(at, map[string]any{"labels": labels}).want(http.StatusOK); !slices.Equal(set.list("labels"), labels) || !slices.Equal(ann.get(at).list("labels"), labels) {
				t.Errorf("the labels %v: %s", labels, set.body)
			}
		}
		if moved := ann.patch(at, map[string]any{"slug": "shop"}).want(http.StatusOK); moved.text("slug") != "shop" || ann.get(at).text("slug") != "shop" ||
			h.payload(at, "workspaces.updated").text("oldSlug") != "mine" {
			t.Errorf("the slug that the index says already: %s", moved.body)
		}
		ann.patch(at, map[string]any{"slug": "mine"}).want(http.StatusOK)
		taken := ann.bring(newImport, pack("index.yml", "name: Mine too\nslug: mine\n"))
		if slug := ann.get(taken.made()).text("slug"); slug == "mine" || !strings.HasPrefix(slug, "mine-too-") || !strings.Contains(taken.finding("SlugAlreadyInUse"), "mine") {
			t.Errorf("a slug that is taken: %s %s", slug, taken.body)
		}
		for index, name := range map[string]string{"slug: ../x\n": "Import", "slug: platform\nname: ''\n": "Import", "name: {en: Shop}\n": "Import", "name: 12\n": "12"} {
			if shown := ann.get(ann.bring(newImport, pack("index.yml", index)).made()); shown.text("name") != name || strings.Contains(shown.text("slug"), ".") || shown.text("slug") == "platform" {
				t.Errorf("%q: %s", index, shown.body)
			}
		}
	})
}

// One import is one edit and one event; it is undone as one.
func TestImportsAreOneEdit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		first, second := archivetest.Workspace(5), archivetest.Workspace(6)
		ann.bring(at+"/import", zipped(t, first, nil)).want(http.StatusOK)
		before := listing(unpack(t, ann.export(at)).Files)
		done := ann.bring(at+"/import?prune=true", zipped(t, second, &archive.ImportInfo{Version: archive.VersionInfo{Name: "v7"}})).want(http.StatusOK)
		told := h.events(at, "workspaces.imported")
		if len(told) != 2 {
			t.Fatalf("%d events for two imports", len(told))
		}
		payload := h.payload(at, "workspaces.imported")
		for key, want := range map[string]string{"workspace.id": strings.TrimPrefix(at, workspacesPath), "workspace.name": ann.get(at).text("name"), "workspace.slug": ann.get(at).text("slug"), "version.name": "v7"} {
			if payload.text(key) != want {
				t.Errorf("%s: %s, want %s", key, payload.text(key), want)
			}
		}
		for event, answered := range map[string]string{"files": "imported", "deleted": "deleted", "errors": "errors"} {
			if !slices.Equal(payload.list(event), done.list(answered)) {
				t.Errorf("told %s %v, answered %v", event, payload.list(event), done.list(answered))
			}
		}
		for _, quiet := range []string{
			"workspaces.automations.created", "workspaces.automations.updated", "workspaces.automations.deleted", "workspaces.pages.created", "workspaces.pages.deleted",
			"workspaces.apps.installed", "workspaces.apps.uninstalled", "workspaces.updated", "workspaces.configured", "workspaces.blocks.updated",
		} {
			if events := h.events(at, quiet); len(events) != 0 {
				t.Errorf("%d events %s", len(events), quiet)
			}
		}
		history := ann.get(at + "/history").want(http.StatusOK)
		if history.text("0.reason") != "import" || history.text("1.reason") != "import" || history.text("2.reason") != "edit" || history.at("3") != nil || history.text("0.createdBy") != "ann" {
			t.Fatalf("the history: %s", history.body)
		}
		if changed := len(history.at("0.documents").([]any)); changed != len(done.list("imported"))+len(done.list("deleted")) {
			t.Errorf("the edit changed %d documents, the import %s", changed, done.body)
		}
		ann.post(at+"/history/"+history.text("0.revision")+"/undo", nil).want(http.StatusOK)
		if problem := difference(listing(unpack(t, ann.export(at)).Files), before); problem != "" {
			t.Errorf("after the undo: %s", problem)
		}
		ann.post(at+"/history/"+ann.get(at+"/history").text("0.revision")+"/undo", nil).want(http.StatusOK)
		now := listing(unpack(t, ann.export(at)).Files)
		if problem := difference(now, withSecurityOf(now, second)); problem != "" {
			t.Errorf("after the undo of the undo: %s", problem)
		}
	})
}

// A bulk archive makes its workspaces in another house, and updates them there the next time.
func TestBulkArchives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		var ids []string
		for seed := range uint64(3) {
			at := ann.bring(newImport, zipped(t, archivetest.Workspace(seed), nil)).made()
			ids = append(ids, strings.TrimPrefix(at, workspacesPath))
		}
		query := map[string]any{"workspaces": map[string]any{"query": map[string]any{"ids": ids}}}
		bulk := ann.post(workspacesPath+"export", query).want(http.StatusOK)
		if bulk.header.Get("Content-Type") != zipKind {
			t.Errorf("%v", bulk.header)
		}
		raw := bulk.body.Bytes()
		var list struct{ WorkspaceIDs []string }
		if err := json.Unmarshal([]byte(unzip(t, raw)["bulkExport.json"]), &list); err != nil || !slices.Equal(slices.Sorted(slices.Values(list.WorkspaceIDs)), slices.Sorted(slices.Values(ids))) {
			t.Fatalf("%v: %s", err, unzip(t, raw)["bulkExport.json"])
		}
		if same := ann.bring(newImport, raw).want(http.StatusOK); len(same.list("updatedWorkspaceIds")) != 3 || same.at("createdWorkspaceIds") != nil || len(same.list("imported")) != 0 {
			t.Errorf("into the same house: %s", same.body)
		}
		ann.bring(workspacesPath+ids[0]+"/import", raw).wantError(http.StatusBadRequest, errs.InvalidRequest)
		ann.bring(workspacesPath+ids[0]+"/diff", raw).wantError(http.StatusBadRequest, errs.InvalidRequest)
		other := newHouse(t, sameKind(t, h.db))
		bob, eve := other.user("bob"), other.user("eve")
		trap := workspacesPath + eve.post("/v2/workspaces", map[string]any{"name": "Trap", "labels": []string{"importFrom:" + ids[0]}}).want(http.StatusCreated).text("id")
		eve.share(trap, "bob", map[string]any{"role": "owner"}).want(http.StatusOK)
		before := other.rows()
		if plan := bob.bring(newImport+"?dryRun=true", raw).want(http.StatusOK); plan.at("createdWorkspaceIds") != nil || len(plan.list("imported")) == 0 || other.rows() != before {
			t.Errorf("a dry run: %s", plan.body)
		}
		created := bob.bring(newImport, raw).want(http.StatusOK)
		if len(created.list("createdWorkspaceIds")) != 3 || created.at("updatedWorkspaceIds") != nil || created.at("workspace") != nil {
			t.Fatalf("into another house: %s", created.body)
		}
		if docs := eve.get(trap); docs.text("name") != "Trap" {
			t.Errorf("a label that somebody else wrote was believed: %s", docs.body)
		}
		for i, id := range created.list("createdWorkspaceIds") {
			from := slices.Index(ids, list.WorkspaceIDs[i])
			bob.wantDocuments(workspacesPath+id, archivetest.Workspace(uint64(from)))
			if shown := bob.get(workspacesPath + id); !slices.Contains(shown.list("labels"), "importFrom:"+list.WorkspaceIDs[i]) || shown.text("slug") != fmt.Sprintf("shop-%d", from) || shown.text("createdBy") != "bob" {
				t.Errorf("%s", shown.body)
			}
			if told := other.events(workspacesPath+id, "workspaces.imported"); len(told) != 1 {
				t.Errorf("%d events", len(told))
			}
		}
		again := bob.bring(newImport, raw).want(http.StatusOK)
		if !slices.Equal(again.list("updatedWorkspaceIds"), created.list("createdWorkspaceIds")) || again.at("createdWorkspaceIds") != nil || len(again.list("imported")) != 0 {
			t.Errorf("again: %s", again.body)
		}
		bob.post(workspacesPath+created.list("createdWorkspaceIds")[1]+"/writeLock", nil).want(http.StatusOK)
		half := bob.bring(newImport, raw).want(http.StatusOK)
		if len(half.list("updatedWorkspaceIds")) != 2 || !strings.HasPrefix(half.finding("resource_locked"), list.WorkspaceIDs[1]+": ") {
			t.Errorf("one is locked: %s", half.body)
		}
		if theirs := eve.bring(newImport, raw).want(http.StatusOK); len(theirs.list("createdWorkspaceIds"))+len(theirs.list("updatedWorkspaceIds")) != 3 {
			t.Errorf("somebody else's: %s", theirs.body)
		}
	})
}

// One bad archive in a bulk archive refuses all of it, before the first is changed.
func TestBulkArchivesAreCheckedFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		before := h.rows()
		stored := func(name string, text []byte) archivetest.Entry { return archivetest.Entry{Name: name, Text: text} }
		raw := archivetest.Zip(stored("bulkExport.json", []byte(`{"workspaceIds":["good123","bad1234"],"publishApps":[]}`)),
			stored("workspaces/good123.zip", pack("index.yml", "name: Good\n")), stored("workspaces/bad1234.zip", pack("index.yml", "name: Bad\n", "automations/a.yml", "[")))
		refused := ann.bring(newImport, raw).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("automations/a.yml")
		if refused.text("details.workspaceId") != "bad1234" || h.rows() != before {
			t.Errorf("%s", refused.body)
		}
		for name, body := range map[string]any{
			"an unknown key": map[string]any{"all": true}, "other cases": map[string]any{"IncludeApps": true}, "an unknown filter": selecting("query", map[string]any{"owner": "eve"}),
			"another type": selecting("query", map[string]any{"ids": "x"}), "limit 0": selecting("pagination", map[string]any{"limit": 0}), "limit 1001": selecting("pagination", map[string]any{"limit": 1001}),
			"page -1": selecting("pagination", map[string]any{"page": -1}), "a huge page": selecting("pagination", map[string]any{"page": 1 << 60}), "too many ids": selecting("query", map[string]any{"ids": make([]string, 1001)}),
			"too many labels": selecting("query", map[string]any{"labels": make([]string, 101)}), "a long search": selecting("query", map[string]any{"search": strings.Repeat("x", 201)}), "a list": []any{},
		} {
			if refused := ann.post(workspacesPath+"export", body); refused.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", name, refused.status, refused.body)
			}
		}
		ann.post(workspacesPath+"export", `{"a":1,"a":2}`).wantError(http.StatusBadRequest, errs.InvalidRequest)
		if none := unpack(t, ann.post(workspacesPath+"export", nil).want(http.StatusOK).body.Bytes()); none.Bulk == nil || len(none.Bulk.WorkspaceIDs) != 0 {
			t.Errorf("nothing to export: %+v", none)
		}
		ann.workspace("Mine")
		h.user("eve").workspace("Theirs")
		if mine := unpack(t, ann.post(workspacesPath+"export", selecting("pagination", map[string]any{"limit": 10})).want(http.StatusOK).body.Bytes()); len(mine.Bulk.WorkspaceIDs) != 1 {
			t.Errorf("only what may be read is exported: %v", mine.Bulk.WorkspaceIDs)
		}
	})
}

func selecting(part string, by map[string]any) map[string]any {
	return map[string]any{"workspaces": map[string]any{part: by}}
}

// The archive of an app publishes it again where it is imported; an app that somebody else has is not taken from them.
func TestArchivesOfApps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		const index = "name: %s\ndescription: Does it\nphoto: https://example.test/p.png\n"
		var ids []string
		for _, app := range []struct{ slug, uses string }{{"upper", "imports/l.yml|appSlug: lower\n"}, {"lower", ""}} {
			files := []string{"index.yml", fmt.Sprintf(index, app.slug)}
			if name, text, ok := strings.Cut(app.uses, "|"); ok {
				files = append(files, name, text)
			}
			at := ann.bring(newImport, pack(files...)).made()
			ids = append(ids, strings.TrimPrefix(at, workspacesPath))
		}
		for _, n := range []int{1, 0} {
			ann.post("/v2/apps", map[string]any{"workspaceId": ids[n], "slug": []string{"upper", "lower"}[n]}).want(http.StatusCreated)
		}
		raw := ann.export(workspacesPath + ids[1])
		if info := unpack(t, raw).Import; info.App == nil || info.App.Slug != "lower" {
			t.Fatalf("%+v", info)
		}
		query := selecting("query", map[string]any{"ids": ids})
		query["includeApps"] = true
		bulk := ann.post(workspacesPath+"export", query).want(http.StatusOK).body.Bytes()
		if apps := unpack(t, bulk).Bulk.PublishApps; len(apps) != 2 || apps[0].Slug != "lower" || apps[1].Slug != "upper" || apps[1].WorkspaceID != ids[0] {
			t.Errorf("an app stands behind those that it needs: %+v", apps)
		}
		if taken := ann.bring(newImport, raw); len(taken.list("errors")) == 0 || taken.at("publishedApps") != nil || !strings.Contains(taken.finding("resource_already_exists"), "The app lower was not published") {
			t.Errorf("an app that is there already: %s", taken.body)
		}
		other := newHouse(t, sameKind(t, h.db))
		bob := other.user("bob")
		before := other.rows()
		plan := bob.bring(newImport+"?dryRun=true", bulk).want(http.StatusOK)
		if other.rows() != before {
			t.Error("a dry run changed something")
		}
		done := bob.bring(newImport, bulk).want(http.StatusOK)
		if !slices.Equal(done.list("publishedApps"), []string{"lower", "upper"}) || !slices.Equal(plan.list("publishedApps"), done.list("publishedApps")) {
			t.Errorf("planned %s, done %s", plan.body, done.body)
		}
		bob.get("/v2/apps/upper").want(http.StatusOK)
		if again := bob.bring(newImport, bulk).want(http.StatusOK); len(again.list("updatedWorkspaceIds")) != 2 || len(again.list("imported")) != 0 {
			t.Errorf("again: %s", again.body)
		}
	})
}
