package service_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/store"
)

// text sends a body as YAML.
func (c *caller) text(method, path, body string) *answer {
	c.house.t.Helper()
	return c.with("Content-Type", "application/yaml").do(method, path, body)
}

// yaml reads the text of a document.
func (c *caller) yaml(path string) string {
	c.house.t.Helper()
	a := c.with("Accept", "application/yaml").get(path).want(http.StatusOK)
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/yaml") {
		c.house.t.Errorf("%s: %s", path, kind)
	}
	return a.body.String()
}

// index reads the text of the index of a workspace that was just made.
func (c *caller) index(at string) string {
	c.house.t.Helper()
	return c.get(at + "/history/1/text?path=index").want(http.StatusOK).body.String()
}

const commented = `# Greets people.
slug: hello   # called by pages
name: Hello

when:
  endpoint: true
do:
  # first of all
  - set:
      name: greeting
      value: 'Hello, {{body.name}}'
output: '{{greeting}}'
`

func TestDocumentLife(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		all := at + "/automations"
		made := ann.post(all, map[string]any{"name": "Say Hello!", "do": []any{map[string]any{"comment": "x"}}}).want(http.StatusCreated)
		if made.text("slug") != "Say Hello" || made.header.Get("Location") != all+"/Say%20Hello" || made.header.Get("ETag") == "" || made.text("createdBy") != "ann" {
			t.Fatalf("made: %s %v", made.body, made.header)
		}
		one := all + "/Say%20Hello"
		if read := ann.get(one).want(http.StatusOK); read.text("name") != "Say Hello!" || read.text("checksum") == "" || read.at("events.emit") == nil {
			t.Errorf("read: %s", read.body)
		}
		back := ann.get(one).body.String()
		if same := ann.put(one, back).want(http.StatusOK); same.header.Get("ETag") != made.header.Get("ETag") {
			t.Errorf("what was read and sent back is a change: %s", same.body)
		}
		ann.post(all, map[string]any{"slug": "Say Hello", "name": "x", "do": []any{}}).wantError(http.StatusConflict, errs.AlreadyExists)
		ann.post(all, map[string]any{"slug": "say hello", "name": "x", "do": []any{}}).wantError(http.StatusConflict, errs.AlreadyExists)
		renamed := ann.patch(one, map[string]any{"slug": "folder/hi", "description": "new"}).want(http.StatusOK)
		if renamed.text("slug") != "folder/hi" || renamed.text("createdAt") != made.text("createdAt") {
			t.Errorf("renamed: %s", renamed.body)
		}
		ann.get(one).wantError(http.StatusNotFound, errs.NotFound)
		if updated := h.payload(at, "workspaces.automations.updated"); updated.text("oldSlug") != "Say Hello" || updated.text("slug") != "folder/hi" {
			t.Errorf("event: %s", updated.body)
		}
		ann.delete(all + "/folder/hi").want(http.StatusOK)
		ann.delete(all+"/folder/hi").wantError(http.StatusNotFound, errs.NotFound)
		if event := h.payload(at, "workspaces.automations.deleted"); event.text("automationSlug") != "folder/hi" {
			t.Errorf("event: %s", event.body)
		}
		if created := h.payload(at, "workspaces.automations.created"); created.text("automation.name") != "Say Hello!" {
			t.Errorf("event: %s", created.body)
		}
	})
}

// The text is kept byte for byte, and an edit through JSON changes nothing else in it.
func TestTextsSurvive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		one := ann.workspace("Mine") + "/automations/hello"
		ann.text(http.MethodPut, one, commented).want(http.StatusCreated)
		if got := ann.yaml(one); got != commented {
			t.Fatalf("got %q", got)
		}
		ann.patch(one, map[string]any{"description": "About it", "output": "{{greeting}}!"}).want(http.StatusOK)
		want := strings.Replace(commented, "output: '{{greeting}}'\n", "output: '{{greeting}}!'\ndescription: About it\n", 1)
		got := ann.yaml(one)
		for _, kept := range []string{"# Greets people.", "slug: hello   # called by pages", "\n\nwhen:", "  # first of all", "value: 'Hello, {{body.name}}'"} {
			if !strings.Contains(got, kept) {
				t.Errorf("%q is gone:\n%s", kept, got)
			}
		}
		t.Logf("want about:\n%s\ngot:\n%s", want, got)
		ann.patch(one, map[string]any{"description": nil}).want(http.StatusOK)
		if got := ann.yaml(one); strings.Contains(got, "About it") {
			t.Errorf("not removed: %s", got)
		}
	})
}

