package service_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"atelier/internal/gitcmd/gittest"
	"atelier/internal/sqldb"
)

// An instance that is asked to end finishes the workspace that it is at; another one does the rest.
func TestBulkHandedOver(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		for _, slug := range []string{"aa", "bb", "cc"} {
			root.labelled(slug, "team:base")
		}
		arrived, release := make(chan struct{}), make(chan struct{})
		s.server.Wrap(holding("git-receive-pack", arrived, release))
		stop := s.works(s.built.Sync)
		going := root.post(bulkPush+"?timeout=0", map[string]any{"groups": []string{"base"}, "name": "v1"}).want(http.StatusOK)
		<-arrived
		stopped := make(chan struct{})
		go func() { defer close(stopped); stop() }()
		s.until(func() bool { // it takes nothing new: it is ending
			return root.post("/v2/workspaces/slug:bb/push", map[string]any{"repository": map[string]any{"id": "hub"}}).status == http.StatusServiceUnavailable
		})
		close(release)
		<-stopped
		s.wantBulkEvents("bulkPush", 1, 1, 0)
		s.instance()
		s.until(func() bool { return root.get(platform).text("writeLock") == "" })
		s.wantBulkEvents("bulkPush", 1, 3, 1)
		s.payload(platform, "workspaces.bulkPush.completed").wantStatuses("aa=pushed bb=pushed cc=pushed")
		if n := gittest.Run(t, s.server.Path("hub"), "rev-list", "--count", "main"); n != "3" {
			t.Errorf("%s commits, want 3", n)
		}
		if got := root.get(platform + "/operations/" + going.text("operationId")); got.text("status") != "succeeded" {
			t.Errorf("the operation: %s", got.body)
		}
	})
}

