package service_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
)

const png = "\x89PNG\r\n\x1a\n and more"

func TestUploadReadChangeDelete(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		made := ann.upload(at, aFile("photo.png", "image/png", png), aField("metadata.kind", "avatar"), aField("metadata", `{"n":12345678901234567890,"deep":{"a":[1]}}`))
		id, path := made.text("0.id"), made.text("0.path")
		workspaceID := strings.TrimPrefix(at, "/v2/workspaces/")
		if len(id) != 21 || path != workspaceID+"/"+id+".photo.png" || made.text("0.url") != address(path) {
			t.Errorf("made %s", made.body)
		}
		if made.text("0.mimetype") != "image/png" || made.text("0.size") != fmt.Sprint(len(png)) || made.text("0.public") != "true" ||
			made.text("0.createdBy") != "ann" || made.text("0.expiresAt") != "" || made.at("0.shareToken") != nil {
			t.Errorf("made %s", made.body)
		}
		if !strings.Contains(made.body.String(), "12345678901234567890") || made.text("0.metadata.kind") != "avatar" {
			t.Errorf("metadata: %s", made.body)
		}
		if told := c.payload(at, "workspaces.files.uploaded"); told.text("id") != id || told.text("metadata.kind") != "avatar" {
			t.Errorf("told %s", told.body)
		}
		for _, name := range []string{id, path} {
			if read := ann.get(at + "/files/" + name).want(http.StatusOK); read.text("id") != id || read.header.Get("Etag") != `"1"` {
				t.Errorf("read %s", read.body)
			}
		}
		ann.with("If-Match", `"7"`).patch(at+"/files/"+id, map[string]any{"public": false}).wantError(http.StatusPreconditionFailed, errs.Conflict)
		changed := ann.patch(at+"/files/"+id, map[string]any{"public": false, "metadata": map[string]any{"x": true}}).want(http.StatusOK)
		if changed.text("public") != "false" || changed.text("metadata.x") != "true" || changed.at("metadata.kind") != nil || changed.header.Get("Etag") != `"2"` {
			t.Errorf("changed %s", changed.body)
		}
		ann.patch(at+"/files/"+id, map[string]any{"public": false}).want(http.StatusOK)
		if events := c.events(at, "workspaces.files.updated"); len(events) != 1 {
			t.Errorf("%d changes were told", len(events))
		}
		for _, field := range []string{"id", "name", "path", "size", "mimetype", "workspaceId", "createdBy", "hash", "url"} {
			ann.patch(at+"/files/"+id, map[string]any{field: "x"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
		}
		if gone := ann.delete(at + "/files/" + id).want(http.StatusOK); gone.text("id") != id {
			t.Errorf("deleted %s", gone.body)
		}
		for _, refused := range []*answer{ann.get(at + "/files/" + id), ann.get(at + "/files/" + path), ann.delete(at + "/files/" + id), ann.download(made.text("0.url"))} {
			refused.wantError(http.StatusNotFound, errs.NotFound)
		}
		if told := c.payload(at, "workspaces.files.deleted"); told.text("id") != id {
			t.Errorf("told %s", told.body)
		}
	})
}

