package automations_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/sqldb/sqlite"
)

// What automations have kept is removed within an hour after their workspace is gone for good; what other workspaces have stays.
func TestNothingIsLeftOfAGoneWorkspace(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		leavesNothing(t, func() (*sqldb.DB, error) { return sqlite.Open(t.Context(), filepath.Join(dir, "atelier.db")) }, "DATA_DIR="+dir)
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		address := sqldbtest.PostgresURL(t)
		leavesNothing(t, func() (*sqldb.DB, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 2})
		}, "DATA_DIR="+t.TempDir(), "DATABASE_URL="+address)
	})
}

// keeping leaves something in every room of the runtime.
const keeping = `{"when": {"endpoint": true}, "do": [
	{"set": {"name": "global.kept", "value": 1}},
	{"rateLimit": {"name": "calls", "consumer": "me", "window": 100000, "limit": 10}},
	{"run": {"module": "secrets", "function": "set", "parameters": {"name": "key", "value": "v", "scope": "workspace"}}},
	{"run": {"module": "collections", "function": "updateSchema", "parameters": {"collection": "things", "properties": {"a": {"type": "string"}}}}},
	{"run": {"module": "collections", "function": "create", "parameters": {"collection": "things", "data": {"a": "b"}}}}]}`

func leavesNothing(t *testing.T, open func() (*sqldb.DB, error), settings ...string) {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	s := apptest.Start(t, clk, append(settings, "DISABLE_RATE_LIMIT=true")...)
	admin := s.Admin()
	gone, stays := newRoom(t, admin, map[string]any{}), newRoom(t, admin, map[string]any{})
	for _, r := range []*room{gone, stays} {
		r.add("keep", keeping)
		r.call("keep", map[string]any{}).Want(http.StatusOK)
	}
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tables := []string{"rt_contexts", "rt_limits", "run_secrets", "collections", "collection_usage"}
	count := func(r *room, table string) (n int) {
		if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM `+table+` WHERE workspace_id = $1`, r.id).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, table := range tables {
		if count(gone, table) == 0 || count(stays, table) == 0 {
			t.Fatalf("nothing is kept in %s", table)
		}
	}
	admin.Delete(gone.path)
	clk.Advance(2 * time.Hour)
	for _, table := range tables {
		if table != "rt_limits" && count(gone, table) == 0 { // limits end by themselves
			t.Errorf("what is in the bin has lost its rows in %s", table)
		}
	}
	if erased := admin.Delete(gone.path + "/bin"); erased.Status >= http.StatusMultipleChoices {
		t.Fatalf("it is not erased: %d %s", erased.Status, erased.Body)
	}
	for _, table := range tables {
		gone.until("nothing is left in "+table, func() bool {
			clk.Advance(10 * time.Minute)
			return count(gone, table) == 0
		})
		if table != "rt_limits" && count(stays, table) == 0 {
			t.Errorf("the other workspace has lost its rows in %s", table)
		}
	}
}
