package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// eventTypes reads the types of a workspace's events, oldest first.
func eventTypes(c *apptest.Client, id string) []string {
	page := c.Get("/v2/workspaces/" + id + "/events?sort=asc&limit=500")
	if page.Status != http.StatusOK {
		return nil
	}
	var types []string
	for i := range page.At("result.events").([]any) {
		types = append(types, page.Text(fmt.Sprintf("result.events.%d.type", i)))
	}
	return types
}

// orders are the types that a test emitted, without what the platform tells on its own.
func orders(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(eventType string) bool { return !strings.HasPrefix(eventType, "order.") })
}

func TestEventsAreThereWhenAcknowledged(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		id := newWorkspace(t, admin, "Events")
		path := "/v2/workspaces/" + id + "/events"
		stored := admin.Post(path, map[string]any{"events": []any{
			map[string]any{"type": "order.paid", "payload": map[string]any{"amount": 12.5}},
			map[string]any{"type": "order.sent", "payload": map[string]any{}},
		}}).Want(http.StatusOK)
		if stored.Text("0.source.workspaceId") != id || stored.Text("0.source.serviceTopic") != "topic:runtime:emit" {
			t.Errorf("stored: %s", stored.Body)
		}
		if stored.Text("0.source.correlationId") != stored.Header.Get("X-Correlation-Id") {
			t.Error("the event does not carry the correlation id of its request")
		}
		if got := eventTypes(admin, id); got[0] != "workspaces.created" || !slices.Equal(orders(got), []string{"order.paid", "order.sent"}) {
			t.Errorf("types: %v", got)
		}
		const three = "types=workspaces.created,order.paid,order.sent"
		newest := admin.Get(path + "?limit=1&" + three).Want(http.StatusOK)
		if newest.Text("result.events.0.id") != stored.Text("1.id") {
			t.Errorf("newest: %s", newest.Body)
		}
		older := admin.Get(nextLink(newest.Header)).Want(http.StatusOK)
		if older.Text("result.events.0.id") != stored.Text("0.id") {
			t.Errorf("next page: %s", older.Body)
		}
		if newest.Header.Get("X-Total-Count") != "3" || older.Header.Get("X-Total-Count") != "" {
			t.Errorf("totals: %q and %q", newest.Header.Get("X-Total-Count"), older.Header.Get("X-Total-Count"))
		}
		second := admin.Get(path + "?limit=1&page=1&" + three).Want(http.StatusOK)
		if second.Text("result.events.0.id") != stored.Text("0.id") {
			t.Errorf("page 1: %s", second.Body)
		}
		filtered := admin.Get(path + "?types=order.paid&afterId=0-0").Want(http.StatusOK)
		if filtered.Text("result.events.0.payload.amount") != "12.5" {
			t.Errorf("filtered: %s", filtered.Body)
		}
	})
}

func TestEventsAreAllOrNone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		id := newWorkspace(t, admin, "Events")
		path := "/v2/workspaces/" + id + "/events"
		good := map[string]any{"type": "fine", "payload": map[string]any{}}
		admin.Post(path, map[string]any{"events": []any{good, map[string]any{"type": "workspaces.created", "payload": map[string]any{}}}}).
			WantError(http.StatusForbidden, "permission_denied")
		admin.Post(path, map[string]any{"events": []any{good, map[string]any{"type": "*.>", "payload": map[string]any{}}}}).
			WantError(http.StatusUnprocessableEntity, "validation_failed").WantField("events[1].type")
		admin.Post(path, map[string]any{"events": []any{map[string]any{"type": "fine", "payload": map[string]any{}, "createdAt": "2020-01-01"}}}).
			WantError(http.StatusUnprocessableEntity, "validation_failed").WantField("events[0].createdAt")
		if got := eventTypes(admin, id); slices.Contains(got, "fine") {
			t.Errorf("something of a refused batch was stored: %v", got)
		}
	})
}