func TestDocumentsThatAreNotValid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		all := at + "/automations"
		valid := func(key string, value any) map[string]any {
			body := map[string]any{"slug": "x", "name": "X", "do": []any{}}
			body[key] = value
			return body
		}
		for name, c := range map[string]struct {
			body  any
			field string
		}{
			"no instructions":       {map[string]any{"name": "x"}, "do"},
			"no name":               {map[string]any{"do": []any{}}, "name"},
			"an unknown key":        {valid("doo", 1), "doo"},
			"a wrong type":          {valid("do", "x"), "do"},
			"a bad cron":            {valid("when", map[string]any{"schedules": []string{"61 * * * *"}}), "when.schedules[0]"},
			"a bad expression":      {valid("output", "{% 1 + %}"), "output"},
			"a bad instruction":     {valid("do", []any{map[string]any{"set": map[string]any{"nme": "x"}}}), "do[0].set.nme"},
			"a bad slug":            {valid("slug", "../x"), "slug"},
			"its own creation date": {valid("createdAt", "2020-01-01T00:00:00Z"), "createdAt"},
			"a bad label":           {valid("labels", []string{"!"}), "labels[0]"},
		} {
			t.Log(name)
			ann.post(all, c.body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(c.field)
		}
		ann.post(all, "not json").wantError(http.StatusBadRequest, errs.InvalidRequest)
		ann.text(http.MethodPut, all+"/x", "a: &a [*a]").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		ann.text(http.MethodPut, all+"/x", "name: a\nname: b\ndo: []").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		ann.with("Content-Type", "text/plain").do(http.MethodPut, all+"/x", "name: a").wantError(http.StatusUnsupportedMediaType, errs.InvalidRequest)
		if list := ann.get(all).want(http.StatusOK); list.body.String() != "[]\n" || list.header.Get("X-Total-Count") != "0" {
			t.Errorf("something was stored: %s", list.body)
		}
		if history := ann.get(at + "/history").want(http.StatusOK); history.text("1.revision") != "" {
			t.Errorf("a refused edit is in the history: %s", history.body)
		}
	})
}

// One hundred editors of one workspace lose no edit; whoever has seen an older revision is told so.
func TestManyEditors(t *testing.T) {
	t.Parallel()
	const editors = 100
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		shared := at + "/automations/shared"
		ann.put(shared, map[string]any{"name": "0", "do": []any{}}).want(http.StatusCreated)
		var group sync.WaitGroup
		for i := range editors {
			group.Go(func() {
				own := fmt.Sprintf("%s/automations/own-%d", at, i)
				ann.put(own, map[string]any{"name": fmt.Sprint(i), "do": []any{}}).want(http.StatusCreated)
				for {
					seen := ann.get(shared).want(http.StatusOK)
					labels, _ := seen.at("labels").([]any)
					edited := ann.with("If-Match", seen.header.Get("ETag")).patch(shared, map[string]any{"labels": append(labels, fmt.Sprintf("l%d", i))})
					if edited.status == http.StatusPreconditionFailed {
						continue
					}
					edited.want(http.StatusOK)
					return
				}
			})
		}
		group.Wait()
		if labels, _ := ann.get(shared).at("labels").([]any); len(labels) != editors {
			t.Errorf("%d of %d edits are there", len(labels), editors)
		}
		if total := ann.get(at + "/automations?limit=1").header.Get("X-Total-Count"); total != fmt.Sprint(editors+1) {
			t.Errorf("%s automations", total)
		}
	})
}

