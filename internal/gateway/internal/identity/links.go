package identity

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Link ties a person at an external provider to an account.
type Link struct {
	Provider string
	// Issuer and Subject are who the provider says it is and whom it speaks of. Together they name one person for ever, also
	// when the slug of a provider is given to another one some day.
	Issuer, Subject string
	// Claims are what the provider says of the person.
	Claims map[string]any
	// Created is when the link was made.
	Created time.Time
}

// LinkedSignIn is a sign-in that an external provider vouches for.
type LinkedSignIn struct {
	Link Link
	// New is the account to make for somebody who has none; nil when strangers are not let in.
	New *LinkedAccount
	// Life is how long the session lasts; zero means as long as tokens do.
	Life time.Duration
	// Browser asks for the secret of a cookie that keeps the browser signed in.
	Browser bool
}

// LinkedAccount is what a new account is made of.
type LinkedAccount struct {
	// Email becomes the account's verified address; empty when the provider is not trusted to vouch for it.
	Email string
	// Claimed is the address the provider says it has verified, trusted or not. When it is somebody's, no account is made.
	Claimed                       string
	FirstName, LastName, Language string
}

// The reasons why a sign-in or a link is refused, in details.type.
const (
	RefusedStranger = "SignupClosed"
	RefusedEmail    = "EmailTaken"
	RefusedAccount  = "AccountDisabled"
	RefusedLink     = "LinkTaken"
	RefusedSecond   = "LinkExists"
	RefusedSession  = "SessionEnded"
)

func refused(code errs.Code, reason, message string) *errs.Error {
	return errs.New(code, message).With("type", reason)
}

// SignInLinked opens a session for the account that a person at a provider is linked to, or makes that account. An account is
// found by its link alone, never by an address.
func (i *Identity) SignInLinked(ctx context.Context, in LinkedSignIn) (SignedIn, error) {
	user, err := i.linkedUser(ctx, i.deps.DB, in.Link)
	if errs.CodeOf(err) != errs.NotFound {
		if err != nil {
			return SignedIn{}, err
		}
		return i.signInKnown(ctx, user, in)
	}
	if in.New == nil {
		return SignedIn{}, refused(errs.PermissionDenied, RefusedStranger, "This provider signs in people who have an account already; ask an administrator for one.")
	}
	made, err := i.signInStranger(ctx, in)
	if sqldb.IsUnique(err) {
		err = emailTaken()
	}
	if errs.CodeOf(err) != errs.Conflict {
		return made, err
	}
	if user, again := i.linkedUser(ctx, i.deps.DB, in.Link); again == nil { // the same person, twice at once
		return i.signInKnown(ctx, user, in)
	}
	return SignedIn{}, err
}

// linkKey is how a link's subject is stored.
func linkKey(l Link) string { return l.Issuer + " " + l.Subject }

func (i *Identity) linkedUser(ctx context.Context, r sqldb.Reader, l Link) (User, error) {
	user, err := i.scanUser(r.QueryRow(ctx, `SELECT `+userColumns+` FROM gw_links k JOIN gw_users u ON u.id = k.user_id
		WHERE k.provider = $1 AND k.subject = $2`, l.Provider, linkKey(l)).Scan)
	if sqldb.IsNotFound(err) {
		return user, errs.Missing("users", l.Subject)
	}
	return user, err
}

// signInKnown keeps what the provider says of the person up to date; the account itself stays as its owner made it.
func (i *Identity) signInKnown(ctx context.Context, user User, in LinkedSignIn) (SignedIn, error) {
	if user.Status != Validated {
		return SignedIn{}, refused(errs.InvalidCredentials, RefusedAccount, "The account is not active; ask an administrator.")
	}
	claims, err := json.Marshal(in.Link.Claims)
	if err != nil {
		return SignedIn{}, err
	}
	user.AuthData[in.Link.Provider] = in.Link.Claims
	return i.beginLinked(ctx, user, in, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE gw_links SET claims = $1 WHERE provider = $2 AND subject = $3`,
			string(claims), in.Link.Provider, linkKey(in.Link))
		return err
	})
}

func (i *Identity) signInStranger(ctx context.Context, in LinkedSignIn) (SignedIn, error) {
	now := i.now()
	user := User{
		ID: i.deps.IDs.User(), Email: normalEmail(in.New.Email), FirstName: in.New.FirstName, LastName: in.New.LastName, Language: in.New.Language,
		Status: Validated, Verified: in.New.Email != "", CreatedAt: now, UpdatedAt: now,
		AuthData: map[string]map[string]any{in.Link.Provider: in.Link.Claims},
	}
	user.SuperAdmin = user.Verified && i.listedAdmin(user.Email)
	return i.beginLinked(ctx, user, in, func(tx *sqldb.Tx) error {
		if in.New.Claimed != "" {
			switch _, err := i.userBy(ctx, tx, "u.email", normalEmail(in.New.Claimed)); {
			case err == nil:
				return emailTaken()
			case errs.CodeOf(err) != errs.NotFound:
				return err
			}
		}
		stored := user
		stored.SuperAdmin = false // the configuration says so every time it is read
		if err := i.register(ctx, tx, stored, ""); err != nil {
			return err
		}
		return i.insertLink(ctx, tx, user.ID, in.Link)
	})
}

func emailTaken() error {
	return refused(errs.Conflict, RefusedEmail, "There is an account with this e-mail address; sign in to it another way and link the provider there.")
}

func (i *Identity) beginLinked(ctx context.Context, user User, in LinkedSignIn, with func(*sqldb.Tx) error) (SignedIn, error) {
	return i.Begin(ctx, Start{User: user, Provider: in.Link.Provider, Life: in.Life, Strong: true, Browser: in.Browser, With: with})
}

func (i *Identity) insertLink(ctx context.Context, tx *sqldb.Tx, userID string, l Link) error {
	claims, err := json.Marshal(l.Claims)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO gw_links (provider, subject, user_id, claims, created_at) VALUES ($1, $2, $3, $4, $5)`,
		l.Provider, linkKey(l), userID, string(claims), sqldb.Millis(i.deps.Clock.Now()))
	return err
}

