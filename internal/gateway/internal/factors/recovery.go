package factors

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"io"
	"strings"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

const (
	recoveryCount = 10
	// recoverySize is how many random bytes a code has: eighty bits are beyond guessing at the pace of the limits.
	recoverySize  = 10
	recoveryGroup = 4
)

// RenewRecoveryCodes gives the caller ten new codes, shown once; earlier ones stop working.
func (f *Factors) RenewRecoveryCodes(ctx context.Context, currentPassword string) (codes []string, err error) {
	user, err := f.confirmed(ctx, currentPassword)
	if err != nil {
		return nil, err
	}
	if user.MFA == "" {
		return nil, errs.New(errs.NotFound, "No MFA configured: recovery codes come with a second factor.")
	}
	err = f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if codes, err = f.newRecovery(ctx, tx, user.ID); err != nil {
			return err
		}
		return f.deps.Accounts.Audit(ctx, tx, identity.Act{Payload: new(catalogue.MFARecoveryRenewed), TargetType: "users", TargetID: user.ID})
	})
	return codes, err
}

// newRecovery replaces the recovery codes of an account.
func (f *Factors) newRecovery(ctx context.Context, tx *sqldb.Tx, userID string) ([]string, error) {
	if _, err := tx.Exec(ctx, `DELETE FROM factor_recovery WHERE user_id = $1`, userID); err != nil {
		return nil, err
	}
	codes := make([]string, 0, recoveryCount)
	for range recoveryCount {
		code := f.recoveryCode()
		if _, err := tx.Exec(ctx, `INSERT INTO factor_recovery (user_id, hash) VALUES ($1, $2)`,
			userID, f.vault.hash(userID, plainRecovery(code))); err != nil {
			return nil, err
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// recoveryCode is a new code in groups that can be read aloud: abcd-efgh-ijkl-mnop.
func (f *Factors) recoveryCode() string {
	random := make([]byte, recoverySize)
	if f.deps.IDs.Random == nil {
		_, _ = rand.Read(random) // never fails: the runtime stops the process instead
	} else if _, err := io.ReadFull(f.deps.IDs.Random, random); err != nil {
		_, _ = rand.Read(random)
	}
	text := strings.ToLower(base32.StdEncoding.EncodeToString(random))
	var groups []string
	for len(text) > 0 {
		groups = append(groups, text[:recoveryGroup])
		text = text[recoveryGroup:]
	}
	return strings.Join(groups, "-")
}

// plainRecovery is a code as it is hashed, whatever case and spaces were typed.
func plainRecovery(code string) string { return strings.ToLower(plainCode(code)) }

// useRecovery takes a recovery code away; of several at once exactly one succeeds.
func (f *Factors) useRecovery(ctx context.Context, tx *sqldb.Tx, userID, code string) (bool, error) {
	used, err := tx.Exec(ctx, `DELETE FROM factor_recovery WHERE user_id = $1 AND hash = $2`, userID, f.vault.hash(userID, plainRecovery(code)))
	return used == 1, err
}
