package identity

import (
	"context"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/mail"
	"atelier/internal/sqldb"
)

// SignUp is what somebody says who wants an account.
type SignUp struct {
	Email, Password, FirstName, LastName, Language string //nolint:gosec // what is sent, not kept
}

// The ways in which a new account becomes usable.
const (
	validateAuto   = "auto"
	validateManual = "manual"
)

// SignUp makes an account that still has to be validated, unless validation is automatic, and tells which validation it
// waits for. With validation by mail nobody learns whether an address has an account already: its owner gets a mail instead.
func (i *Identity) SignUp(ctx context.Context, wanted SignUp) (made User, validation string, err error) {
	validation = i.deps.Config.AccountValidation
	if i.deps.Config.DisableSignup {
		return made, validation, errs.New(errs.PermissionDenied, "Sign-up is turned off here; ask an administrator for an account.")
	}
	if err := checkAddress(wanted.Email); err != nil {
		return made, validation, err
	}
	if err := i.checkNewPassword("password", wanted.Password); err != nil {
		return made, validation, err
	}
	hash, err := i.hashPassword(ctx, wanted.Password)
	if err != nil {
		return made, validation, err
	}
	now := i.now()
	made = User{
		ID: i.deps.IDs.User(), Email: normalEmail(wanted.Email), FirstName: wanted.FirstName, LastName: wanted.LastName, Language: wanted.Language,
		Status: Pending, HasPassword: true, CreatedAt: now, UpdatedAt: now,
	}
	if validation == validateAuto {
		made.Status = Validated
	}
	if err := made.gatherAuthData(""); err != nil {
		return made, validation, err
	}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error { return i.register(ctx, tx, made, hash) })
	if !sqldb.IsUnique(err) {
		return made, validation, errs.Wrap(err, "sign up")
	}
	if validation == validateAuto || validation == validateManual {
		return made, validation, errs.New(errs.AlreadyExists, "There is an account with this e-mail address; sign in, or reset its password.")
	}
	return made, validation, i.signUpAgain(ctx, made, hash)
}

// signUpAgain handles a sign-up with an address that has an account. The owner of one that is validated is told by mail. One
// that still waits takes the newest password and a new link, and its validation asks for that password: whoever follows the
// link must be who chose it.
func (i *Identity) signUpAgain(ctx context.Context, made User, hash string) error {
	return i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		known, err := i.userBy(ctx, tx, "u.email", made.Email)
		if err == nil {
			known, err = i.held(ctx, tx, known.ID)
		}
		if err != nil {
			return err
		}
		if known.Status != Pending || known.Verified {
			return i.deps.Post(ctx, tx, Letter{Purpose: ForValidation, To: made.Email, Language: made.Language, Link: i.deps.Config.SigninPage(), Known: true})
		}
		if _, err := tx.Exec(ctx, `UPDATE gw_users SET password_hash = $1, first_name = $2, last_name = $3, language = $4, contested = 1 WHERE id = $5`,
			hash, made.FirstName, made.LastName, made.Language, known.ID); err != nil {
			return err
		}
		known.Language = made.Language
		return i.mailToken(ctx, tx, known, ForValidation, i.deps.Config.Console()+"/validate")
	})
}

// checkAddress refuses an address that no mail can be sent to.
func checkAddress(email string) error {
	if mail.CheckAddress(normalEmail(email)) != nil {
		return errs.Invalid(errs.Field{Field: "email", Message: "use an address that mail can be sent to, such as name@example.com"})
	}
	return nil
}

func (i *Identity) register(ctx context.Context, tx *sqldb.Tx, u User, hash string) error {
	if err := i.insertUser(ctx, tx, u, hash); err != nil {
		return err
	}
	if err := i.audit(ctx, tx, Act{
		TargetType: "users", TargetID: u.ID, After: u.facts(), Payload: &catalogue.SignupSucceeded{IP: address(ctx), User: u.facts()},
	}); err != nil {
		return err
	}
	if u.Status == Pending && i.deps.Config.AccountValidation != validateManual {
		return i.mailToken(ctx, tx, u, ForValidation, i.deps.Config.Console()+"/validate")
	}
	return nil
}

