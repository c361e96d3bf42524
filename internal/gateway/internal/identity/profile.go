package identity

import (
	"context"
	"encoding/json"
	"maps"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Profile is what people may change of their own account. A nil field is left alone.
type Profile struct {
	FirstName, LastName, Language, Photo *string
	// Meta, when set, is merged into what is there; a null value removes its key.
	Meta map[string]any
}

// maxMeta is the largest free-form data of an account, in bytes of JSON.
const maxMeta = 32 << 10

// UpdateProfile changes the caller's own account. A picture that is no longer shown is no longer public.
func (i *Identity) UpdateProfile(ctx context.Context, p Profile) (User, error) {
	if p.Photo != nil && *p.Photo == "" {
		if err := i.dropPhotos(ctx, ""); err != nil {
			return User{}, err
		}
	}
	return i.update(ctx, access.From(ctx).UserID, func(u *User) error {
		for _, field := range []struct {
			value *string
			into  *string
		}{{p.FirstName, &u.FirstName}, {p.LastName, &u.LastName}, {p.Language, &u.Language}, {p.Photo, &u.Photo}} {
			if field.value != nil {
				*field.into = *field.value
			}
		}
		return u.mergeMeta(p.Meta)
	})
}

func (u *User) mergeMeta(change map[string]any) error {
	if len(change) == 0 {
		return nil
	}
	merged := maps.Clone(u.Meta)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range change {
		if value == nil {
			delete(merged, key)
			continue
		}
		merged[key] = value
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return err
	}
	if len(text) > maxMeta {
		return errs.Invalid(errs.Field{Field: "meta", Message: "keep it below 32 KiB in all"})
	}
	u.Meta = merged
	return nil
}

// DeleteMeta removes one key of the caller's free-form data; resource_not_found when it is not there.
func (i *Identity) DeleteMeta(ctx context.Context, key string) (User, error) {
	return i.update(ctx, access.From(ctx).UserID, func(u *User) error {
		if _, ok := u.Meta[key]; !ok {
			return errs.Missing("meta", key)
		}
		return u.mergeMeta(map[string]any{key: nil})
	})
}

// SetMFA notes which second factor an account has; empty when none. It is part of the transaction that sets it up.
func (i *Identity) SetMFA(ctx context.Context, tx *sqldb.Tx, userID, method string) error {
	_, err := tx.Exec(ctx, `UPDATE gw_users SET mfa = $1, updated_at = $2 WHERE id = $3`, method, sqldb.Millis(i.deps.Clock.Now()), userID)
	return err
}

// lockAdmins lets one transaction at a time decide who is a super admin, so that two cannot remove each other. It comes
// before any account is held.
func lockAdmins(ctx context.Context, tx *sqldb.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE gw_locks SET taken = taken + 1 WHERE name = 'admins'`)
	return err
}

// held reads an account that nobody else can change until the transaction ends.
func (i *Identity) held(ctx context.Context, tx *sqldb.Tx, userID string) (User, error) {
	if err := i.hold(ctx, tx, userID); err != nil {
		return User{}, err
	}
	return i.userBy(ctx, tx, "u.id", userID)
}

// update changes an account and stores it with its event. Of two at once the second sees what the first did.
func (i *Identity) update(ctx context.Context, userID string, edit func(*User) error) (u User, err error) {
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := lockAdmins(ctx, tx); err != nil {
			return err
		}
		if u, err = i.held(ctx, tx, userID); err != nil {
			return err
		}
		before := u
		if err := edit(&u); err != nil {
			return err
		}
		u.UpdatedBy = access.From(ctx).UserID
		return i.change(ctx, tx, u, before)
	})
	i.sessions.InvalidateAll()
	i.tokens.InvalidateAll()
	return u, err
}

// AskDeletion mails the caller a link that deletes the account.
func (i *Identity) AskDeletion(ctx context.Context) error {
	if err := i.deps.Limits.ResetAllowed(ctx, access.From(ctx).UserID); err != nil {
		return err
	}
	return i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		u, err := i.userBy(ctx, tx, "u.id", access.From(ctx).UserID)
		if err != nil {
			return err
		}
		if u.Email == "" {
			return errs.New(errs.Conflict, "The account has no e-mail address to confirm this with; ask an administrator.")
		}
		return i.mailToken(ctx, tx, u, ForDeletion, i.deps.Config.Console()+"/delete-account")
	})
}

// DeleteByToken deletes the account that a mailed link is for. userID, when given, must be its id.
func (i *Identity) DeleteByToken(ctx context.Context, userID, token string) error {
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := lockAdmins(ctx, tx); err != nil {
			return err
		}
		u, err := i.useToken(ctx, tx, ForDeletion, token)
		if err != nil {
			return err
		}
		if userID != "" && userID != u.ID {
			return errs.New(errs.PermissionDenied, "The link is for another account.")
		}
		return i.remove(ctx, tx, u)
	})
	i.sessions.InvalidateAll()
	i.tokens.InvalidateAll()
	return err
}

// DeleteUser deletes an account; what it had access to forgets it.
func (i *Identity) DeleteUser(ctx context.Context, userID string) error {
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := lockAdmins(ctx, tx); err != nil {
			return err
		}
		u, err := i.held(ctx, tx, userID)
		if err != nil {
			return err
		}
		return i.remove(ctx, tx, u)
	})
	i.sessions.InvalidateAll()
	i.tokens.InvalidateAll()
	return err
}

func (i *Identity) remove(ctx context.Context, tx *sqldb.Tx, u User) error {
	if u.SuperAdmin {
		if err := i.keepOneAdmin(ctx, tx, u.ID); err != nil {
			return err
		}
	}
	orphans, err := i.deps.Forget(ctx, tx, u.ID)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM gw_users WHERE id = $1`, u.ID); err != nil {
		return err
	}
	return i.audit(ctx, tx, Act{
		TargetType: "users", TargetID: u.ID, Before: u.facts(),
		Payload: &catalogue.UserDeleted{UserID: u.ID, IP: address(ctx), WorkspacesLeft: orphans},
	})
}

