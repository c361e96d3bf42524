package factors

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/httpx"
	"atelier/internal/sqldb"
)

// BeginSignIn starts a sign-in with a passkey. The browser knows whose it is; nobody is named.
func (f *Factors) BeginSignIn(ctx context.Context) (Ceremony, error) {
	if err := f.possible(); err != nil {
		return Ceremony{}, err
	}
	options, data, err := f.relier.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, errs.Wrap(err, "start a sign-in")
	}
	id, err := f.remember(ctx, challenge{Data: *data})
	return Ceremony{Challenge: id, Options: options.Response}, err
}

// SignIn opens a session for whoever answered the challenge with a passkey. The browser has made sure that its owner is
// there, so no second factor is owed.
func (f *Factors) SignIn(ctx context.Context, answer Answer) (identity.SignedIn, error) {
	if err := f.possible(); err != nil {
		return identity.SignedIn{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer.Credential)
	if err != nil {
		return identity.SignedIn{}, unreadable()
	}
	asked, err := f.take(ctx, answer.Challenge)
	if err != nil {
		return identity.SignedIn{}, err
	}
	who, err := f.holder(ctx, string(parsed.Response.UserHandle))
	if err != nil {
		return identity.SignedIn{}, err
	}
	_, credential, err := f.relier.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return who, nil }, asked.Data, parsed)
	if err != nil || asked.SessionID != "" || !f.welcome(who.user) || credential.Authenticator.CloneWarning {
		return identity.SignedIn{}, f.refuse(ctx, who.user)
	}
	key, found := who.find(credential.ID)
	if !found {
		return identity.SignedIn{}, f.refuse(ctx, who.user)
	}
	return f.deps.Accounts.Begin(ctx, identity.Start{
		User: who.user, Provider: identity.LocalProvider, Strong: true, Browser: true,
		With: func(tx *sqldb.Tx) error { return f.used(ctx, tx, key, *credential) },
	})
}

// welcome tells whether the account may sign in here.
func (f *Factors) welcome(user identity.User) bool {
	return user.Status == identity.Validated && (user.SuperAdmin || !f.deps.Config.DisableSignin)
}

// holder reads the account that a browser names, with its passkeys; an empty one when there is none.
func (f *Factors) holder(ctx context.Context, userID string) (holder, error) {
	if !utf8.ValidString(userID) || strings.ContainsRune(userID, 0) { // no database takes such a text, and nobody has such an id
		return holder{}, nil
	}
	user, err := f.deps.Accounts.User(ctx, userID)
	if errs.CodeOf(err) == errs.NotFound {
		return holder{}, nil
	}
	if err != nil {
		return holder{}, err
	}
	keys, err := passkeysOf(ctx, f.deps.DB, userID)
	return holder{user: user, keys: keys}, err
}

// used stores the counter of a passkey that signed in. One that was used at the same time with the same counter is a copy.
func (f *Factors) used(ctx context.Context, tx *sqldb.Tx, before stored, after webauthn.Credential) error {
	text, err := json.Marshal(after)
	if err != nil {
		return err
	}
	done, err := tx.Exec(ctx, `UPDATE factor_passkeys SET credential = $1, sign_count = $2, used_at = $3 WHERE id = $4 AND sign_count = $5`,
		string(text), int64(after.Authenticator.SignCount), sqldb.Millis(f.deps.Clock.Now()), before.ID,
		int64(before.credential.Authenticator.SignCount))
	if err == nil && done == 0 {
		return notAccepted()
	}
	return err
}

func notAccepted() error {
	return errs.New(errs.InvalidCredentials, "The passkey was not accepted; try again, or sign in another way.")
}

// refuse gives the error to show. What was tried with an account that exists is recorded; the rest is noise.
func (f *Factors) refuse(ctx context.Context, user identity.User) error {
	if user.ID == "" {
		return notAccepted()
	}
	err := f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		return f.deps.Accounts.Audit(ctx, tx, identity.Act{
			TargetType: "users", TargetID: user.ID,
			Payload: &catalogue.LoginFailed{Email: user.Email, Provider: "passkey", IP: httpx.InfoFrom(ctx).Client.String()},
		})
	})
	if err != nil {
		return err
	}
	return notAccepted()
}
