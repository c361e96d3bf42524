package factors

import (
	"context"

	"atelier/internal/sqldb"
)

// Disown removes every factor and passkey of an account, in the transaction that takes the account from whoever had it.
func (f *Factors) Disown(ctx context.Context, tx *sqldb.Tx, userID string) error {
	for _, table := range []string{"factor_totp", "factor_recovery", "factor_passkeys"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = $1`, userID); err != nil {
			return err
		}
	}
	return nil
}