// keepOneAdmin refuses to take the last super admin away.
func (i *Identity) keepOneAdmin(ctx context.Context, tx *sqldb.Tx, userID string) error {
	others, err := i.countAdmins(ctx, tx, userID)
	if err == nil && others == 0 {
		return errs.New(errs.Conflict, "This is the last super admin; make another one first.")
	}
	return err
}

// dropPhotos makes the caller's pictures private again, but one.
func (i *Identity) dropPhotos(ctx context.Context, except string) error {
	return i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM gw_photos WHERE user_id = $1 AND hash <> $2`, access.From(ctx).UserID, except)
		return err
	})
}

// KeepPhoto notes that a content of the blob store is the caller's picture, so that it may be shown to everyone. The one
// before is not any more.
func (i *Identity) KeepPhoto(ctx context.Context, hash string) error {
	if err := i.dropPhotos(ctx, hash); err != nil {
		return err
	}
	return i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO gw_photos (hash, user_id, created_at) VALUES ($1, $2, $3) ON CONFLICT (hash, user_id) DO NOTHING`,
			hash, access.From(ctx).UserID, sqldb.Millis(i.deps.Clock.Now()))
		return err
	})
}

// IsPhoto tells whether a content is a profile picture of somebody.
func (i *Identity) IsPhoto(ctx context.Context, hash string) (bool, error) {
	return UsesContent(ctx, i.deps.DB, hash)
}

// UsesContent tells whether a content of the blob store is a profile picture of somebody, and so must stay.
func UsesContent(ctx context.Context, r sqldb.Reader, hash string) (bool, error) {
	var count int
	err := r.QueryRow(ctx, `SELECT COUNT(*) FROM gw_photos WHERE hash = $1`, hash).Scan(&count)
	return count > 0, err
}