// AddLink links a person at a provider to the account of a session that has not ended. An account has one link to a provider,
// and a person at a provider is linked to one account.
func (i *Identity) AddLink(ctx context.Context, sessionID string, l Link) error {
	state, err := i.readSession(ctx, "s.id", sessionID)
	if err != nil {
		return err
	}
	if state.ended || state.pending() || state.user.Anonymous {
		return refused(errs.InvalidToken, RefusedSession, "The session that asked for the link has ended; sign in and ask again.")
	}
	p := principalOf(state.user)
	p.Credential, p.SessionID = access.BySession, sessionID
	ctx = access.With(ctx, p)
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := i.checkFree(ctx, tx, p.UserID, l); err != nil {
			return err
		}
		if err := i.insertLink(ctx, tx, p.UserID, l); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{
			Payload: &catalogue.Link{Verb: catalogue.Created}, TargetType: "users", TargetID: p.UserID, After: map[string]any{"provider": l.Provider, "id": l.Subject},
		})
	})
	i.sessions.Invalidate(sessionID)
	if sqldb.IsUnique(err) {
		return linkTaken()
	}
	return err
}

// hold keeps others from changing the links of an account until the transaction ends.
func (i *Identity) hold(ctx context.Context, tx *sqldb.Tx, userID string) error {
	_, err := tx.Exec(ctx, `UPDATE gw_users SET updated_at = $1 WHERE id = $2`, sqldb.Millis(i.deps.Clock.Now()), userID)
	return err
}

func (i *Identity) checkFree(ctx context.Context, tx *sqldb.Tx, userID string, l Link) error {
	if err := i.hold(ctx, tx, userID); err != nil {
		return err
	}
	owner, err := i.linkedUser(ctx, tx, l)
	if err == nil && owner.ID != userID {
		return linkTaken()
	}
	if err != nil && errs.CodeOf(err) != errs.NotFound {
		return err
	}
	links, err := i.links(ctx, tx, userID)
	if err != nil {
		return err
	}
	for _, have := range links {
		if have.Provider == l.Provider {
			return refused(errs.Conflict, RefusedSecond, "The account is linked to this provider already; remove that link first.")
		}
	}
	return nil
}

func linkTaken() error {
	return refused(errs.Conflict, RefusedLink, "This identity is linked to another account.")
}

// Links lists the providers an account is linked to, by their slugs.
func (i *Identity) Links(ctx context.Context, userID string) ([]Link, error) {
	return i.links(ctx, i.deps.DB, userID)
}

func (i *Identity) links(ctx context.Context, r sqldb.Reader, userID string) ([]Link, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Link, error) {
		var l Link
		var claims string
		var created int64
		if err := rows.Scan(&l.Provider, &claims, &created); err != nil {
			return l, err
		}
		l.Created = sqldb.Time(created)
		err := json.Unmarshal([]byte(claims), &l.Claims)
		l.Subject, _ = l.Claims["id"].(string)
		return l, err
	}, `SELECT provider, claims, created_at FROM gw_links WHERE user_id = $1 ORDER BY provider LIMIT $2`, userID, maxListed)
}

// DeleteLink removes the caller's link to a provider and ends the other sessions that it began. An account keeps a way to sign
// in: others tells that it has one this package does not know of, such as a passkey.
func (i *Identity) DeleteLink(ctx context.Context, provider string, others bool) error {
	caller := access.From(ctx)
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := i.hold(ctx, tx, caller.UserID); err != nil {
			return err
		}
		user, err := i.userBy(ctx, tx, "u.id", caller.UserID)
		if err != nil {
			return err
		}
		if err := i.removeLink(ctx, tx, user, provider, others); err != nil {
			return err
		}
		if _, err := i.endSessions(ctx, tx, `user_id = $2 AND provider = $3 AND id <> $4`, caller.UserID, provider, caller.SessionID); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{
			Payload: &catalogue.Link{Verb: catalogue.Deleted}, TargetType: "users", TargetID: caller.UserID,
			Before: map[string]any{"provider": provider, "id": user.AuthData[provider]["id"]},
		})
	})
	i.sessions.InvalidateAll()
	return err
}

func (i *Identity) removeLink(ctx context.Context, tx *sqldb.Tx, user User, provider string, others bool) error {
	deleted, err := tx.Exec(ctx, `DELETE FROM gw_links WHERE user_id = $1 AND provider = $2`, user.ID, provider)
	if err != nil {
		return err
	}
	if deleted == 0 {
		return errs.Missing("links", provider)
	}
	left, err := i.links(ctx, tx, user.ID)
	if err != nil {
		return err
	}
	if len(left) == 0 && !others && !i.canUsePassword(user) {
		return errs.New(errs.Conflict, "This is the only way to sign in to the account; set a password or link another provider first.")
	}
	return nil
}

func (i *Identity) canUsePassword(u User) bool {
	return u.HasPassword && (!i.deps.Config.DisableSignin || u.SuperAdmin)
}

// RecordRefusal tells the audit trail of a sign-in through a provider that failed.
func (i *Identity) RecordRefusal(ctx context.Context, provider, reason string) error {
	return i.auditAlone(ctx, Act{
		TargetType: "providers", TargetID: provider, Payload: &catalogue.LoginFailed{Provider: provider, IP: address(ctx), Reason: reason},
	})
}