func TestHistoryAndUndo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		one := at + "/automations/hello"
		ann.text(http.MethodPut, one, commented).want(http.StatusCreated)
		ann.patch(one, map[string]any{"name": "Other"}).want(http.StatusOK)
		ann.delete(one).want(http.StatusOK)
		history := ann.get(at + "/history?path=automations/hello").want(http.StatusOK)
		for i, action := range []string{"deleted", "updated", "created"} {
			if history.text(fmt.Sprintf("%d.documents.0.action", i)) != action || history.text(fmt.Sprintf("%d.createdBy", i)) != "ann" {
				t.Errorf("%d: %s", i, history.body)
			}
		}
		first := history.text("2.revision")
		if text := ann.get(at + "/history/" + first + "/text?path=automations/hello").want(http.StatusOK); text.body.String() != commented {
			t.Errorf("the text was %q", text.body)
		}
		conflict := ann.post(at+"/history/"+history.text("1.revision")+"/undo", nil).wantError(http.StatusConflict, errs.Conflict)
		if conflict.text("details.documents.0") != "automations/hello" {
			t.Errorf("conflict: %s", conflict.body)
		}
		ann.post(at+"/history/"+history.text("0.revision")+"/undo", nil).want(http.StatusOK)
		ann.post(at+"/history/"+history.text("1.revision")+"/undo", nil).want(http.StatusOK)
		if got := ann.yaml(one); got != commented {
			t.Errorf("undone to %q", got)
		}
		undone := ann.get(at + "/history?limit=1").want(http.StatusOK)
		if undone.text("0.reason") != "undo" || undone.text("0.note") != history.text("1.revision") {
			t.Errorf("history: %s", undone.body)
		}
		ann.post(at+"/history/99999/undo", nil).wantError(http.StatusNotFound, errs.NotFound)
		ann.get(at+"/history?path=../x").wantError(http.StatusBadRequest, errs.InvalidParameter)
	})
}

// The undo of an edit of very many documents is told as one thing, that of a few document by document.
func TestUndoOfManyDocuments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		const many = 101
		files := []string{"index.yml", ann.index(at)}
		for i := range many {
			files = append(files, fmt.Sprintf("automations/a%d.yml", i), "name: a\ndo: []\n")
		}
		ann.bring(at+"/import", pack(files...)).want(http.StatusOK)
		undo := func() *answer {
			return ann.post(at+"/history/"+ann.get(at+"/history?limit=1").text("0.revision")+"/undo", nil).want(http.StatusOK)
		}
		undo()
		if told := h.payload(at, "workspaces.imported"); told.text("deletedFilesCount") != fmt.Sprint(many) || told.text("importedFilesCount") != "0" || told.at("version") != nil {
			t.Errorf("told: %s", told.body)
		}
		if n := ann.get(at + "/automations").want(http.StatusOK).header.Get("X-Total-Count"); n != "0" {
			t.Errorf("%s automations are left", n)
		}
		undo()
		if told := h.payload(at, "workspaces.imported"); told.text("importedFilesCount") != fmt.Sprint(many) {
			t.Errorf("told: %s", told.body)
		}
		for _, single := range []string{"created", "updated", "deleted"} {
			if n := len(h.events(at, "workspaces.automations."+single)); n != 0 {
				t.Errorf("%d automations were told of as %s", n, single)
			}
		}
		ann.delete(at + "/automations/a7").want(http.StatusOK)
		undo()
		if n, whole := len(h.events(at, "workspaces.automations.created")), len(h.events(at, "workspaces.imported")); n != 1 || whole != 3 {
			t.Errorf("a small undo: %d single events, %d of all", n, whole)
		}
	})
}

// What a workspace was made with is kept for as long as the workspace, whatever became of it and of its history.
func TestFirstTreeIsKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		id := strings.TrimPrefix(at, "/v2/workspaces/")
		index, security := ann.index(at), ann.yaml(at+"/security")
		ann.patch(at, map[string]any{"description": "Changed"}).want(http.StatusOK)
		ann.put(at+"/automations/a", map[string]any{"name": "a", "do": []any{}}).want(http.StatusCreated)
		h.clk.Advance(2 * h.deps.HistoryAge)
		h.tidy()
		first, err := store.GetVersion(t.Context(), h.db, id, store.First, "")
		if err != nil {
			t.Fatal(err)
		}
		tree, err := store.GetTree(t.Context(), h.db, id, first.Tree)
		if err != nil || len(tree) != 2 || tree[0].Path != "index" || tree[1].Path != "security" {
			t.Fatalf("%+v %v", tree, err)
		}
		for i, want := range []string{index, security} {
			if text, err := store.Text(t.Context(), h.db, id, tree[i].Hash); err != nil || string(text) != want {
				t.Errorf("%s: %q %v, want %q", tree[i].Path, text, err, want)
			}
		}
		if versions := ann.get(at + "/versions").want(http.StatusOK); strings.TrimSpace(versions.body.String()) != "[]" {
			t.Errorf("it is no version that people see: %s", versions.body)
		}
	})
}