// Every file of a form is made with its own values, or with those for all; or nothing is.
func TestSeveralFilesInOneForm(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		const data = "data:text/plain;filename:c.txt;base64,aGVsbG8="
		made := ann.form(http.MethodPost, at+"/files",
			aField("public", "false"), aField("metadata.place", "first"), aFile("a.txt", "text/plain", "one"), aField("expiresAfter", "60"),
			piece{field: "other", name: "b.txt", kind: "text/plain", body: "two"}, aField("metadata.place", "second"), aField("expiresAfter", "0"),
			aField("anything", data), aField("metadata.place", "third"), aField("expiresAfter", "120"), piece{field: "chosen", name: ""},
		).want(http.StatusCreated)
		for i, want := range []struct{ name, place, after, size string }{{"a.txt", "first", "60", "3"}, {"b.txt", "second", "", "3"}, {"c.txt", "third", "120", "5"}} {
			n := fmt.Sprint(i)
			if made.text(n+".name") != want.name || made.text(n+".metadata.place") != want.place || made.text(n+".expiresAfter") != want.after ||
				made.text(n+".public") != "false" || made.text(n+".size") != want.size {
				t.Errorf("file %d: %s", i, made.body)
			}
		}
		if made.text("2.expiresAt") != "2026-03-01T12:02:00Z" || made.at("1.expiresAt") != nil {
			t.Errorf("ends: %s", made.body)
		}
		if got := ann.download(made.text("2.url")).want(http.StatusOK); got.body.String() != "hello" {
			t.Errorf("downloaded %q", got.body)
		}
		before := len(c.events(at, "workspaces.files.uploaded"))
		good := aFile("a.txt", "text/plain", "one")
		for name, pieces := range map[string][]piece{
			"public":        {good, aField("public", "perhaps")},
			"expiresAfter":  {good, aField("expiresAfter", "-1")},
			"expiresAfter ": {good, aField("expiresAfter", "soon")},
			"metadata":      {good, aField("metadata", `[1]`)},
			"metadata ":     {good, aField("metadata", `{"a":1,"a":2}`)},
			"metadata  ":    {good, aField("metadata", `{"a":"`+strings.Repeat("x", 16<<10)+`"}`)},
			"metadata.k":    {good, aField("metadata.k", strings.Repeat("x", 16<<10+1))},
			"metadata.":     {good, aField("metadata.", "x")},
			"shareToken":    {good, aField("shareToken", "short")},
			"id":            {good, aField("id", "chosen")},
			"public ":       {good, good, good, aField("public", "true"), aField("public", "false")},
			"note":          {good, aField("note", "no file")},
			"bad":           {good, aField("bad", "data:text/plain;base64,*")},
			"cut":           {good, aField("cut", "data:text/plain;base64,aGVsbG8")},
			"raw":           {good, aField("raw", "data:text/plain,hello")},
			"file":          {aField("public", "true")},
		} {
			field := strings.TrimSpace(name)
			if field == "metadata." {
				field = "metadata"
			}
			ann.form(http.MethodPost, at+"/files", pieces...).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
		}
		if after := len(c.events(at, "workspaces.files.uploaded")); after != before || ann.get(at+"/files").header.Get("X-Total-Count") != "3" {
			t.Errorf("a refused form left something: %d events", after-before)
		}
	})
}

func TestReplacedContent(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann, bob := c.user("ann"), c.user("bob")
		at := ann.workspace("Mine")
		made := ann.upload(at, aFile("a.txt", "text/plain", "one"), aField("shareToken", "true"))
		file, link := at+"/files/"+made.text("0.id"), made.text("0.url")
		c.clk.Advance(time.Hour)
		replaced := ann.form(http.MethodPut, file, aFile("b.png", "text/plain", "another")).want(http.StatusOK)
		if replaced.text("name") != "a.txt" || replaced.text("url") != link || replaced.text("size") != "7" || replaced.text("shareToken") != made.text("0.shareToken") {
			t.Errorf("replaced %s", replaced.body)
		}
		if got := ann.download(link); got.body.String() != "another" {
			t.Errorf("downloaded %q", got.body)
		}
		ann.form(http.MethodPut, file, aFile("b.png", "text/plain", "another")).want(http.StatusOK) // the same again
		if told := c.events(at, "workspaces.files.updated"); len(told) != 1 || strings.Contains(string(told[0].Payload), "shareToken") {
			t.Errorf("%d changes were told", len(told))
		}
		for _, pieces := range [][]piece{
			{},
			{aField("file", "x")},
			{piece{field: "other", name: "a", body: "x"}},
			{aFile("a", "", "x"), aFile("b", "", "x")},
			{aFile("a", "", "x"), aField("public", "false")},
			{piece{field: "file", name: ""}},
		} {
			ann.form(http.MethodPut, file, pieces...).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("file")
		}
		ann.form(http.MethodPut, file, aFile("a", "", strings.Repeat("x", maxUpload+1))).wantError(http.StatusRequestEntityTooLarge, errs.PayloadTooLarge)
		ann.form(http.MethodPut, at+"/files/none", aFile("a", "", "x")).wantError(http.StatusNotFound, errs.NotFound)
		bob.form(http.MethodPut, file, aFile("a", "", "x")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		if got := ann.download(link); got.body.String() != "another" {
			t.Errorf("a refused replacement left %q", got.body)
		}
	})
}

func TestListOfFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann, bob := c.user("ann"), c.user("bob")
		at, other := ann.workspace("Mine"), ann.workspace("Other")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.upload(other, aFile("elsewhere.txt", "text/plain", "x"))
		for i, who := range []*caller{ann, bob, ann, bob, ann} {
			c.clk.Advance(time.Second)
			who.upload(at, aFile(fmt.Sprintf("%c.txt", 'a'+i), "text/plain", strings.Repeat("x", 5-i)),
				aField("public", fmt.Sprint(i%2 == 0)), aField("metadata", fmt.Sprintf(`{"n":%d,"even":%v,"who":"%s"}`, i, i%2 == 0, who.who.UserID)))
		}
		ann.upload(at, aFile("short.txt", "text/plain", "x"), aField("expiresAfter", "5"))
		c.clk.Advance(5 * time.Second)
		names := func(query string) string {
			t.Helper()
			list := ann.get(at + "/files" + query).want(http.StatusOK)
			var all []string
			for i := range list.at("").([]any) {
				all = append(all, strings.TrimSuffix(list.text(fmt.Sprintf("%d.name", i)), ".txt"))
			}
			return strings.Join(all, "") + "/" + list.header.Get("X-Total-Count")
		}
		path := ann.get(at + "/files?name=b.txt").text("0.path")
		for query, want := range map[string]string{
			"": "edcba/5", "?sort=createdAt": "abcde/5", "?sort=size": "edcba/5", "?sort=-name&limit=2": "ed/5", "?sort=name&limit=2&page=1": "cd/5", "?sort=name&limit=2&page=2": "e/5",
			"?public=false": "db/2", "?createdBy=bob": "db/2", "?name=c.txt": "c/1", "?size=5": "a/1", "?mimetype=text/plain": "edcba/5", "?mimetype=image/png": "/0",
			"?path=" + url.QueryEscape(path): "b/1", "?metadata=" + url.QueryEscape(`{"n":3}`): "d/1", "?metadata=" + url.QueryEscape(`{"even":true,"who":"ann"}`): "eca/3",
			"?metadata=" + url.QueryEscape(`{"who":"ann' OR 1=1 --"}`): "/0", "?metadata=" + url.QueryEscape(`{"none":"x"}`): "/0",
		} {
			if got := names(query); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		first := ann.get(at + "/files?limit=3").want(http.StatusOK)
		next := strings.TrimSuffix(strings.TrimPrefix(first.header.Get("Link"), "<"), `>; rel="next"`)
		if second := ann.get(next).want(http.StatusOK); second.text("0.name") != "b.txt" || second.text("1.name") != "a.txt" || second.header.Get("Link") != "" {
			t.Errorf("the second page: %s", second.body)
		}
		ann.get(strings.Replace(next, at, other, 1)).wantError(http.StatusBadRequest, errs.InvalidParameter) // a cursor of another list
		for _, query := range []string{"?limit=0", "?sort=hash", "?public=maybe", "?size=x", "?metadata=x", "?metadata=%7B%22a%22:%5B%5D%7D", "?cursor=x"} {
			ann.get(at+"/files"+query).wantError(http.StatusBadRequest, errs.InvalidParameter)
		}
		bob.get(at+"/files").wantError(http.StatusForbidden, errs.PermissionDenied) // an editor reads files, but needs to know them
		c.visitor().get(at+"/files").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		c.nobody().get(at+"/files").wantError(http.StatusUnauthorized, errs.MissingToken)
	})
}

