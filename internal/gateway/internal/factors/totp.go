package factors

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/base64"
	"image/png"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// MethodTOTP is a second factor of codes that change every thirty seconds (RFC 6238: SHA-1, six digits).
const MethodTOTP = "totp"

const (
	period = 30 * time.Second
	// skew is how many steps a clock may be off, either way.
	skew = 1
	// offerLife is how long a shown secret waits for its first code.
	offerLife = 30 * time.Minute
	qrSize    = 240
)

// Offer is an authenticator secret, shown once. It counts when its first code has come back.
type Offer struct {
	Secret string //nolint:gosec // shown to its owner
	// Image is a QR code of the secret for apps, as a data: address.
	Image string
}

// OfferTOTP makes a secret for the caller, who knows the account's password. What was set up before goes on to count
// until a code of the new one was given.
func (f *Factors) OfferTOTP(ctx context.Context, currentPassword string) (Offer, error) {
	user, err := f.confirmed(ctx, currentPassword)
	if err != nil {
		return Offer{}, err
	}
	name := user.Email
	if name == "" {
		name = user.ID
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: productName, AccountName: name, Rand: f.deps.IDs.Random})
	if err != nil {
		return Offer{}, errs.Wrap(err, "make an authenticator secret")
	}
	image, err := key.Image(qrSize, qrSize)
	if err != nil {
		return Offer{}, errs.Wrap(err, "draw a QR code")
	}
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image); err != nil {
		return Offer{}, errs.Wrap(err, "draw a QR code")
	}
	now := sqldb.Millis(f.deps.Clock.Now())
	err = f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO factor_totp (user_id, secret, offered, offered_at, last_step, created_at) VALUES ($1, '', $2, $3, 0, $3)
			ON CONFLICT (user_id) DO UPDATE SET offered = excluded.offered, offered_at = excluded.offered_at`,
			user.ID, f.vault.seal(user.ID, key.Secret()), now)
		return err
	})
	return Offer{Secret: key.Secret(), Image: "data:image/png;base64," + base64.StdEncoding.EncodeToString(drawn.Bytes())}, err
}

// productName is what apps and browsers show beside the account.
const productName = "Atelier"

// Disable takes the second factor off the caller's account.
func (f *Factors) Disable(ctx context.Context, currentPassword string) error {
	user, err := f.confirmed(ctx, currentPassword)
	if err != nil {
		return err
	}
	if f.required(user) {
		return errs.New(errs.PermissionDenied, "This installation wants a second factor of every account with a password; set up another one instead.")
	}
	return f.remove(ctx, user)
}

// Reset takes the second factor and the passkeys off somebody else's account, who has lost them. The operation that calls
// it decides who may.
func (f *Factors) Reset(ctx context.Context, userID string) error {
	user, err := f.deps.Accounts.User(ctx, userID)
	if err != nil {
		return err
	}
	if err := f.remove(ctx, user); err != nil {
		return err
	}
	return f.removePasskeys(ctx, user)
}

func (f *Factors) remove(ctx context.Context, user identity.User) error {
	err := f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		for _, table := range []string{"factor_totp", "factor_recovery"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = $1`, user.ID); err != nil {
				return err
			}
		}
		if user.MFA == "" {
			return nil
		}
		if err := f.deps.Accounts.SetMFA(ctx, tx, user.ID, ""); err != nil {
			return err
		}
		return f.deps.Accounts.Audit(ctx, tx, updated(user.ID, user.MFA, ""))
	})
	f.deps.Accounts.Forget(access.From(ctx).SessionID)
	return err
}

// authenticator is what is stored of an authenticator app.
type authenticator struct {
	userID          string
	secret, offered string
	offeredAt       int64
	lastStep        int64
}

// authenticator reads it in the transaction that is going to use it; the row stays locked until then.
func (f *Factors) authenticator(ctx context.Context, tx *sqldb.Tx, userID string) (authenticator, error) {
	a := authenticator{userID: userID}
	err := tx.QueryRow(ctx, `UPDATE factor_totp SET last_step = last_step WHERE user_id = $1 RETURNING secret, offered, offered_at, last_step`,
		userID).Scan(&a.secret, &a.offered, &a.offeredAt, &a.lastStep)
	if sqldb.IsNotFound(err) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	for _, field := range []*string{&a.secret, &a.offered} {
		if *field == "" {
			continue
		}
		if *field, err = f.vault.open(userID, *field); err != nil {
			return a, errs.Wrap(err, "read an authenticator secret")
		}
	}
	if f.deps.Clock.Now().Sub(sqldb.Time(a.offeredAt)) > offerLife {
		a.offered = ""
	}
	return a, nil
}

// stepOf tells in which step of thirty seconds the code is the right one; false when in none that is near.
func stepOf(secret, code string, now time.Time) (step int64, ok bool) {
	for offset := int64(-skew); offset <= skew; offset++ {
		candidate := now.Add(time.Duration(offset) * period)
		want, err := totp.GenerateCode(secret, candidate)
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = candidate.Unix()/int64(period.Seconds()), true
		}
	}
	return step, ok
}

// plainCode is a code without what people type between its digits.
func plainCode(code string) string { return strings.NewReplacer(" ", "", "-", "").Replace(code) }
