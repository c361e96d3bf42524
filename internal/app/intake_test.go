package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// What the rules of the operator take out is in no answer, no list and no search, of events of users and of the platform alike.
func TestRedactedEvents(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.json")
	const rules = `[{"id": "cards", "events": ["order.*"], "fields": ["payload.card.number"], "action": "redact"},
		{"id": "names", "topics": ["workspaces.created"], "fields": ["payload.workspace.name"], "action": "redact"}]`
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := apptest.New(t, "PREPROCESSING_RULES_FILEPATH="+file).Admin()
	id := admin.Post("/v2/workspaces", map[string]any{"name": "Canary", "slug": "canary"}).Want(http.StatusCreated).Text("id")
	at := "/v2/workspaces/" + id + "/events"
	emitted := admin.Post(at, map[string]any{"events": []any{
		map[string]any{"type": "order.paid", "payload": map[string]any{"card": map[string]any{"number": "4111", "kind": "x"}}},
		map[string]any{"type": "note", "payload": map[string]any{"card": map[string]any{"number": "4111"}}},
	}}).Want(http.StatusOK)
	if emitted.Text("0.payload.card.number") != "REDACTED" || emitted.Text("0.payload.card.kind") != "x" || emitted.Text("1.payload.card.number") != "4111" {
		t.Errorf("%s", emitted.Body)
	}
	for path, want := range map[string]string{
		"?types=order.paid": "payload.card.number", "?types=workspaces.created": "payload.workspace.name",
	} {
		if got := admin.Get(at + path).Want(http.StatusOK); got.Text("result.events.0."+want) != "REDACTED" {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	if found := admin.Get(at + "?types=order.paid&text=4111").Want(http.StatusOK); strings.Contains(string(found.Body), "4111") {
		t.Errorf("%s", found.Body)
	}
}

// Users cannot emit what is the platform's own; of an API key, events have its two ends.
func TestCatalogueAtTheDoor(t *testing.T) {
	t.Parallel()
	admin := apptest.New(t).Admin()
	id := admin.Post("/v2/workspaces", map[string]any{"name": "Door", "slug": "door"}).Want(http.StatusCreated).Text("id")
	at := "/v2/workspaces/" + id
	for eventType, status := range map[string]int{
		"error": http.StatusForbidden, "Error": http.StatusForbidden, "workspaces.x": http.StatusForbidden, "APPS.x": http.StatusForbidden,
		"organizations.x": http.StatusForbidden, "usage": http.StatusOK, "errors": http.StatusOK,
	} {
		admin.Post(at+"/events", map[string]any{"events": []any{map[string]any{"type": eventType, "payload": map[string]any{}}}}).Want(status)
	}
	key := admin.Post(at+"/security/apikeys", map[string]any{"name": "k", "rules": []any{map[string]any{"action": "read", "subject": "workspaces"}}}).
		Want(http.StatusCreated).Text("apiKey")
	made := admin.Get(at + "/events?types=apikeys.created").Want(http.StatusOK)
	shown := made.Text("result.events.0.payload.apiKey")
	if len(key) < 20 || strings.Contains(string(made.Body), key) || !strings.HasSuffix(key, shown[len(shown)-4:]) || len(shown) >= len(key) {
		t.Errorf("%d characters, shown as %q", len(key), shown)
	}
}