// abandoned makes a bulk operation one whose process is gone after some of its workspaces.
func (s *studio) abandoned(id string, after int) {
	s.t.Helper()
	ctx := s.t.Context()
	err := s.db.Tx(ctx, func(tx *sqldb.Tx) error {
		for _, q := range []string{
			`UPDATE ws_bulks SET status = 'running', ended_at = 0 WHERE id = $1`,
			fmt.Sprintf(`UPDATE ws_bulk_items SET outcome = '' WHERE bulk_id = $1 AND position >= %d`, after),
			`UPDATE ws_operations SET status = 'running', lease_until = 0, result = '' WHERE id = $1`,
			`UPDATE ws_workspaces SET lock_reason = (SELECT kind FROM ws_operations WHERE id = $1), lock_until = 9000000000000, lock_epoch = (SELECT epoch FROM ws_operations WHERE id = $1) WHERE id = 'platform'`,
		} {
			if _, err := tx.Exec(ctx, q, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// What was done but not recorded is not done again, whatever is forced.
func TestBulkResumed(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		s.hub(joined(stored("aa", "v1", "base", "", ""), stored("bb", "v1", "base", "", "")))
		done := root.post(bulkImport, inHub("forceReimport", true)).want(http.StatusOK).wantStatuses("aa=imported bb=imported")
		s.abandoned(done.text("operationId"), 1)
		s.instance()
		s.until(func() bool { return root.get(platform).text("writeLock") == "" })
		again := s.payload(platform, "workspaces.bulkImport.completed").wantStatuses("aa=imported bb=imported")
		if again.length("createdWorkspaceIds") != 2 || again.text("importedFilesCount") != done.text("importedFilesCount") {
			t.Errorf("completed: %s", again.body)
		}
		if n := len(s.events("/v2/workspaces/"+root.slug("bb").text("id"), "workspaces.imported")); n != 1 {
			t.Errorf("imported %d times", n)
		}
	})
}

// When nobody can go on, the rest is closed with errors.
func TestBulkGivenUp(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, s *studio){
		"the repository is not configured any more": func(_ *testing.T, s *studio) { s.platform() },
		"the repository is elsewhere": func(_ *testing.T, s *studio) {
			s.fleet(map[string]string{"WORKSPACES_STORAGE_GIT_PLATFORM_hub_BRANCH": "other"})
		},
		"the account is gone": func(_ *testing.T, s *studio) { delete(s.people, "root") },
		"the lock was cleared": func(t *testing.T, s *studio) {
			t.Helper()
			who := s.people["root"]
			s.as(who).delete(platform + "/writeLock").want(http.StatusOK)
		},
		"the repository does not answer": func(t *testing.T, s *studio) {
			t.Helper()
			if err := os.Rename(s.server.Path("hub"), s.server.Path("hub")+"-gone"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachFleet(t, func(t *testing.T, s *studio) {
				root := s.superAdmin()
				root.labelled("aa", "team:base")
				root.labelled("bb", "team:base")
				done := root.post(bulkPush, map[string]any{"groups": []string{"base"}}).want(http.StatusOK)
				s.abandoned(done.text("operationId"), 1)
				if _, err := s.exec(`DELETE FROM ws_operations WHERE id LIKE '%-1-0'`); err != nil {
					t.Fatal(err)
				}
				spoil(t, s)
				s.instance()
				s.until(func() bool {
					s.clk.Advance(time.Second)
					return len(s.events(platform, "workspaces.bulkPush.completed")) == 2
				})
				s.payload(platform, "workspaces.bulkPush.completed").wantStatuses("aa=pushed bb=error")
				if lock := s.as(root.who).get(platform).text("writeLock"); lock != "" {
					t.Errorf("still locked: %s", lock)
				}
			})
		})
	}
}

func (h *house) exec(query string) (n int64, err error) {
	err = h.db.Tx(h.t.Context(), func(tx *sqldb.Tx) error {
		n, err = tx.Exec(h.t.Context(), query)
		return err
	})
	return n, err
}

// Of the instances that start, one imports; groups come one after another, and the first with errors is the last.
func TestBulkImportAtStart(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		s.hub(joined(stored("aa", "v1", "one", "", ""), stored("bb", "v1", "two", "", ""), stored("cc", "v1", "three", "", ""), map[string]string{"bb/index.yml": "name: ["}))
		s.fleet(map[string]string{"STARTUP_IMPORT_GROUPS": "one,two,three", "STARTUP_IMPORT_REPOSITORY": "hub"})
		for range 3 {
			s.instance()
		}
		s.until(func() bool {
			s.clk.Advance(200 * time.Millisecond) // slowly: a lease is a few seconds
			return len(s.events(platform, "workspaces.bulkImport.completed")) >= 2
		})
		for range 100 {
			s.clk.Advance(time.Second)
		}
		made := root.slug("aa").want(http.StatusOK)
		if by := made.text("createdBy"); by != "" {
			t.Errorf("it was made by %q", by)
		}
		root.slug("bb").want(http.StatusNotFound)
		root.slug("cc").want(http.StatusNotFound)
		if n := len(s.events("/v2/workspaces/"+made.text("id"), "workspaces.imported")); n != 1 {
			t.Errorf("imported %d times", n)
		}
		for _, event := range s.events(platform, "workspaces.bulkImport.completed") {
			if event.Source.UserID != "" {
				t.Errorf("the event names the user %q", event.Source.UserID)
			}
		}
		if !strings.Contains(s.payload(platform, "workspaces.bulkImport.completed").statuses(), "bb=error") {
			t.Error("the group with errors was not the last")
		}
	})
}

// A thousand folders in a chain are put in order, and circles found, without going deep.
func TestBulkOrderOfMany(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		const many = 1_000
		root := s.superAdmin()
		files := map[string]string{}
		for i := range many {
			slug := fmt.Sprintf("w%05d", i)
			files[slug+"/.import.yml"] = fmt.Sprintf("app: {slug: a%d}\ndependsOn: [app/a%d]\n", i, (i+1)%(many+1))
		}
		files["x1/.import.yml"] = "app: {slug: x1}\ndependsOn: [app/x2]\n"
		files["x2/.import.yml"] = "app: {slug: x2}\ndependsOn: [app/x1]\n"
		s.hub(files)
		plan := root.post(bulkImport, inHub("dryRun", true)).want(http.StatusOK)
		if plan.text("order.0") != fmt.Sprintf("w%05d", many-1) || plan.length("order") != many || plan.text(fmt.Sprintf("workspaces.%d.slug", many)) != "x1" {
			t.Errorf("the order begins with %s and has %d", plan.text("order.0"), plan.length("order"))
		}
	})
}