// facts is what the audit trail says of an account.
func (u *User) facts() catalogue.User {
	return catalogue.User{
		ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, Status: string(u.Status), MFA: u.MFA, Groups: u.Groups,
		PlatformRole: platformRole(u.SuperAdmin),
	}
}

func platformRole(superAdmin bool) string {
	if superAdmin {
		return "superadmin"
	}
	return ""
}

// AskValidation mails a new link to an account that waits for its validation. The answer is the same for every address.
func (i *Identity) AskValidation(ctx context.Context, email, language string) error {
	if err := i.deps.Limits.ResetAllowed(ctx, email); err != nil {
		return err
	}
	return i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		u, err := i.userBy(ctx, tx, "u.email", normalEmail(email))
		if errs.CodeOf(err) == errs.NotFound || err == nil && (u.Status != Pending || i.deps.Config.AccountValidation == validateManual) {
			return nil
		}
		if err != nil {
			return err
		}
		if language != "" {
			u.Language = language
		}
		return i.mailToken(ctx, tx, u, ForValidation, i.deps.Config.Console()+"/validate")
	})
}

// Validate makes an account usable whose owner followed the mailed link. Where several people may have chosen a password for
// the address, and where it is that of a super admin, the password is asked for too.
func (i *Identity) Validate(ctx context.Context, token, password string) error {
	if err := i.confirmValidation(ctx, token, password); err != nil {
		return err
	}
	return i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		u, err := i.useToken(ctx, tx, ForValidation, token)
		if err != nil {
			return err
		}
		before := u
		if u.Status == Pending {
			u.Status = Validated
		}
		u.Verified = true
		return i.change(ctx, tx, u, before)
	})
}

// confirmValidation looks whether the password is needed, and is right. A sign-up between this and the validation makes the
// link void.
func (i *Identity) confirmValidation(ctx context.Context, token, password string) error {
	known, err := i.oneTimeKnown(ctx, ForValidation, token)
	if err == nil && !known {
		err = badOneTime()
	}
	if err != nil {
		return err
	}
	var hash string
	var contested bool
	u, err := i.scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, u.password_hash, u.contested <> 0
		FROM gw_one_time o JOIN gw_users u ON u.id = o.user_id WHERE o.hash = $1`, hashSecret(token)).Scan, &hash, &contested)
	if sqldb.IsNotFound(err) {
		return badOneTime()
	}
	if err != nil || !contested && !i.listedAdmin(u.Email) {
		return err
	}
	if password == "" {
		return errs.New(errs.InvalidCredentials, "Send the password of the account as well.").With("type", "PasswordRequired")
	}
	if err := i.deps.Limits.LoginAllowed(ctx, u.Email); err != nil {
		return err
	}
	fits, err := i.checkPassword(ctx, password, hash)
	if err == nil && !fits {
		i.deps.Limits.LoginFailed(ctx, u.Email)
		err = errs.New(errs.InvalidCredentials, "The password is not the one that was chosen last for this address; sign up again, or try another.").
			With("type", "PasswordRequired")
	}
	return err
}

// change stores an account that was changed, with its event. An account that is no longer valid is signed out everywhere,
// and the last super admin stays one.
func (i *Identity) change(ctx context.Context, tx *sqldb.Tx, u, before User) error {
	if before.SuperAdmin && (!u.SuperAdmin || u.Status != Validated) {
		if err := i.keepOneAdmin(ctx, tx, u.ID); err != nil {
			return err
		}
	}
	if u.Status != Validated {
		if _, err := i.endSessions(ctx, tx, `user_id = $2`, u.ID); err != nil {
			return err
		}
	}
	if u.Email != before.Email { // links that were mailed to another address are void
		if _, err := tx.Exec(ctx, `DELETE FROM gw_one_time WHERE user_id = $1`, u.ID); err != nil {
			return err
		}
	}
	u.UpdatedAt = i.now()
	if err := i.saveUser(ctx, tx, u); err != nil {
		return err
	}
	return i.audit(ctx, tx, Act{
		TargetType: "users", TargetID: u.ID, Before: before.facts(), After: u.facts(), Payload: &catalogue.UserUpdated{User: u.facts()},
	})
}
