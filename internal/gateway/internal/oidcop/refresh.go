package oidcop

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"atelier/internal/sqldb"
)

// insertRefresh stores a new refresh token of a grant and gives its text; empty when the client gets none.
func (p *Provider) insertRefresh(ctx context.Context, tx *sqldb.Tx, c Client, g grant) (string, error) {
	if !g.has(scopeOffline) || !slices.Contains(c.Scopes, scopeOffline) || !c.allows(grantRefresh) {
		return "", nil
	}
	token := p.deps.IDs.Secret()
	expires := sqldb.Millis(p.now().Add(refreshLife))
	if _, err := tx.Exec(ctx, `INSERT INTO oidc_refresh (hash, grant_id, expires_at, used_at) VALUES ($1, $2, $3, 0)`,
		hashOf(token), g.ID, expires); err != nil {
		return "", err
	}
	_, err := tx.Exec(ctx, `UPDATE oidc_grants SET expires_at = CASE WHEN expires_at < $1 THEN $1 ELSE expires_at END WHERE id = $2`, expires, g.ID)
	return token, err
}

// refreshRow is a refresh token as it is stored, with its grant.
type refreshRow struct {
	grantRow
	expires, used int64
}

func readRefresh(ctx context.Context, r sqldb.Reader, hash string) (refreshRow, error) {
	var row refreshRow
	return row, r.QueryRow(ctx, `SELECT `+grantColumns+`, r.expires_at, r.used_at
		FROM oidc_refresh r JOIN oidc_grants g ON g.id = r.grant_id WHERE r.hash = $1`, hash).Scan(append(row.fields(), &row.expires, &row.used)...)
}

// redeemRefresh takes a refresh token, once, and gives the next one. Whoever presents it a second time ends them all.
func (p *Provider) redeemRefresh(ctx context.Context, c Client, form url.Values) (issue, error) {
	hash := hashOf(form.Get("refresh_token"))
	var made issue
	var refused error
	err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		made, refused = issue{}, nil
		row, err := readRefresh(ctx, tx, hash)
		if sqldb.IsNotFound(err) {
			refused = badGrant("There is no such refresh token.")
			return nil
		}
		if err != nil {
			return err
		}
		g := row.read()
		if refused = p.checkRefresh(c, g, row); refused != nil && row.used == 0 {
			return nil
		}
		if made.scopes, refused = narrowed(g, form.Get("scope")); refused != nil && row.used == 0 {
			return nil
		}
		taken := int64(0)
		if row.used == 0 {
			if taken, err = tx.Exec(ctx, `UPDATE oidc_refresh SET used_at = $1 WHERE hash = $2 AND used_at = 0`, sqldb.Millis(p.now()), hash); err != nil {
				return err
			}
		}
		if taken == 0 {
			return p.replayed(ctx, tx, c, g, "a refresh token", &refused)
		}
		made.grant = g
		made.refresh, err = p.insertRefresh(ctx, tx, c, g)
		return err
	})
	if err == nil {
		err = refused
	}
	return made, p.afterReplay(ctx, err)
}

func (p *Provider) checkRefresh(c Client, g grant, row refreshRow) error {
	now := p.deps.Clock.Now()
	switch {
	case g.ClientID != c.ID:
		return badGrant("The refresh token was given to another client.")
	case g.Revoked:
		return badGrant("The refresh token has been revoked.")
	case row.expires <= sqldb.Millis(now) || now.After(g.AuthTime.Add(p.deps.Config.SessionMaxAge)):
		return badGrant("The refresh token has expired; sign in again.")
	default:
		return nil
	}
}

// narrowed gives the scopes of the next access token: all of the grant's, or some of them.
func narrowed(g grant, asked string) ([]string, error) {
	if asked == "" {
		return g.Scopes, nil
	}
	wanted := strings.Fields(asked)
	for _, scope := range wanted {
		if !slices.Contains(g.Scopes, scope) {
			return nil, fail("invalid_scope", "Ask for no more than was granted.")
		}
	}
	return wanted, nil
}
