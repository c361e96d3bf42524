package secrets_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/secrets"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/vault"
)

// house is a database with a workspace w: ada owns it, ed edits it, and a rule opens token-{id} to everybody.
type house struct {
	*testing.T

	db      *sqldb.DB
	clock   *clock.Manual
	vault   *vault.Vault
	secrets *secrets.Secrets
}

func each(t *testing.T, run func(h *house)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(newHouse(t, db)) }, access.Migrations(), secrets.Migrations())
}

func newHouse(t *testing.T, db *sqldb.DB) *house {
	t.Helper()
	h := &house{T: t, db: db, clock: clock.NewManual(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)), vault: newVault(t, "one")}
	enforcer := access.NewEnforcer(h.clock)
	h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		for name, role := range map[string]access.Role{"ada": access.Owner, "ed": access.Editor} {
			if err := access.Grant(as(ctx, name), tx, "w", role); err != nil {
				return err
			}
		}
		_, err := enforcer.SaveSecurity(as(ctx, "ada"), tx, access.SecurityChange{WorkspaceID: "w", Document: []byte(
			"authorizations:\n  roles: {editor: {}}\n  rules:\n    - {action: [create, update], subject: secure_secrets, conditions: {name: 'token-${user.id}'}}\n")})
		return err
	})
	h.secrets = secrets.New(secrets.Deps{DB: db, Vault: h.vault, Clock: h.clock, IDs: ident.Source{}, Access: enforcer, Most: 1005})
	return h
}

func newVault(t *testing.T, ids ...string) *vault.Vault {
	t.Helper()
	keys := make([]vault.MasterKey, len(ids))
	for i, id := range ids {
		keys[i].ID = id
		copy(keys[i].Key[:], strings.Repeat(id, 32))
	}
	v, err := vault.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (h *house) tx(do func(ctx context.Context, tx *sqldb.Tx) error) {
	h.Helper()
	if err := h.db.Tx(h.Context(), func(tx *sqldb.Tx) error { return do(h.Context(), tx) }); err != nil {
		h.Fatal(err)
	}
}

func user(name string) access.Principal {
	if name == "" {
		return access.Principal{}
	}
	return access.Principal{Kind: access.User, UserID: name}
}

func as(ctx context.Context, name string) context.Context { return access.With(ctx, user(name)) }

// actor is a run of a user in the workspace w.
func actor(name string) secrets.Actor {
	return secrets.Actor{WorkspaceID: "w", Caller: user(name), CorrelationID: "run-of-" + name}
}

// once does an effect in a transaction of its own.
func (h *house) once(do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (result any, err error) {
	err = h.db.Tx(h.Context(), func(tx *sqldb.Tx) (err error) {
		result, err = do(h.Context(), tx)
		return err
	})
	return result, err
}

func (h *house) call(function string, who secrets.Actor, parameters ...any) (any, error) {
	p := machine.Payload(parameters...)
	switch function {
	case "set":
		return h.secrets.Set(h.Context(), h.once, who, p)
	case "delete":
		return h.secrets.Delete(h.Context(), h.once, who, p)
	default:
		return h.secrets.Get(h.Context(), who, p)
	}
}

// ref is what a call gives, which must be a reference.
func (h *house) ref(function string, who secrets.Actor, parameters ...any) string {
	h.Helper()
	got, err := h.call(function, who, parameters...)
	text, ok := got.(string)
	if err != nil || !ok || !strings.HasPrefix(text, secrets.Prefix) || strings.Trim(text[len(secrets.Prefix):], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		h.Fatalf("%s: %v, %v", function, got, err)
	}
	return text
}

// reveal is what a fetch of a run would put in for a reference; empty for nothing.
func (h *house) reveal(ref, workspaceID string, who secrets.Actor) string {
	h.Helper()
	ctx := httpx.WithInfo(access.With(h.Context(), who.Caller), &httpx.Info{CorrelationID: who.CorrelationID})
	secret, ok, err := h.secrets.Reveal(ctx, ref, workspaceID)
	if err != nil || ok == (secret == "") {
		h.Fatalf("%q, %v, %v", secret, ok, err)
	}
	return secret
}

func (h *house) says(function string, who secrets.Actor, want string, parameters ...any) {
	h.Helper()
	got, err := h.call(function, who, parameters...)
	if text, _ := value.JSON(got, "", 1000); err != nil || text != want {
		h.Errorf("%s %v: %s, %v", function, parameters, text, err)
	}
}

func (h *house) refused(function string, who secrets.Actor, failure, says string, parameters ...any) {
	h.Helper()
	_, err := h.call(function, who, parameters...)
	var found *machine.Failure
	if !errors.As(err, &found) || found.Name != failure || !strings.Contains(found.Message, says) {
		h.Errorf("%s %v: %v", function, parameters, err)
	}
}
