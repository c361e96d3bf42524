package oidcop

import (
	"context"
	"net/url"
	"regexp"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// insertCode stores a code and what it will be exchanged for.
func (p *Provider) insertCode(ctx context.Context, tx *sqldb.Tx, code string, req request, browser identity.Browser) error {
	g := grant{
		ID: p.deps.IDs.UUID(), ClientID: req.ClientID, UserID: browser.User.ID, SessionID: browser.Session.ID, Scopes: req.Scopes,
		AuthTime: browser.Session.Created,
	}
	if err := p.insertGrant(ctx, tx, g); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO oidc_codes (hash, grant_id, redirect_uri, challenge, nonce, expires_at, used_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0)`,
		hashOf(code), g.ID, req.RedirectURI, req.Challenge, req.Nonce, sqldb.Millis(p.now().Add(codeLife)))
	return err
}

// codeRow is a code as it is stored, with its grant.
type codeRow struct {
	grantRow
	redirectURI, challenge, nonce string
	expires, used                 int64
}

// redeemCode takes a code, once. Whoever presents it a second time ends what came of it.
func (p *Provider) redeemCode(ctx context.Context, c Client, form url.Values) (issue, error) {
	hash := hashOf(form.Get("code"))
	var made issue
	var refused error
	err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		made, refused = issue{}, nil
		row, err := readCode(ctx, tx, hash)
		if sqldb.IsNotFound(err) {
			refused = badGrant("There is no such code.")
			return nil
		}
		if err != nil {
			return err
		}
		if refused = p.checkCode(c, form, row); refused != nil && row.used == 0 {
			return nil
		}
		taken := int64(0)
		if row.used == 0 {
			if taken, err = tx.Exec(ctx, `UPDATE oidc_codes SET used_at = $1 WHERE hash = $2 AND used_at = 0`, sqldb.Millis(p.now()), hash); err != nil {
				return err
			}
		}
		if taken == 0 {
			return p.replayed(ctx, tx, c, row.read(), "a code", &refused)
		}
		made = issue{grant: row.read(), nonce: row.nonce}
		made.scopes = made.grant.Scopes
		made.refresh, err = p.insertRefresh(ctx, tx, c, made.grant)
		return err
	})
	if err == nil {
		err = refused
	}
	return made, p.afterReplay(ctx, err)
}

func readCode(ctx context.Context, tx *sqldb.Tx, hash string) (codeRow, error) {
	var row codeRow
	fields := append(row.fields(), &row.redirectURI, &row.challenge, &row.nonce, &row.expires, &row.used)
	return row, tx.QueryRow(ctx, `SELECT `+grantColumns+`, c.redirect_uri, c.challenge, c.nonce, c.expires_at, c.used_at
		FROM oidc_codes c JOIN oidc_grants g ON g.id = c.grant_id WHERE c.hash = $1`, hash).Scan(fields...)
}

var verifier = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`) //nolint:gochecknoglobals // compiled once

// checkCode tells whether a code was given to this client, for this address, to whoever holds the verifier.
func (p *Provider) checkCode(c Client, form url.Values, row codeRow) error {
	given := form.Get("code_verifier")
	switch {
	case row.ClientID != c.ID:
		return badGrant("The code was given to another client.")
	case row.expires <= sqldb.Millis(p.deps.Clock.Now()):
		return badGrant("The code has expired; start again.")
	case row.redirectURI != form.Get("redirect_uri"):
		return badGrant("The redirect_uri is not the one of the authorization request.")
	case !verifier.MatchString(given):
		return badGrant("The code_verifier is missing, or does not have 43 to 128 of the allowed characters.")
	case !oidc.VerifyCodeChallenge(&oidc.CodeChallenge{Challenge: row.challenge, Method: oidc.CodeChallengeMethodS256}, given):
		return badGrant("The code_verifier does not fit the code_challenge.")
	default:
		return nil
	}
}

// replayed ends a grant of which something was presented twice. Another client's attempt ends nothing: it cannot have it.
func (p *Provider) replayed(ctx context.Context, tx *sqldb.Tx, c Client, g grant, what string, refused *error) error {
	*refused = badGrant("It was used before. Everything that came of it is revoked.")
	if g.ClientID != c.ID {
		*refused = badGrant("It was given to another client.")
		return nil
	}
	return p.revokeGrant(ctx, tx, g, what)
}

// afterReplay makes this process know at once what was revoked.
func (p *Provider) afterReplay(ctx context.Context, err error) error {
	if err != nil {
		if refreshed := p.deps.Revocations.Refresh(ctx); refreshed != nil {
			return refreshed
		}
	}
	return err
}
