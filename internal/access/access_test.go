package access_test

import (
	"context"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// The whole table: who may call what.
func TestPolicies(t *testing.T) {
	t.Parallel()
	callers := []struct {
		name   string
		caller access.Principal
	}{
		{"nobody", access.Principal{}},
		{"claimed nobody", access.Principal{SuperAdmin: true, UserID: "x"}},
		{"user", access.Principal{Kind: access.User, Credential: access.BySession, UserID: "u"}},
		{"token", access.Principal{Kind: access.User, Credential: access.ByAccessToken, UserID: "u"}},
		{"pending", access.Principal{Kind: access.User, Credential: access.BySession, UserID: "u", Pending: true}},
		{"visitor", access.Principal{Kind: access.Anonymous, Credential: access.BySession, UserID: "v"}},
		{"super admin", access.Principal{Kind: access.User, Credential: access.BySession, UserID: "a", SuperAdmin: true}},
		{"key", access.Principal{Kind: access.Key, Credential: access.ByAPIKey, KeyID: "k", KeyWorkspace: "w"}},
		{"service", access.Principal{Kind: access.Internal, Credential: access.ByInternalKey}},
		{"kind of its own", access.Principal{Kind: "robot", UserID: "x"}},
	}
	// In the order of the callers: y may, t is asked for a token, c for better credentials, d is denied.
	codes := map[byte]errs.Code{'y': "", 't': errs.MissingToken, 'c': errs.InvalidCredentials, 'd': errs.PermissionDenied}
	for policy, want := range map[access.Policy]string{
		access.Public:       "yyyyyyyyyy",
		access.SigningIn:    "ttydyyyddd",
		access.SignedIn:     "ttyycyyddd",
		access.Myself:       "ttyyyyyddd",
		access.Accounts:     "ttydcdyddd",
		access.Callers:      "ttyycyyydd",
		access.ByRules:      "yyyycyyydd",
		access.SuperAdmins:  "ttddcdyddd",
		access.Operators:    "ttddcdydyd",
		access.InternalOnly: "ttddcdddyd",
		"":                  "ttddcddddd",
		"everyone":          "ttddcddddd",
	} {
		for i, c := range callers {
			if got := errs.CodeOf(policy.Check(c.caller)); got != codes[want[i]] {
				t.Errorf("policy %q, %s: %q, want %q", policy, c.name, got, codes[want[i]])
			}
		}
		if known := policy != "" && policy != "everyone"; policy.Known() != known {
			t.Errorf("policy %q: known is %v", policy, policy.Known())
		}
	}
}

func as(ctx context.Context, p access.Principal) context.Context { return access.With(ctx, p) }

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
		{}, {Kind: access.Internal}, {Kind: access.Key, KeyID: "a"}, {Kind: access.User, UserID: "a"}, {Kind: access.User, UserID: "b"}, {Kind: access.User, UserID: "kind:"},
	} {
		if other, taken := seen[p.Key()]; taken {
			t.Errorf("%+v and %+v have the key %s", p, other, p.Key())
		}
		seen[p.Key()] = p
	}
}
