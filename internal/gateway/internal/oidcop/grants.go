package oidcop

import (
	"context"
	"slices"
	"strings"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// grant is what a client was granted once. It ends with the session it came from.
type grant struct {
	ID        string
	ClientID  string
	UserID    string
	SessionID string
	Scopes    []string
	AuthTime  time.Time
	Revoked   bool
}

const grantColumns = `g.id, g.client_id, g.user_id, g.session_id, g.scopes, g.auth_time, g.revoked_at`

// grantRow is a grant as it is stored.
type grantRow struct {
	grant
	scopes            string
	authTime, revoked int64
}

func (r *grantRow) fields() []any {
	return []any{&r.ID, &r.ClientID, &r.UserID, &r.SessionID, &r.scopes, &r.authTime, &r.revoked}
}

func (r *grantRow) read() grant {
	g := r.grant
	g.Scopes, g.AuthTime, g.Revoked = strings.Fields(r.scopes), sqldb.Time(r.authTime), r.revoked != 0
	return g
}

// has tells whether the grant comprises a scope.
func (g grant) has(scope string) bool { return slices.Contains(g.Scopes, scope) }

// insertGrant stores a grant. It is kept for as long as something of it may be presented.
func (p *Provider) insertGrant(ctx context.Context, tx *sqldb.Tx, g grant) error {
	_, err := tx.Exec(ctx, `INSERT INTO oidc_grants (id, client_id, user_id, session_id, scopes, auth_time, expires_at, revoked_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0)`,
		g.ID, g.ClientID, g.UserID, g.SessionID, strings.Join(g.Scopes, " "), sqldb.Millis(g.AuthTime), sqldb.Millis(p.now().Add(refreshLife)))
	return err
}

// revokeGrant revokes everything that came of a grant, because something of it was presented twice: one of the two who
// did is not whom it was given to, and nobody can tell which.
func (p *Provider) revokeGrant(ctx context.Context, tx *sqldb.Tx, g grant, what string) error {
	if err := endGrant(ctx, tx, g.ID, p.now()); err != nil || g.Revoked {
		return err
	}
	return p.deps.Identity.Audit(ctx, tx, identity.Act{
		TargetType: "grants", TargetID: g.ID,
		Payload: &catalogue.GrantRevoked{UserID: g.UserID, ClientID: g.ClientID, Reason: what + " was presented twice"},
	})
}

func endGrant(ctx context.Context, tx *sqldb.Tx, id string, now time.Time) error {
	if _, err := tx.Exec(ctx, `UPDATE oidc_grants SET revoked_at = $1 WHERE id = $2 AND revoked_at = 0`, sqldb.Millis(now), id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE oidc_tokens SET revoked_at = $1 WHERE grant_id = $2 AND revoked_at = 0`, sqldb.Millis(now), id)
	return err
}

// noteToken notes an access token of a grant, so that it can be revoked. A grant that was revoked meanwhile gives none.
func (p *Provider) noteToken(ctx context.Context, grantID string, t identity.Token) error {
	return p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		expires := sqldb.Millis(t.Expires)
		alive, err := tx.Exec(ctx, `UPDATE oidc_grants SET expires_at = CASE WHEN expires_at < $1 THEN $1 ELSE expires_at END
				WHERE id = $2 AND revoked_at = 0`, expires, grantID)
		if err != nil {
			return err
		}
		if alive == 0 {
			return badGrant("What the client was granted has been revoked.")
		}
		_, err = tx.Exec(ctx, `INSERT INTO oidc_tokens (id, grant_id, expires_at, revoked_at) VALUES ($1, $2, $3, 0)`, t.ID, grantID, expires)
		return err
	})
}
