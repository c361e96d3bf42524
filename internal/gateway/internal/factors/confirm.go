package factors

import (
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
)

// freshFor is how long a session counts as recent after its sign-in, its second factor or a repeated password.
const freshFor = 15 * time.Minute

// Confirm checks the caller's password again, so that the session counts as recent for the next quarter of an hour.
func (f *Factors) Confirm(ctx context.Context, currentPassword string) error {
	user, err := f.owner(ctx)
	if err != nil {
		return err
	}
	if _, err := f.deps.Accounts.ConfirmPassword(ctx, user.ID, currentPassword); err != nil {
		return err
	}
	return f.deps.Store.Set(ctx, confirmationOf(access.From(ctx).SessionID), []byte{'1'}, freshFor)
}

func confirmationOf(sessionID string) string { return "confirmed:" + sessionID }

// confirmed gives the caller's account when its password was given; an account without one needs a recent sign-in.
func (f *Factors) confirmed(ctx context.Context, currentPassword string) (identity.User, error) {
	user, err := f.owner(ctx)
	if err != nil {
		return user, err
	}
	if !user.HasPassword {
		return user, f.checkFresh(ctx)
	}
	if currentPassword == "" {
		return user, errs.Invalid(errs.Field{Field: "currentPassword", Message: "give the password of the account"})
	}
	return f.deps.Accounts.ConfirmPassword(ctx, user.ID, currentPassword)
}

// recent gives the caller's account when the session is recent, or its password was given.
func (f *Factors) recent(ctx context.Context, currentPassword string) (identity.User, error) {
	if currentPassword != "" {
		return f.confirmed(ctx, currentPassword)
	}
	user, err := f.owner(ctx)
	if err != nil {
		return user, err
	}
	return user, f.checkFresh(ctx)
}

// checkFresh refuses a session whose owner has not proved to be there lately. A device that was let in proves nothing about
// who holds it.
func (f *Factors) checkFresh(ctx context.Context) error {
	caller, now := access.From(ctx), f.deps.Clock.Now()
	if _, err := f.deps.Store.Get(ctx, confirmationOf(caller.SessionID)); err == nil {
		return nil
	}
	sessions, err := f.deps.Accounts.Sessions(ctx, caller.UserID)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.ID == caller.SessionID && s.SignedInHere() && (now.Sub(s.Created) < freshFor || now.Sub(s.FactorAt) < freshFor) {
			return nil
		}
	}
	return errs.New(errs.PermissionDenied, "Confirm that it is you with POST /v2/user/confirm, or sign in again.").With("type", "ConfirmationRequired")
}
