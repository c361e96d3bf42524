package access_test

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// Grants of the first release are grants on workspaces in the second.
func TestGrantsAreKept(t *testing.T) {
	t.Parallel()
	first, err := os.ReadFile("migrations/0001_grants.sql")
	if err != nil {
		t.Fatal(err)
	}
	old := sqldb.Migrations{Component: "access", Files: fstest.MapFS{"0001_grants.sql": {Data: first}}}
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		setup(t, db, `INSERT INTO access_grants (workspace_id, target, role) VALUES ('w', 'user:u', 'owner'), ('w', 'user:e', 'editor'), ('platform', 'role:superadmin', 'owner')`)
		if _, err := sqldb.Migrate(t.Context(), db, time.UnixMilli(0), access.Migrations()); err != nil {
			t.Fatal(err)
		}
		grants, err := access.GrantsOf(t.Context(), db, "workspaces", "w")
		if err != nil || len(grants) != 2 || grants[0].Target != "u" || grants[0].Role != access.Owner || grants[0].WorkspaceID != "w" || grants[1].Role != access.Editor {
			t.Errorf("%+v %v", grants, err)
		}
		admin := as(t.Context(), access.Principal{Kind: access.User, UserID: "a", SuperAdmin: true})
		ability, err := access.NewEnforcer(clock.System{}).Load(admin, db, "platform")
		if err != nil {
			t.Fatal(err)
		}
		if err := ability.Check(access.ActionDelete, access.SubjectWorkspaces, nil); err != nil {
			t.Error(err)
		}
	}, old)
}