// Who may do what: everybody reads what is public, the rules decide about the rest, and a stranger cannot tell a private file
// from none.
func TestWhoMayDoWhatWithFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann, bob, eve, reader := c.user("ann"), c.user("bob"), c.user("eve"), c.user("reader")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.share(at, "reader", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		open := ann.upload(at, aFile("open.txt", "text/plain", "open"), aField("shareToken", "true"))
		closed := ann.upload(at, aFile("closed.txt", "text/plain", "closed"), aField("public", "false"))
		for _, who := range []*caller{ann, bob, eve, reader, c.visitor(), c.nobody(), c.superAdmin()} {
			if got := who.download(open.text("0.url")).want(http.StatusOK); got.body.String() != "open" {
				t.Errorf("%s", got.body)
			}
			seen := who.get(at + "/files/" + open.text("0.id")).want(http.StatusOK)
			if shown, may := seen.at("shareToken") != nil, slices.Contains([]string{"ann", "bob", "root"}, who.who.UserID); shown != may {
				t.Errorf("%s sees the share token: %v", who.who.Key(), shown)
			}
		}
		for who, code := range map[*caller]errs.Code{
			eve: errs.WorkspaceAccessDenied, c.visitor(): errs.WorkspaceAccessDenied, reader: errs.PermissionDenied, c.nobody(): errs.MissingToken,
		} {
			status := errs.StatusOf(code)
			who.download(closed.text("0.url")).wantError(status, code)
			who.get(at+"/files/"+closed.text("0.id")).wantError(status, code)
			for _, file := range []string{open.text("0.id"), closed.text("0.id")} {
				who.patch(at+"/files/"+file, map[string]any{"public": true}).wantError(status, code)
				who.delete(at+"/files/"+file).wantError(status, code)
				who.post(at+"/files/"+file+"/share", nil).wantError(status, code)
				who.form(http.MethodPut, at+"/files/"+file, aFile("x", "", "x")).wantError(status, code)
			}
			who.form(http.MethodPost, at+"/files", aFile("x", "", "x")).wantError(status, code)
		}
		there, absent := eve.get(at+"/files/"+closed.text("0.id")), eve.get(at+"/files/000000000000000000000")
		if there.status != absent.status || there.body.String() != absent.body.String() {
			t.Errorf("a stranger can tell %s from %s", there.body, absent.body)
		}
		nowhere := eve.get("/v2/workspaces/nothing/files/" + closed.text("0.id"))
		if got := strings.ReplaceAll(nowhere.body.String(), "nothing", strings.TrimPrefix(at, "/v2/workspaces/")); got != there.body.String() {
			t.Errorf("a stranger can tell %s from %s", there.body, nowhere.body)
		}
		for _, insider := range []*caller{ann, bob, reader} {
			insider.get(at+"/files/000000000000000000000").wantError(http.StatusNotFound, errs.NotFound)
		}
		elsewhere := ann.workspace("Other")
		ann.get(elsewhere+"/files/"+closed.text("0.id")).wantError(http.StatusNotFound, errs.NotFound)
		ann.delete(elsewhere+"/files/"+closed.text("0.path")).wantError(http.StatusNotFound, errs.NotFound)
		bob.download(closed.text("0.url")).want(http.StatusOK)
		key := c.key(ann.post(at+"/security/apikeys", key("x", "read", "files")).want(http.StatusCreated).text("apiKey"))
		key.download(closed.text("0.url")).want(http.StatusOK)
		key.get(at+"/files/000000000000000000000").wantError(http.StatusNotFound, errs.NotFound)
		key.delete(at+"/files/"+closed.text("0.id")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		ann.who.Scopes = []string{string(access.WorkspacesRead), string(access.WorkspacesWrite)}
		ann.get(at+"/files/"+open.text("0.id")).wantError(http.StatusForbidden, errs.InsufficientScope)
		ann.delete(at+"/files/"+open.text("0.id")).wantError(http.StatusForbidden, errs.InsufficientScope)
	})
}

