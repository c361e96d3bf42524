package identity

import (
	"context"
	"regexp"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// checkNewPassword refuses a password that the installation's rule does not allow.
func (i *Identity) checkNewPassword(field, password string) error {
	rule, err := regexp.Compile(i.deps.Config.PasswordPattern)
	if err != nil {
		return err
	}
	if !rule.MatchString(password) {
		return errs.Invalid(errs.Field{Field: field, Message: "choose a password that matches " + i.deps.Config.PasswordPattern}).With("type", "InvalidPassword")
	}
	return nil
}

// AskPassword mails a link to choose a new password. The answer is the same for every address.
func (i *Identity) AskPassword(ctx context.Context, email, language string) error {
	if err := i.deps.Limits.ResetAllowed(ctx, email); err != nil {
		return err
	}
	return i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		u, err := i.userBy(ctx, tx, "u.email", normalEmail(email))
		if errs.CodeOf(err) == errs.NotFound || err == nil && (u.Status == Deactivated || i.deps.Config.DisableSignin && !u.SuperAdmin) {
			return nil
		}
		if err != nil {
			return err
		}
		if language != "" {
			u.Language = language
		}
		if err := i.mailToken(ctx, tx, u, ForPassword, i.deps.Config.ResetPage()); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{
			TargetType: "users", TargetID: u.ID, Payload: &catalogue.PasswordReset{Verb: catalogue.Requested, IP: address(ctx), Email: u.Email},
		})
	})
}

// ResetPassword sets a new password for the account that a mailed link is for. Whoever was signed in is not any more.
func (i *Identity) ResetPassword(ctx context.Context, token, password string) (u User, err error) {
	if err := i.checkNewPassword("password", password); err != nil {
		return u, err
	}
	known, err := i.oneTimeKnown(ctx, ForPassword, token)
	if err == nil && !known {
		err = badOneTime()
	}
	if err != nil {
		return u, err
	}
	hash, err := i.hashPassword(ctx, password)
	if err != nil {
		return u, err
	}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := lockAdmins(ctx, tx); err != nil {
			return err
		}
		if u, err = i.useToken(ctx, tx, ForPassword, token); err != nil {
			return err
		}
		if u.Status == Deactivated {
			return errs.New(errs.PermissionDenied, "The account is deactivated.")
		}
		before := u
		if u.Status == Pending && i.deps.Config.AccountValidation != validateManual {
			u.Status = Validated // the mail has arrived, which is all that validation asks
		}
		if !u.Verified { // whoever made the account has never shown that the address is theirs: nothing of theirs stays
			if err := i.disown(ctx, tx, u.ID); err != nil {
				return err
			}
			u.MFA = ""
		}
		u.Verified = true
		if err := i.setPassword(ctx, tx, u, hash, ""); err != nil {
			return err
		}
		if err := i.change(ctx, tx, u, before); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{
			TargetType: "users", TargetID: u.ID, Payload: &catalogue.PasswordReset{Verb: catalogue.Succeeded, IP: address(ctx), Email: u.Email},
		})
	})
	i.sessions.InvalidateAll()
	i.tokens.InvalidateAll()
	return u, err
}

// disown takes every way in from an account that its owner takes over for the first time.
func (i *Identity) disown(ctx context.Context, tx *sqldb.Tx, userID string) error {
	for _, statement := range []string{
		`DELETE FROM gw_access_tokens WHERE user_id = $1`, `DELETE FROM gw_links WHERE user_id = $1`,
		`UPDATE gw_users SET contested = 0 WHERE id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, userID); err != nil {
			return err
		}
	}
	return i.deps.Disown(ctx, tx, userID)
}

// ChangePassword sets a new password for the caller, who knows the present one. Other sessions end, this one stays.
func (i *Identity) ChangePassword(ctx context.Context, current, password string) (u User, err error) {
	caller := access.From(ctx)
	if u, err = i.ConfirmPassword(ctx, caller.UserID, current); err != nil {
		return u, err
	}
	if err := i.checkNewPassword("password", password); err != nil {
		return u, err
	}
	hash, err := i.hashPassword(ctx, password)
	if err != nil {
		return u, err
	}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := i.setPassword(ctx, tx, u, hash, caller.SessionID); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{TargetType: "users", TargetID: u.ID, Payload: &catalogue.PasswordChanged{IP: address(ctx)}})
	})
	i.sessions.InvalidateAll()
	return u, err
}

// setPassword stores the hash and ends every session but one. A mailed link of before is void.
func (i *Identity) setPassword(ctx context.Context, tx *sqldb.Tx, u User, hash, keep string) error {
	if _, err := tx.Exec(ctx, `UPDATE gw_users SET password_hash = $1 WHERE id = $2`, hash, u.ID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM gw_one_time WHERE user_id = $1 AND purpose = $2`, u.ID, ForPassword); err != nil {
		return err
	}
	_, err := i.endSessions(ctx, tx, `user_id = $2 AND id <> $3`, u.ID, keep)
	return err
}

// ConfirmPassword tells whether a signed-in user knows the account's password, before something delicate is done.
func (i *Identity) ConfirmPassword(ctx context.Context, userID, password string) (User, error) {
	u, err := i.User(ctx, userID)
	if err != nil {
		return u, err
	}
	if err := i.deps.Limits.LoginAllowed(ctx, u.Email); err != nil {
		return u, err
	}
	_, fits, err := i.checkCredentials(ctx, u.Email, password)
	if err != nil {
		return u, err
	}
	if !fits {
		i.deps.Limits.LoginFailed(ctx, u.Email)
		return u, errs.New(errs.InvalidCredentials, "The current password is wrong.")
	}
	i.deps.Limits.LoginSucceeded(ctx, u.Email)
	return u, nil
}