func TestVersionsAreNative(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		one := at + "/automations/hello"
		ann.text(http.MethodPut, one, commented).want(http.StatusCreated)
		ann.post(at+"/versions", map[string]any{"name": "v1", "description": "first"}).want(http.StatusCreated)
		ann.post(at+"/versions", map[string]any{"name": "v1"}).wantError(http.StatusConflict, errs.AlreadyExists)
		for _, bad := range []string{"current", "latest", "a b", strings.Repeat("x", 16)} {
			ann.post(at+"/versions", map[string]any{"name": bad}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("name")
		}
		ann.patch(one, map[string]any{"name": "Other"}).want(http.StatusOK)
		ann.put(at+"/pages/home", map[string]any{"name": "Home", "blocks": []any{}}).want(http.StatusCreated)
		back := ann.post(at+"/versions/v1/pull", nil).want(http.StatusOK)
		if back.text("imported.0") != "automations/hello" || back.text("deleted.0") != "pages/home" {
			t.Errorf("back: %s", back.body)
		}
		if got := ann.yaml(one); got != commented {
			t.Errorf("rolled back to %q", got)
		}
		ann.get(at+"/pages/home").wantError(http.StatusNotFound, errs.NotFound)
		if event := h.payload(at, "workspaces.imported"); event.text("version.name") != "v1" {
			t.Errorf("event: %s", event.body)
		}
		for range 20 {
			h.clk.Advance(time.Second)
			ann.post(at+"/versions", map[string]any{}).want(http.StatusCreated)
		}
		versions, _ := ann.get(at + "/versions").at("").([]any)
		if len(versions) != 20 {
			t.Errorf("%d versions are kept", len(versions))
		}
		ann.post(at+"/versions/v1/pull", nil).wantError(http.StatusNotFound, errs.NotFound)
		ann.post(at+"/versions/latest/pull", nil).want(http.StatusOK)
		name := versions[0].(map[string]any)["name"].(string)
		ann.delete(at + "/versions/" + name).want(http.StatusOK)
		ann.delete(at+"/versions/"+name).wantError(http.StatusNotFound, errs.NotFound)
	})
}

func TestSectionsOfTheIndex(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		config := map[string]any{
			"schema": map[string]any{"url": map[string]any{"type": "string"}, "key": map[string]any{"type": "string", "secret": true}},
			"value":  map[string]any{"url": "https://x.test", "key": "hunter2"},
		}
		ann.patch(at+"/config", config).want(http.StatusOK)
		if event := h.payload(at, "workspaces.configured"); contains(event.body.String(), "hunter2") || event.text("config.value.url") != "https://x.test" {
			t.Errorf("event: %s", event.body)
		}
		ann.patch(at+"/config", map[string]any{"value": map[string]any{"url": "https://y.test"}}).want(http.StatusOK)
		if read := ann.get(at + "/config").want(http.StatusOK); read.text("value.url") != "https://y.test" || read.text("schema.url.type") != "string" || read.at("value.key") != nil {
			t.Errorf("config: %s", read.body)
		}
		ann.patch(at+"/config", map[string]any{"valu": 1}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("config.valu")
		ann.put(at+"/blocks/Card", map[string]any{"name": "Card", "blocks": []any{}}).want(http.StatusOK)
		ann.put(at+"/eventTypes/order.paid", map[string]any{"schema": map[string]any{"total": map[string]any{"type": "number"}}}).want(http.StatusOK)
		if read := ann.get(at).want(http.StatusOK); read.text("blocks.Card.name") != "Card" || read.at("events.types") == nil {
			t.Errorf("workspace: %s", read.body)
		}
		h.payload(at, "workspaces.blocks.updated")
		h.payload(at, "workspaces.events.updated")
		ann.delete(at + "/blocks/Card").want(http.StatusOK)
		ann.get(at+"/blocks/Card").wantError(http.StatusNotFound, errs.NotFound)
		ann.delete(at+"/blocks/Card").wantError(http.StatusNotFound, errs.NotFound)
	})
}