// Rules look at the type that a file has, not at the one that it claims; and at what it becomes.
func TestRulesOnFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann, bob := c.user("ann"), c.user("bob")
		at := ann.workspace("Mine")
		images := rule("", "create", "files")
		images["conditions"] = map[string]any{"mimetype": map[string]any{"$regex": "^image/"}, "public": false, "size": map[string]any{"$lte": 100}}
		mine := rule("", []string{"read", "update"}, "files")
		mine["conditions"] = map[string]any{"createdBy": "{{user.id}}", "public": false, "metadata.locked": map[string]any{"$ne": "yes"}}
		secret := rule("", "read", "files")
		secret["inverted"], secret["conditions"], secret["reason"] = true, map[string]any{"metadata.kind": "secret"}, "Secret files stay here"
		for _, r := range []map[string]any{images, mine, secret} {
			delete(r, "role")
		}
		ann.put(at+"/security", document(nil, images, mine, secret)).want(http.StatusOK)
		visitor := c.visitor()
		picture := aFile("a.png", "image/png", png)
		for name, pieces := range map[string][]piece{
			"public":           {picture},
			"public, said":     {aField("public", "true"), picture},
			"text":             {aField("public", "false"), aFile("a.txt", "text/plain", "x")},
			"claims a picture": {aField("public", "false"), aFile("a.png", "image/png", "<script>")},
			"large":            {aField("public", "false"), aFile("a.png", "image/png", png+strings.Repeat("x", 100))},
			"one of two":       {aField("public", "false"), picture, aFile("a.txt", "text/plain", "x")},
		} {
			if refused := visitor.form(http.MethodPost, at+"/files", pieces...); refused.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, refused.status, refused.body)
			}
		}
		c.nobody().form(http.MethodPost, at+"/files", picture, aField("public", "false")).want(http.StatusCreated) // said after the bytes
		made := bob.upload(at, picture, aField("public", "false"))
		file := at + "/files/" + made.text("0.id")
		bob.get(file).want(http.StatusOK)
		visitor.get(file).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		if told := bob.patch(file, map[string]any{"metadata": map[string]any{"locked": "no"}}).want(http.StatusOK); told.text("metadata.locked") != "no" {
			t.Errorf("%s", told.body)
		}
		bob.patch(file, map[string]any{"metadata": map[string]any{"locked": "yes"}}).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied) // it could not take that back
		bob.patch(file, map[string]any{"public": true}).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		hidden := ann.upload(at, picture, aField("public", "true"), aField("metadata.kind", "secret"))
		if refused := ann.download(hidden.text("0.url")); refused.status != http.StatusForbidden || !strings.Contains(refused.body.String(), "Secret files stay here") {
			t.Errorf("a denied public file: %d %s", refused.status, refused.body)
		}
	})
}

// Share tokens and temporary links open one file, until they end or the token changes.
func TestLinksToFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann, nobody := c.user("ann"), c.nobody()
		at := ann.workspace("Mine")
		made := ann.upload(at, aFile("a.txt", "text/plain", "mine"), aField("public", "false"), aField("shareToken", "true"))
		other := ann.upload(at, aFile("a.txt", "text/plain", "other"), aField("public", "false"))
		file, plain, token := at+"/files/"+made.text("0.id"), made.text("0.url"), made.text("0.shareToken")
		if len(token) < 40 {
			t.Errorf("the share token is %q", token)
		}
		got := nobody.download(plain + "?token=" + token).want(http.StatusOK)
		if got.body.String() != "mine" || got.header.Get("Cache-Control") != "private, no-store" || got.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
			t.Errorf("%v %s", got.header, got.body)
		}
		link := ann.post(file+"/share", map[string]any{"expiresIn": 90}).want(http.StatusOK)
		if link.text("expiresIn") != "90" || link.text("expiresAt") != "2026-03-01T12:01:30Z" {
			t.Errorf("link: %s", link.body)
		}
		if def := ann.post(file+"/share", nil).want(http.StatusOK); def.text("expiresIn") != "60" {
			t.Errorf("link: %s", def.body)
		}
		nobody.download(link.text("url")).want(http.StatusOK)
		temporary := strings.TrimPrefix(link.text("url"), plain+"?token=")
		for name, bad := range map[string]string{
			"empty": "", "short": token[:20], "a bit off": token[:len(token)-1] + "_", "longer": token + "x", "cut": temporary[:64], "forged": temporary[:64] + "ffffffffff",
			"flipped": "0" + strings.Repeat("1", 63) + temporary[64:], "upper": strings.ToUpper(temporary), "signed": temporary[:64] + "+" + temporary[64:], "zero": strings.Repeat("0", 80),
		} {
			if refused := nobody.download(plain + "?token=" + url.QueryEscape(bad)); refused.status != http.StatusUnauthorized {
				t.Errorf("%s: %d", name, refused.status)
			}
		}
		nobody.download(other.text("0.url")+"?token="+token).wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.download(other.text("0.url")+"?token="+temporary).wantError(http.StatusUnauthorized, errs.MissingToken)
		c.clk.Advance(90 * time.Second)
		nobody.download(link.text("url")).wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.download(plain + "?token=" + token).want(http.StatusOK)
		link = ann.post(file+"/share", map[string]any{"expiresIn": 2592000}).want(http.StatusOK)
		renewed := ann.patch(file, map[string]any{"shareToken": true}).want(http.StatusOK).text("shareToken")
		if renewed == token || renewed == "" {
			t.Errorf("renewed %q", renewed)
		}
		nobody.download(link.text("url")).wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.download(plain+"?token="+token).wantError(http.StatusUnauthorized, errs.MissingToken)
		own := "a-token-of-my-own_1234"
		ann.patch(file, map[string]any{"shareToken": own}).want(http.StatusOK)
		nobody.download(plain + "?token=" + own).want(http.StatusOK)
		if none := ann.patch(file, map[string]any{"shareToken": false}).want(http.StatusOK); none.at("shareToken") != nil {
			t.Errorf("%s", none.body)
		}
		nobody.download(plain+"?token="+own).wantError(http.StatusUnauthorized, errs.MissingToken)
		for _, wrong := range []any{"short", 5, []string{"x"}, strings.Repeat("x", 201), "has space has space has space"} {
			ann.patch(file, map[string]any{"shareToken": wrong}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("shareToken")
		}
		for _, wrong := range []any{0, -1, 2592001, "60"} {
			ann.post(file+"/share", map[string]any{"expiresIn": wrong}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("expiresIn")
		}
	})
}

