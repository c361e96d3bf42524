package catalogue_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"atelier/internal/catalogue"
)

// Every payload of the package is in the table, every line is whole, and no type is there twice.
func TestTheTableIsComplete(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	types := map[string]bool{}
	for _, e := range catalogue.Entries() {
		if types[e.Type] {
			t.Errorf("%s is in the table twice", e.Type)
		}
		types[e.Type] = true
		if e.Service == "" || !strings.HasSuffix(e.Doc, ".") {
			t.Errorf("%s: a line has a service and a sentence", e.Type)
		}
		if err := catalogue.Check(e.Payload); err != nil || e.Payload.EventType() != e.Type {
			t.Errorf("%s has the payload of %s: %v", e.Type, e.Payload.EventType(), err)
		}
		listed[reflect.TypeOf(e.Payload).Elem().Name()] = true
		if found, ok := catalogue.Find(e.Type); !ok || found.Type != e.Type {
			t.Errorf("%s is not found", e.Type)
		}
		if _, is := catalogue.Reserved(e.Type); !is {
			t.Errorf("users could emit %s", e.Type)
		}
	}
	for _, name := range declared(t) {
		if !listed[name] {
			t.Errorf("%s is a payload without a line in the table", name)
		}
	}
}

// declared lists the types of the package that name an event.
func declared(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "EventType" || f.Recv == nil {
				continue
			}
			if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
				names = append(names, star.X.(*ast.Ident).Name)
			}
		}
	}
	if len(names) < 50 {
		t.Fatalf("only %d payloads were found", len(names))
	}
	return names
}

// The events of organizations and of topics say what the interface specifies, under its names.
func TestSpecifiedPayloads(t *testing.T) {
	t.Parallel()
	const member, part, key, account = `{"orgSlug":"","userIds":null}`, `{"orgSlug":"","slug":""}`, `{"orgSlug":"","keyId":""}`, `{"orgSlug":"","saSlug":""}`
	const group, invite, plan = `{"orgSlug":"","groupSlug":"","userIds":null}`, `{"orgSlug":"","code":""}`, `{"subscriptionSlug":""}`
	for eventType, want := range map[string]string{
		"created": `{"slug":"","createdBy":""}`, "updated": `{"orgSlug":"","updatedBy":""}`, "deleted": `{"orgSlug":"","deletedBy":""}`,
		"members.added": member, "members.removed": member, "members.updated": `{"orgSlug":"","userId":""}`,
		"roles.created": part, "roles.updated": part, "roles.deleted": part, "groups.created": part, "groups.updated": part, "groups.deleted": part,
		"groups.members.added": group, "groups.members.removed": group, "invites.created": invite, "invites.revoked": invite,
		"subscriptions.created": plan, "subscriptions.updated": plan, "subscriptions.deleted": plan,
		"apikeys.created": key, "apikeys.updated": key, "apikeys.deleted": key, "apikeys.rotated": key,
		"serviceAccounts.created": account, "serviceAccounts.updated": account, "serviceAccounts.deleted": account, "serviceAccounts.rotated": account,
		"serviceAccounts.tokenIssued": account, "audit": `{"category":"","action":"","orgSlug":""}`,
		"/events.userTopics.created": `{"topic":""}`, "/events.userTopics.joined": `{"user":{"id":""},"topic":""}`,
	} {
		name, other := strings.CutPrefix(eventType, "/")
		if !other {
			name = "organizations." + eventType
		}
		found, ok := catalogue.Find(name)
		if text, err := json.Marshal(found.Payload); !ok || err != nil || string(text) != want {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
}

type forged struct{}

func (*forged) EventType() string { return "workspaces.created" }

// A payload that is not the one of its type is refused, and so is a type that is not in the table.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload catalogue.Payload
		wrong   string
	}{
		"right":           {&catalogue.WorkspaceCreated{}, ""},
		"right verb":      {&catalogue.Page{Verb: catalogue.Updated}, ""},
		"other Go type":   {&forged{}, "the payload of workspaces.created is a *catalogue.WorkspaceCreated"},
		"no verb":         {&catalogue.Page{}, `no event "workspaces.pages."`},
		"wrong verb":      {&catalogue.Page{Verb: catalogue.Rotated}, `no event "workspaces.pages.rotated"`},
		"verb of another": {&catalogue.Page{Verb: catalogue.Deleted}, "the payload of workspaces.pages.deleted is a *catalogue.PageDeleted"},
		"of a page":       {&catalogue.Permission{OfPage: true, Verb: catalogue.Shared}, ""},
		"unknown service": {&catalogue.KeysUpdated{Service: "events"}, `no event "events.jwks.updated"`},
	} {
		err := catalogue.Check(c.payload)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is the platform's own is so in capitals too; usage is everybody's.
func TestReserved(t *testing.T) {
	t.Parallel()
	for eventType, by := range map[string]string{
		"workspaces.created": "workspaces.", "Workspaces.x": "workspaces.", "gateway.": "gateway.", "runtime.a.b": "runtime.", "events.x": "events.",
		"apikeys.x": "apikeys.", "apps.x": "apps.", "organizations.x": "organizations.", "access-manager.x": "access-manager.", "error": "error", "ERROR": "error",
		"usage": "", "my.usage": "", "workspaces": "", "workspacesx.y": "", "errors": "", "error.mine": "", "my.workspaces.x": "",
	} {
		got, is := catalogue.Reserved(eventType)
		if is != (by != "") || is && got != by {
			t.Errorf("%s: %q %t", eventType, got, is)
		}
	}
}

// A short payload is of the same type, says that it is stripped, and has everything that is small.
func TestShort(t *testing.T) {
	t.Parallel()
	long := json.RawMessage(`"` + strings.Repeat("x", 3000) + `"`)
	short, err := catalogue.Short(&catalogue.Page{Verb: catalogue.Updated, Slug: "a", PageID: "1", Page: long, OldSlug: "b"}, 2000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(short)
	if err != nil || string(got) != `{"pageId":"1","slug":"a","oldSlug":"b","stripped":true}` || short.EventType() != "workspaces.pages.updated" {
		t.Errorf("%s %s %v", short.EventType(), got, err)
	}
	act := &catalogue.SecurityUpdated{Security: long, Audited: catalogue.Audited{
		Actor: &catalogue.Actor{Kind: "user"}, Target: &catalogue.Target{Type: "workspaces", ID: "w"}, Changes: &catalogue.Changes{After: long},
	}}
	if short, err = catalogue.Short(act, 2000); err != nil {
		t.Fatal(err)
	}
	got, err = json.Marshal(short)
	if err != nil || string(got) != `{"actor":{"kind":"user"},"target":{"type":"workspaces","id":"w"},"stripped":true}` {
		t.Errorf("%s %v", got, err)
	}
}

// Filling a payload refuses what it does not have.
func TestFill(t *testing.T) {
	t.Parallel()
	e := &catalogue.BulkStarted{Bulk: catalogue.BulkPush}
	if err := catalogue.Fill(e, map[string]any{"repositoryId": "r", "counts": map[string]any{"workspaces": 3}}); err != nil || e.RepositoryID != "r" || e.Counts["workspaces"] != 3 {
		t.Errorf("%+v %v", e, err)
	}
	if err := catalogue.Fill(e, map[string]any{"unknown": 1}); err == nil || !strings.Contains(err.Error(), "workspaces.bulkPush.started") {
		t.Errorf("%v", err)
	}
}
