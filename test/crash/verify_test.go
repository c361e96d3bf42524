package crash_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// verify reads what is stored of a round, or of all, and holds it against the ledger.
func verify(t *testing.T, h *house, l *ledger, round int) {
	t.Helper()
	stored := readWorkspaces(t, h, round)
	var entries []*workspaceEntry
	for _, w := range l.workspaces {
		if w.in(round) {
			entries = append(entries, w)
		}
	}
	report(t, checkWorkspaces(entries, stored))
	for _, ids := range stored {
		if created := readEvents(t, h, ids[0], "workspaces.created"); len(created) != 1 {
			t.Errorf("workspace %s has %d events of its creation, want 1", ids[0], len(created))
		}
	}
	perWorkspace := map[string][]*emission{}
	for _, e := range l.emissions {
		if e.in(round) {
			perWorkspace[e.workspace.id] = append(perWorkspace[e.workspace.id], e)
		}
	}
	for id, emissions := range perWorkspace {
		report(t, checkEvents(emissions, readEvents(t, h, id, eventType)))
	}
}

func report(t *testing.T, problems []string) {
	t.Helper()
	for _, problem := range problems {
		t.Error(problem)
	}
}

// readWorkspaces gives the ids of the stored workspaces of a round by their slug.
func readWorkspaces(t *testing.T, h *house, round int) map[string][]string {
	t.Helper()
	const limit = 2000
	stored := map[string][]string{}
	for page := 0; ; page++ {
		query := url.Values{"limit": {fmt.Sprint(limit)}, "page": {fmt.Sprint(page)}, "sort": {"slug"}}
		if round != everyRound {
			query.Set("search", fmt.Sprintf("r%d-w", round))
		}
		var found []struct{ ID, Slug string }
		read(t, h, "/v2/workspaces?"+query.Encode(), &found)
		for _, w := range found {
			if strings.HasPrefix(w.Slug, "r") {
				stored[w.Slug] = append(stored[w.Slug], w.ID)
			}
		}
		if len(found) < limit {
			return stored
		}
	}
}

// readEvents gives the events of a type in a workspace, oldest first.
func readEvents(t *testing.T, h *house, workspaceID, kind string) (events []event) {
	t.Helper()
	const limit = 500
	query := url.Values{"limit": {fmt.Sprint(limit)}, "sort": {"asc"}, "types": {kind}}
	for {
		var page struct{ Result struct{ Events []event } }
		read(t, h, "/v2/workspaces/"+workspaceID+"/events?"+query.Encode(), &page)
		events = append(events, page.Result.Events...)
		if len(page.Result.Events) < limit {
			return events
		}
		query.Set("afterId", events[len(events)-1].ID)
	}
}

func read(t *testing.T, h *house, path string, into any) {
	t.Helper()
	if status, err := h.call(t.Context(), http.MethodGet, path, "", nil, into); err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: status %d, error %v", path, status, err)
	}
}
