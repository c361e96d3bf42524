// Package factors holds what people prove themselves with besides a password: codes of an authenticator app, recovery
// codes, and passkeys.
package factors

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/go-webauthn/webauthn/webauthn"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of the factors. They refer to the accounts, so theirs come first.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "factors", Files: files}
}

// Limits counts wrong codes for an account and from a network.
type Limits interface {
	LoginAllowed(ctx context.Context, account string) error
	LoginFailed(ctx context.Context, account string)
	LoginSucceeded(ctx context.Context, account string)
}

// Deps is what the factors need.
type Deps struct {
	DB *sqldb.DB
	// Store keeps challenges and confirmations for the few minutes they live.
	Store    kv.Store
	Limits   Limits
	Accounts *identity.Identity
	Clock    clock.Clock
	IDs      ident.Source
	Config   config.Config
	// Key is the installation's internal key; what is stored is encrypted with keys that are made from it.
	Key string
}

// Factors checks second factors and passkeys.
type Factors struct {
	deps   Deps
	vault  *vault
	relier *webauthn.WebAuthn // nil when the installation's address can have no passkeys
}

// New returns the factors of an installation.
func New(deps Deps) (*Factors, error) {
	v, err := newVault(deps.Key)
	if err != nil {
		return nil, fmt.Errorf("make the key of second factors: %w", err)
	}
	relier, err := newRelier(deps.Config)
	if err != nil {
		return nil, err
	}
	return &Factors{deps: deps, vault: v, relier: relier}, nil
}

// Status is what an account proves itself with.
type Status struct {
	// Method is totp, or empty.
	Method string
	// Required tells that the installation wants a second factor of accounts with a password.
	Required bool
	// RecoveryCodes is how many are left.
	RecoveryCodes int
	Passkeys      int
	// PasskeysPossible tells whether browsers can have passkeys for the installation's address.
	PasskeysPossible bool
}

// Status tells what the caller's account has.
func (f *Factors) Status(ctx context.Context) (Status, error) {
	user, err := f.owner(ctx)
	if err != nil {
		return Status{}, err
	}
	status := Status{Method: user.MFA, Required: f.required(user), PasskeysPossible: f.relier != nil}
	err = f.deps.DB.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM factor_recovery WHERE user_id = $1),
		(SELECT COUNT(*) FROM factor_passkeys WHERE user_id = $1)`, user.ID).Scan(&status.RecoveryCodes, &status.Passkeys)
	return status, err
}

// owner is the caller, who may look after its factors. A session that owes its second factor may only set up a first one.
func (f *Factors) owner(ctx context.Context) (identity.User, error) {
	caller := access.From(ctx)
	waiting := caller.Pending
	caller.Pending = false
	if err := access.Accounts.Check(caller); err != nil {
		return identity.User{}, err
	}
	user, err := f.deps.Accounts.User(ctx, caller.UserID)
	if err == nil && waiting && user.MFA != "" {
		caller.Pending = true
		err = access.Accounts.Check(caller)
	}
	if err == nil && waiting {
		err = f.checkFirst(ctx, user.ID)
	}
	return user, err
}

// checkFirst refuses to let a session that has given a password only set up a factor beside a passkey: the password alone
// would be enough then to get round the passkey.
func (f *Factors) checkFirst(ctx context.Context, userID string) error {
	keys, err := passkeysOf(ctx, f.deps.DB, userID)
	if err == nil && len(keys) > 0 {
		err = errs.New(errs.PermissionDenied, "The account has a passkey; sign in with it.").With("type", "PasskeyRequired")
	}
	return err
}

// required tells whether the installation wants the account to have a second factor.
func (f *Factors) required(user identity.User) bool {
	return f.deps.Config.ForceMFA && user.HasPassword
}

// updated is the event of a change of the second factor.
func updated(userID, before, after string) identity.Act {
	return identity.Act{
		Payload: new(catalogue.MFAUpdated), TargetType: "users", TargetID: userID,
		Before: map[string]any{"method": before}, After: map[string]any{"method": after},
	}
}

// failed records a wrong code, counts it, and gives the error to show.
func (f *Factors) failed(ctx context.Context, user identity.User, message string) error {
	f.deps.Limits.LoginFailed(ctx, account(user.ID))
	err := f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		return f.deps.Accounts.Audit(ctx, tx, identity.Act{
			TargetType: "users", TargetID: user.ID,
			Payload: &catalogue.MFAFailed{UserID: user.ID, Email: user.Email, IP: httpx.InfoFrom(ctx).Client.String()},
		})
	})
	if err != nil {
		return err
	}
	return errs.New(errs.InvalidCredentials, message)
}

// account is the name under which wrong codes of a user are counted.
func account(userID string) string { return "mfa:" + userID }