// A file that has ended is gone at once, for everybody and however it is asked for.
func TestExpiredFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		made := ann.upload(at, aFile("a.txt", "text/plain", "x"), aField("expiresAfter", "60"), aField("shareToken", "true"))
		file, plain := at+"/files/"+made.text("0.id"), made.text("0.url")
		link := ann.post(file+"/share", map[string]any{"expiresIn": 3600}).want(http.StatusOK)
		if link.text("expiresIn") != "60" { // no longer than the file
			t.Errorf("link: %s", link.body)
		}
		c.clk.Advance(59 * time.Second)
		c.nobody().download(plain).want(http.StatusOK)
		c.clk.Advance(time.Second)
		c.nobody().download(plain).wantError(http.StatusNotFound, errs.NotFound)
		for _, refused := range []*answer{
			ann.download(plain), ann.download(plain + "?token=" + made.text("0.shareToken")), ann.get(file), ann.patch(file, map[string]any{"expiresAfter": 0}),
			ann.delete(file), ann.post(file+"/share", nil), ann.form(http.MethodPut, file, aFile("x", "", "x")),
		} {
			refused.wantError(http.StatusNotFound, errs.NotFound)
		}
		kept := ann.upload(at, aFile("a.txt", "text/plain", "x"), aField("expiresAfter", "60"))
		c.clk.Advance(30 * time.Second)
		again := ann.patch(at+"/files/"+kept.text("0.id"), map[string]any{"expiresAfter": 60}).want(http.StatusOK)
		if again.text("expiresAt") != "2026-03-01T12:02:30Z" {
			t.Errorf("%s", again.body)
		}
		never := ann.patch(at+"/files/"+kept.text("0.id"), map[string]any{"expiresAfter": 0}).want(http.StatusOK)
		if never.at("expiresAt") != nil || never.at("expiresAfter") != nil {
			t.Errorf("%s", never.body)
		}
		c.clk.Advance(time.Hour)
		c.nobody().download(kept.text("0.url")).want(http.StatusOK)
	})
}

// The files of a workspace in the bin are not served, and come back with it.
func TestFilesOfDeletedWorkspaces(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		made := ann.upload(at, aFile("a.txt", "text/plain", "x"), aField("shareToken", "true"))
		ann.delete(at).want(http.StatusOK)
		for _, who := range []*caller{ann, c.nobody(), c.superAdmin()} {
			who.download(made.text("0.url")).wantError(http.StatusNotFound, errs.NotFound)
			who.download(made.text("0.url")+"?token="+made.text("0.shareToken")).wantError(http.StatusNotFound, errs.NotFound)
		}
		ann.get(at+"/files/"+made.text("0.id")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		ann.form(http.MethodPost, at+"/files", aFile("x", "", "x")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		c.superAdmin().get(at+"/files/"+made.text("0.id")).wantError(http.StatusNotFound, errs.NotFound)
		ann.post(at+"/restore", nil).want(http.StatusOK)
		c.nobody().download(made.text("0.url")).want(http.StatusOK)
		ann.delete(at).want(http.StatusOK)
		ann.delete(at + "/bin").want(http.StatusOK)
		c.clk.Advance(2 * day)
		c.sweep()
		c.wantContents()
	})
}
