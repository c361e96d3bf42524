package factors

import (
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"atelier/internal/catalogue"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// maxPasskeys is how many passkeys one account may have.
const maxPasskeys = 20

// Passkey is a key that a browser, a phone or a security key keeps for an account.
type Passkey struct {
	ID      string
	Name    string
	Created time.Time
	// Used is when it last signed in; zero when it never did.
	Used time.Time
	// Synced tells that its owner's other devices may have it too.
	Synced bool
}

// newRelier says to browsers who asks: the host of the installation. An address without a name can have no passkeys.
func newRelier(cfg config.Config) (*webauthn.WebAuthn, error) {
	issuer, err := url.Parse(cfg.Issuer())
	if err != nil || issuer.Hostname() == "" || net.ParseIP(issuer.Hostname()) != nil {
		return nil, nil //nolint:nilerr,nilnil // nil means that there are none
	}
	origins := []string{origin(issuer)}
	if console, err := url.Parse(cfg.Console()); err == nil && console.Host != "" && origin(console) != origins[0] {
		origins = append(origins, origin(console))
	}
	return webauthn.New(&webauthn.Config{
		RPID: issuer.Hostname(), RPDisplayName: productName, RPOrigins: origins,
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
	})
}

func origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// possible refuses what needs passkeys where there can be none.
func (f *Factors) possible() error {
	if f.relier == nil {
		return errs.New(errs.Conflict, "Passkeys need an installation with a host name in its address; set API_URL.")
	}
	return nil
}

const passkeyColumns = `id, user_id, name, credential, sign_count, created_at, used_at` //nolint:gosec // the names of columns

// stored is a passkey as it is stored.
type stored struct {
	Passkey
	userID     string
	credential webauthn.Credential
}

func scanPasskey(scan func(...any) error) (s stored, err error) {
	var text string
	var count, created, used int64
	if err := scan(&s.ID, &s.userID, &s.Name, &text, &count, &created, &used); err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(text), &s.credential); err != nil {
		return s, err
	}
	s.credential.Authenticator.SignCount = uint32(count) //nolint:gosec // it was one when it was stored
	s.Created, s.Synced = sqldb.Time(created), s.credential.Flags.BackupEligible
	if used > 0 {
		s.Used = sqldb.Time(used)
	}
	return s, nil
}

func passkeysOf(ctx context.Context, r sqldb.Reader, userID string) ([]stored, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (stored, error) { return scanPasskey(rows.Scan) },
		`SELECT `+passkeyColumns+` FROM factor_passkeys WHERE user_id = $1 ORDER BY created_at, id`, userID)
}

// Passkeys lists the caller's passkeys, the oldest first.
func (f *Factors) Passkeys(ctx context.Context) ([]Passkey, error) {
	user, err := f.owner(ctx)
	if err != nil {
		return nil, err
	}
	all, err := passkeysOf(ctx, f.deps.DB, user.ID)
	list := make([]Passkey, 0, len(all))
	for _, s := range all {
		list = append(list, s.Passkey)
	}
	return list, err
}

// RenamePasskey gives one of the caller's passkeys another name.
func (f *Factors) RenamePasskey(ctx context.Context, id, name string) (Passkey, error) {
	user, err := f.owner(ctx)
	if err != nil {
		return Passkey{}, err
	}
	var s stored
	err = f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if s, err = passkeyOf(ctx, tx, user.ID, id); err != nil {
			return err
		}
		before := s.Name
		s.Name = name
		if _, err := tx.Exec(ctx, `UPDATE factor_passkeys SET name = $1 WHERE id = $2`, name, id); err != nil {
			return err
		}
		return f.deps.Accounts.Audit(ctx, tx, identity.Act{
			TargetType: "passkeys", TargetID: id,
			Before: map[string]any{"name": before}, After: map[string]any{"name": name}, Payload: &catalogue.Passkey{Verb: catalogue.Updated, UserID: user.ID},
		})
	})
	return s.Passkey, err
}

// passkeyOf reads a passkey of a user; resource_not_found when it is somebody else's, as when there is none.
func passkeyOf(ctx context.Context, tx *sqldb.Tx, userID, id string) (stored, error) {
	s, err := scanPasskey(tx.QueryRow(ctx, `SELECT `+passkeyColumns+` FROM factor_passkeys WHERE user_id = $1 AND id = $2`, userID, id).Scan)
	if sqldb.IsNotFound(err) {
		return s, errs.Missing("passkeys", id)
	}
	return s, err
}

// DeletePasskey removes one of the caller's passkeys; the session must be recent.
func (f *Factors) DeletePasskey(ctx context.Context, id string) error {
	user, err := f.recent(ctx, "")
	if err != nil {
		return err
	}
	return f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		s, err := passkeyOf(ctx, tx, user.ID, id)
		if err != nil {
			return err
		}
		return f.deletePasskey(ctx, tx, s)
	})
}

// removePasskeys removes every passkey of an account.
func (f *Factors) removePasskeys(ctx context.Context, user identity.User) error {
	return f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		all, err := passkeysOf(ctx, tx, user.ID)
		if err != nil {
			return err
		}
		for _, s := range all {
			if err := f.deletePasskey(ctx, tx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *Factors) deletePasskey(ctx context.Context, tx *sqldb.Tx, s stored) error {
	if _, err := tx.Exec(ctx, `DELETE FROM factor_passkeys WHERE id = $1`, s.ID); err != nil {
		return err
	}
	return f.deps.Accounts.Audit(ctx, tx, identity.Act{
		TargetType: "passkeys", TargetID: s.ID, Before: s.facts(), Payload: &catalogue.Passkey{Verb: catalogue.Deleted, UserID: s.userID},
	})
}

// facts is what the audit trail says of a passkey.
func (p Passkey) facts() map[string]any {
	return map[string]any{"name": p.Name, "synced": p.Synced, "createdAt": p.Created.Format(time.RFC3339)}
}

// PasskeysPossible tells whether browsers can have passkeys for the installation's address.
func (f *Factors) PasskeysPossible() bool { return f.relier != nil }
