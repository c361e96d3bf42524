package access_test

import (
	"context"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// The whole table: who may call what.
func TestPolicies(t *testing.T) {
	t.Parallel()
	callers := map[string]access.Principal{
		"nobody":          {},
		"user":            {Kind: access.User, UserID: "u"},
		"visitor":         {Kind: access.Anonymous, UserID: "v"},
		"super admin":     {Kind: access.User, UserID: "a", SuperAdmin: true},
		"service":         {Kind: access.Internal},
		"claimed nobody":  {SuperAdmin: true, UserID: "x"},
		"kind of its own": {Kind: "robot", UserID: "x"},
	}
	const yes, token, denied = errs.Code(""), errs.MissingToken, errs.PermissionDenied
	for policy, want := range map[access.Policy]map[string]errs.Code{
		access.Public: {
			"nobody": yes, "user": yes, "visitor": yes, "super admin": yes, "service": yes, "claimed nobody": yes, "kind of its own": yes,
		},
		access.SignedIn: {
			"nobody": token, "user": yes, "visitor": yes, "super admin": yes, "service": denied, "claimed nobody": token, "kind of its own": denied,
		},
		access.SuperAdmins: {
			"nobody": token, "user": denied, "visitor": denied, "super admin": yes, "service": denied, "claimed nobody": token, "kind of its own": denied,
		},
		access.Operators: {
			"nobody": token, "user": denied, "visitor": denied, "super admin": yes, "service": yes, "claimed nobody": token, "kind of its own": denied,
		},
		access.InternalOnly: {
			"nobody": token, "user": denied, "visitor": denied, "super admin": denied, "service": yes, "claimed nobody": token, "kind of its own": denied,
		},
		"": {
			"nobody": token, "user": denied, "visitor": denied, "super admin": denied, "service": denied, "claimed nobody": token, "kind of its own": denied,
		},
		"everyone": {
			"nobody": token, "user": denied, "visitor": denied, "super admin": denied, "service": denied, "claimed nobody": token, "kind of its own": denied,
		},
	} {
		for name, code := range want {
			if got := errs.CodeOf(policy.Check(callers[name])); got != code {
				t.Errorf("policy %q, %s: %q, want %q", policy, name, got, code)
			}
		}
		if len(want) != len(callers) {
			t.Errorf("policy %q: not every caller is in the table", policy)
		}
		if known := policy != "" && policy != "everyone"; policy.Known() != known {
			t.Errorf("policy %q: known is %v", policy, policy.Known())
		}
	}
}

func as(ctx context.Context, p access.Principal) context.Context { return access.With(ctx, p) }

// Grants on both engines: roles, what outsiders are told, and that nothing is left of a deleted workspace.
func TestGrants(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		owner := as(t.Context(), access.Principal{Kind: access.User, UserID: "owner"})
		editor := as(t.Context(), access.Principal{Kind: access.User, UserID: "editor"})
		stranger := as(t.Context(), access.Principal{Kind: access.User, UserID: "stranger"})
		service := as(t.Context(), access.Principal{Kind: access.Internal})
		admin := as(t.Context(), access.Principal{Kind: access.User, UserID: "admin", SuperAdmin: true})
		inTx(t, db, func(tx *sqldb.Tx) error {
			for ctx, role := range map[context.Context]access.Role{owner: access.Owner, editor: access.Editor, admin: access.Editor, service: access.Owner} {
				if err := access.Grant(ctx, tx, "w", role); err != nil {
					return err
				}
			}
			return access.GrantSuperAdmins(t.Context(), tx, "platform")
		})
		type want struct {
			ctx       context.Context
			workspace string
			role      access.Role
			code      errs.Code
		}
		for name, c := range map[string]want{
			"owner":                       {owner, "w", access.Owner, ""},
			"editor":                      {editor, "w", access.Editor, ""},
			"stranger":                    {stranger, "w", "", errs.WorkspaceAccessDenied},
			"nobody":                      {t.Context(), "w", "", errs.WorkspaceAccessDenied},
			"service":                     {service, "w", "", errs.WorkspaceAccessDenied},
			"super admin":                 {admin, "w", access.Owner, ""},
			"owner elsewhere":             {owner, "platform", "", errs.WorkspaceAccessDenied},
			"super admin of the platform": {admin, "platform", access.Owner, ""},
			"owner, no such workspace":    {owner, "nothing", "", errs.WorkspaceAccessDenied},
			"admin, no such workspace":    {admin, "nothing", "", errs.NotFound},
		} {
			role, err := access.RoleIn(c.ctx, db, c.workspace)
			if role != c.role || errs.CodeOf(err) != c.code {
				t.Errorf("%s: role %q, %v", name, role, err)
			}
		}
		sameDenial(t, db, stranger)
		requirements(t, db, owner, editor)
		inTx(t, db, func(tx *sqldb.Tx) error { return access.Grant(owner, tx, "w", access.Editor) })
		if role, _ := access.RoleIn(owner, db, "w"); role != access.Editor {
			t.Errorf("a grant is not replaced: %s", role)
		}
		inTx(t, db, func(tx *sqldb.Tx) error { return access.RevokeAll(t.Context(), tx, "w") })
		for _, ctx := range []context.Context{owner, editor, admin} {
			if role, err := access.RoleIn(ctx, db, "w"); role != access.None || err == nil {
				t.Errorf("after the workspace is gone: %q %v", role, err)
			}
		}
	}, access.Migrations())
}

// An outsider cannot tell a workspace that exists from one that does not.
func sameDenial(t *testing.T, db *sqldb.DB, stranger context.Context) {
	t.Helper()
	_, exists := access.RoleIn(stranger, db, "w")
	_, missing := access.RoleIn(stranger, db, "x")
	if a, b := errs.From(exists), errs.From(missing); a.Message != b.Message || a.Status() != b.Status() || len(a.Details) != len(b.Details) {
		t.Errorf("%v and %v differ", exists, missing)
	}
}

func requirements(t *testing.T, db *sqldb.DB, owner, editor context.Context) {
	t.Helper()
	if err := access.Require(editor, db, "w", access.Owner); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("an editor passes for an owner: %v", err)
	}
	if err := access.Require(editor, db, "w", access.Owner, access.Editor); err != nil {
		t.Error(err)
	}
	if err := access.Require(owner, db, "w"); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("no role is enough: %v", err)
	}
	if err := access.Require(owner, db, "w", access.None); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("no role at all is enough: %v", err)
	}
}

func inTx(t *testing.T, db *sqldb.DB, fn func(*sqldb.Tx) error) {
	t.Helper()
	if err := db.Tx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// Callers that are not the same have not the same key.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]access.Principal{}
	for _, p := range []access.Principal{
		{}, {Kind: access.Internal}, {Kind: access.User, UserID: "a"}, {Kind: access.User, UserID: "b"}, {Kind: access.User, UserID: "kind:"},
	} {
		if other, taken := seen[p.Key()]; taken {
			t.Errorf("%+v and %+v have the key %s", p, other, p.Key())
		}
		seen[p.Key()] = p
	}
}
