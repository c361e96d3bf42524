package machine_test

import (
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func user(id string) access.Principal {
	return access.Principal{Kind: access.User, Credential: access.BySession, UserID: id, SessionID: "s-" + id, Scopes: access.Scopes(), SuperAdmin: id == "admin"}
}

const rules = `
authorizations:
  roles: {reader: {}, approver: {}}
  rules:
    - {role: approver, action: execute, subject: automations, conditions: {authorizations.action: {$in: [approve, other]}}}
`

// An automation that asks for a permission is run only by who has it, from outside and by other automations.
func TestActions(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		bench := machinetest.New(t)
		enforcer := access.NewEnforcer(clock.NewManual(time.Unix(1_800_000_000, 0)))
		bench.Machine.DB, bench.Machine.Access = db, enforcer
		err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
			for id, role := range map[string]access.Role{"owner": access.Owner, "editor": access.Editor, "reader": "reader", "approver": "approver"} {
				if err := access.Grant(access.With(t.Context(), user(id)), tx, bench.Home.WorkspaceID, role); err != nil {
					return err
				}
			}
			ctx := access.With(t.Context(), user("owner"))
			_, err := enforcer.SaveSecurity(ctx, tx, access.SecurityChange{WorkspaceID: bench.Home.WorkspaceID, Document: []byte(rules)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		bench.Add("approve", `{authorizations: {action: approve}, do: [], output: ok}`)
		bench.Add("delete", `{authorizations: {action: delete}, do: [], output: ok}`)
		bench.Add("free", `{do: [], output: ok}`)
		bench.Add("nested", `{do: [{approve: {output: r}}], output: "{{r}}"}`)
		for _, c := range []struct {
			who, slug string
			may       bool
		}{
			{"owner", "approve", true},
			{"editor", "approve", true},
			{"admin", "approve", true},
			{"approver", "approve", true},
			{"approver", "delete", false},
			{"owner", "delete", true},
			{"editor", "delete", true},
			{"reader", "approve", false},
			{"stranger", "approve", false},
			{"", "approve", false},
			{"", "free", true},
			{"stranger", "free", true},
			{"approver", "nested", true},
			{"reader", "nested", false},
			{"", "nested", false},
		} {
			who := user(c.who)
			if c.who == "" {
				who = access.Principal{}
			}
			bench.Run = bench.Fresh()
			bench.Run.Caller = who
			bench.Scopes.Become(who)
			result := bench.Execute(c.slug, nil)
			if got := name(result.Err); c.may && result.Output != "ok" || !c.may && got != machine.Forbidden {
				t.Errorf("%s runs %s: %v, %v", c.who, c.slug, result.Output, result.Err)
			}
		}
		bench.Machine.Access = nil
		if result := bench.Execute("approve", nil); name(result.Err) != machine.Forbidden {
			t.Error("without anybody to ask everything is allowed")
		}
	}, access.Migrations())
}
