package factors

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// Proof is what somebody gives as a second factor: one of the two.
type Proof struct {
	TOTP         string
	RecoveryCode string
}

// Prove checks a second factor of the caller's session, which then owes none. The first code of an authenticator that was
// offered sets it up, and the answer has its recovery codes, shown once. resource_not_found when the account has no second
// factor; invalid_credentials and an event when the proof is wrong. A code counts once.
//
// The session keeps its id: the token that its holder has already names it, and a session that waits for its second factor
// can do nothing else, so there is nothing to gain by fixing one.
func (f *Factors) Prove(ctx context.Context, proof Proof) (recoveryCodes []string, err error) {
	return f.prove(ctx, proof, f.check)
}

// ConfirmTOTP is Prove for the first code of an authenticator that was offered, and for nothing else.
func (f *Factors) ConfirmTOTP(ctx context.Context, code string) (recoveryCodes []string, err error) {
	if _, err := f.owner(ctx); err != nil {
		return nil, err
	}
	return f.prove(ctx, Proof{TOTP: code}, func(ctx context.Context, tx *sqldb.Tx, user identity.User, proof Proof) (outcome, error) {
		a, err := f.authenticator(ctx, tx, user.ID)
		if err == nil && a.offered == "" {
			err = errs.New(errs.NotFound, "No authenticator waits for its first code; set one up with POST /v2/user/mfa.")
		}
		if err != nil {
			return outcome{}, err
		}
		return f.acceptOffered(ctx, tx, user, a, proof.TOTP)
	})
}

// outcome is what became of a proof.
type outcome struct {
	passed   bool
	recovery []string
}

// check is what is done with a proof, in a transaction.
type check func(ctx context.Context, tx *sqldb.Tx, user identity.User, proof Proof) (outcome, error)

func (f *Factors) prove(ctx context.Context, proof Proof, with check) ([]string, error) {
	caller := access.From(ctx)
	if err := access.SigningIn.Check(caller); err != nil {
		return nil, err
	}
	user, err := f.deps.Accounts.User(ctx, caller.UserID)
	if err != nil {
		return nil, err
	}
	if err := f.deps.Limits.LoginAllowed(ctx, account(user.ID)); err != nil {
		return nil, err
	}
	var result outcome
	err = f.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if result, err = with(ctx, tx, user, proof); err != nil || !result.passed {
			return err
		}
		return f.deps.Accounts.PassFactor(ctx, tx, caller.SessionID)
	})
	if err != nil {
		return nil, err
	}
	if !result.passed {
		return nil, f.failed(ctx, user, wrong(proof))
	}
	f.deps.Accounts.Forget(caller.SessionID)
	f.deps.Limits.LoginSucceeded(ctx, account(user.ID))
	return result.recovery, nil
}

func wrong(proof Proof) string {
	if proof.RecoveryCode != "" {
		return "Bad recovery code: it is wrong, or was used before."
	}
	return "Bad TOTP: the code is wrong, was used before, or has expired; wait for the next one."
}

// check accepts a recovery code, a code of the authenticator that counts, or, unless the session still owes another
// factor, the first code of the one that was offered.
func (f *Factors) check(ctx context.Context, tx *sqldb.Tx, user identity.User, proof Proof) (outcome, error) {
	a, err := f.authenticator(ctx, tx, user.ID)
	if err != nil {
		return outcome{}, err
	}
	if access.From(ctx).Pending && a.offered != "" {
		keys, err := passkeysOf(ctx, tx, user.ID)
		if err != nil {
			return outcome{}, err
		}
		if user.MFA != "" || len(keys) > 0 {
			a.offered = ""
		}
	}
	if a.secret == "" && a.offered == "" {
		return outcome{}, errs.New(errs.NotFound, "No MFA configured: set up a second factor with POST /v2/user/mfa.")
	}
	if proof.RecoveryCode != "" {
		passed, err := f.useRecovery(ctx, tx, user.ID, proof.RecoveryCode)
		return outcome{passed: passed}, err
	}
	result, err := f.acceptOffered(ctx, tx, user, a, proof.TOTP)
	if err != nil || result.passed {
		return result, err
	}
	step, ok := stepOf(a.secret, plainCode(proof.TOTP), f.deps.Clock.Now())
	if !ok || a.secret == "" || step <= a.lastStep {
		return outcome{}, nil
	}
	_, err = tx.Exec(ctx, `UPDATE factor_totp SET last_step = $1 WHERE user_id = $2`, step, user.ID)
	return outcome{passed: true}, err
}

// acceptOffered makes the offered authenticator the one that counts when the code is its own.
func (f *Factors) acceptOffered(ctx context.Context, tx *sqldb.Tx, user identity.User, a authenticator, code string) (outcome, error) {
	step, ok := stepOf(a.offered, plainCode(code), f.deps.Clock.Now())
	if a.offered == "" || !ok {
		return outcome{}, nil
	}
	if _, err := tx.Exec(ctx, `UPDATE factor_totp SET secret = $1, offered = '', offered_at = 0, last_step = $2 WHERE user_id = $3`,
		f.vault.seal(user.ID, a.offered), step, user.ID); err != nil {
		return outcome{}, err
	}
	codes, err := f.newRecovery(ctx, tx, user.ID)
	if err != nil {
		return outcome{}, err
	}
	if err := f.deps.Accounts.SetMFA(ctx, tx, user.ID, MethodTOTP); err != nil {
		return outcome{}, err
	}
	return outcome{passed: true, recovery: codes}, f.deps.Accounts.Audit(ctx, tx, updated(user.ID, user.MFA, MethodTOTP))
}
