package identity

import (
	"context"
	"net/url"
	"time"

	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/sqldb"
)

// Purpose is what a mailed one-time token is for.
type Purpose string

// The purposes of one-time tokens.
const (
	ForValidation Purpose = "validate"
	ForPassword   Purpose = "password"
	ForDeletion   Purpose = "delete"
)

// oneTimeLife is how long a mailed token can be used.
const oneTimeLife = time.Hour

// Letter is a mail to the owner of an account.
type Letter struct {
	Purpose  Purpose
	To       string
	Language string
	// Link is where its reader goes next; empty when there is nothing to do.
	Link string
	// Known tells the owner of an account that somebody tried to sign up with its address again.
	Known bool
}

// mailToken makes a one-time token and mails it, in the caller's transaction. An earlier token for the same purpose stops
// working: only the newest mail counts.
func (i *Identity) mailToken(ctx context.Context, tx *sqldb.Tx, u User, purpose Purpose, page string) error {
	secret := i.deps.IDs.Secret()
	if _, err := tx.Exec(ctx, `DELETE FROM gw_one_time WHERE user_id = $1 AND purpose = $2`, u.ID, purpose); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO gw_one_time (hash, purpose, user_id, expires_at) VALUES ($1, $2, $3, $4)`,
		hashSecret(secret), purpose, u.ID, sqldb.Millis(i.deps.Clock.Now().Add(oneTimeLife))); err != nil {
		return err
	}
	return i.deps.Post(ctx, tx, Letter{Purpose: purpose, To: u.Email, Language: u.Language, Link: page + "?token=" + url.QueryEscape(secret)})
}

// useToken takes a one-time token and gives the account it is for. Of several at once exactly one succeeds.
func (i *Identity) useToken(ctx context.Context, tx *sqldb.Tx, purpose Purpose, secret string) (User, error) {
	if secret == "" {
		return User{}, badOneTime()
	}
	var userID string
	err := tx.QueryRow(ctx, `DELETE FROM gw_one_time WHERE hash = $1 AND purpose = $2 AND expires_at > $3 RETURNING user_id`,
		hashSecret(secret), purpose, sqldb.Millis(i.deps.Clock.Now())).Scan(&userID)
	if sqldb.IsNotFound(err) {
		return User{}, badOneTime()
	}
	if err != nil {
		return User{}, err
	}
	return i.held(ctx, tx, userID)
}

// oneTimeKnown tells whether a mailed token could be used, before anything costly is done for it. Guesses are counted.
func (i *Identity) oneTimeKnown(ctx context.Context, purpose Purpose, secret string) (bool, error) {
	if err := i.deps.Limits.Blocked(ctx, limits.Code, ""); err != nil {
		return false, err
	}
	var count int
	err := i.deps.DB.QueryRow(ctx, `SELECT COUNT(*) FROM gw_one_time WHERE hash = $1 AND purpose = $2 AND expires_at > $3`,
		hashSecret(secret), purpose, sqldb.Millis(i.deps.Clock.Now())).Scan(&count)
	if err == nil && count == 0 {
		i.deps.Limits.Failed(ctx, limits.Code, "")
	}
	return count > 0, err
}

func badOneTime() error {
	return errs.New(errs.InvalidParameter, "The link has been used already, or has expired; ask for a new one.").
		With("type", "InvalidOrExpiredToken")
}
