package factors

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// Ceremony is what a browser needs to make or use a passkey.
type Ceremony struct {
	// Challenge is the id to send back with the browser's answer.
	Challenge string
	// Options are for navigator.credentials, in their JSON form.
	Options any
}

// holder is an account as the library sees it.
type holder struct {
	user identity.User
	keys []stored
}

// WebAuthnID implements webauthn.User. The id says nothing about its owner.
func (h holder) WebAuthnID() []byte { return []byte(h.user.ID) }

// WebAuthnName implements webauthn.User.
func (h holder) WebAuthnName() string {
	if h.user.Email != "" {
		return h.user.Email
	}
	return h.user.ID
}

// WebAuthnDisplayName implements webauthn.User.
func (h holder) WebAuthnDisplayName() string {
	if name := strings.TrimSpace(h.user.FirstName + " " + h.user.LastName); name != "" {
		return name
	}
	return h.WebAuthnName()
}

// WebAuthnCredentials implements webauthn.User.
func (h holder) WebAuthnCredentials() []webauthn.Credential {
	credentials := make([]webauthn.Credential, 0, len(h.keys))
	for _, s := range h.keys {
		credentials = append(credentials, s.credential)
	}
	return credentials
}

// BeginPasskey starts to add a passkey to the caller's account. The session must be recent, or the password given.
func (f *Factors) BeginPasskey(ctx context.Context, currentPassword string) (Ceremony, error) {
	if err := f.possible(); err != nil {
		return Ceremony{}, err
	}
	user, err := f.recent(ctx, currentPassword)
	if err != nil {
		return Ceremony{}, err
	}
	keys, err := passkeysOf(ctx, f.deps.DB, user.ID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(keys) >= maxPasskeys {
		return Ceremony{}, tooMany()
	}
	h := holder{user: user, keys: keys}
	options, data, err := f.relier.BeginRegistration(h, webauthn.WithExclusions(webauthn.Credentials(h.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, errs.Wrap(err, "start a passkey")
	}
	id, err := f.remember(ctx, challenge{SessionID: access.From(ctx).SessionID, Data: *data})
	return Ceremony{Challenge: id, Options: options.Response}, err
}

func tooMany() error {
	return errs.Newf(errs.QuotaExceeded, "You have %d passkeys; delete one that you no longer need.", maxPasskeys)
}

// Answer is what a browser made of a ceremony.
type Answer struct {
	Challenge string
	// Credential is the JSON form of the browser's PublicKeyCredential.
	Credential json.RawMessage
}

// FinishPasskey adds the passkey that the browser made to the caller's account.
func (f *Factors) FinishPasskey(ctx context.Context, answer Answer, name string) (Passkey, error) {
	if err := f.possible(); err != nil {
		return Passkey{}, err
	}
	user, err := f.owner(ctx)
	if err != nil {
		return Passkey{}, err
	}
	asked, err := f.take(ctx, answer.Challenge)
	if err != nil {
		return Passkey{}, err
	}
	if asked.SessionID == "" || asked.SessionID != access.From(ctx).SessionID {
		return Passkey{}, errs.New(errs.InvalidCredentials, "The challenge is of another session; start again.")
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer.Credential)
	if err != nil {
		return Passkey{}, unreadable()
	}
	credential, err := f.relier.CreateCredential(holder{user: user}, asked.Data, parsed)
	if err != nil {
		return Passkey{}, errs.Invalid(errs.Field{Field: "credential", Message: "the browser's answer does not fit the challenge; start again"})
	}
	made := stored{userID: user.ID, credential: *credential, Passkey: Passkey{
		ID: f.deps.IDs.UUID(), Name: passkeyName(name), Created: sqldb.Time(sqldb.Millis(f.deps.Clock.Now())), Synced: credential.Flags.BackupEligible,
	}}
	return made.Passkey, f.insertPasskey(ctx, made)
}

func unreadable() error {
	return errs.Invalid(errs.Field{Field: "credential", Message: "send what navigator.credentials gave, in its JSON form"})
}

func passkeyName(name string) string {
	if name = strings.TrimSpace(name); name != "" {
		return name
	}
	return "Passkey"
}

func (f *Factors) insertPasskey(ctx context.Context, s stored) error {
	text, err := json.Marshal(s.credential)
	if err != nil {
		return err
	}
	err = f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		// holds the account, so that two at once are counted one after the other
		if _, err := tx.Exec(ctx, `UPDATE gw_users SET updated_at = updated_at WHERE id = $1`, s.userID); err != nil {
			return err
		}
		keys, err := passkeysOf(ctx, tx, s.userID)
		if err != nil {
			return err
		}
		if len(keys) >= maxPasskeys {
			return tooMany()
		}
		if _, err := tx.Exec(ctx, `INSERT INTO factor_passkeys (id, user_id, credential_id, name, credential, sign_count, created_at, used_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0)`, s.ID, s.userID, credentialID(s.credential.ID), s.Name, string(text),
			int64(s.credential.Authenticator.SignCount), sqldb.Millis(s.Created)); err != nil {
			return err
		}
		return f.deps.Accounts.Audit(ctx, tx, identity.Act{
			TargetType: "passkeys", TargetID: s.ID, After: s.facts(), Payload: &catalogue.Passkey{Verb: catalogue.Created, UserID: s.userID},
		})
	})
	if sqldb.IsUnique(err) {
		return errs.New(errs.AlreadyExists, "This passkey is known already.")
	}
	return err
}

func credentialID(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }

// find gives the passkey with the browser's id for it.
func (h holder) find(id []byte) (stored, bool) {
	index := slices.IndexFunc(h.keys, func(s stored) bool { return credentialID(s.credential.ID) == credentialID(id) })
	if index < 0 {
		return stored{}, false
	}
	return h.keys[index], true
}
