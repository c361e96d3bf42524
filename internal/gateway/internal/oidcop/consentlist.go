package oidcop

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// Consent is what a person lets a client have.
type Consent struct {
	ClientID, Name string
	Scopes         []string
	Granted        time.Time
}

// maxConsents bounds the list, which is not paged.
const maxConsents = 1000

// Consents lists what a person has let clients have, the newest first.
func (p *Provider) Consents(ctx context.Context, userID string) ([]Consent, error) {
	found, err := sqldb.All(ctx, p.deps.DB, func(rows *sql.Rows) (Consent, error) {
		var c Consent
		var scopes string
		var granted int64
		err := rows.Scan(&c.ClientID, &scopes, &granted)
		c.Scopes, c.Granted = strings.Fields(scopes), sqldb.Time(granted)
		return c, err
	}, `SELECT client_id, scopes, granted_at FROM oidc_consents WHERE user_id = $1 ORDER BY granted_at DESC, client_id LIMIT $2`, userID, maxConsents)
	if err != nil {
		return nil, err
	}
	for i := range found {
		c, err := p.client(ctx, found[i].ClientID)
		switch {
		case isBadClient(err):
			found[i].Name = found[i].ClientID // removed meanwhile
		case err != nil:
			return nil, err
		default:
			found[i].Name = c.Name
		}
	}
	return found, nil
}

// Withdraw takes back what the caller has let a client have, and ends everything the client was granted: resource_not_found
// when that is nothing.
func (p *Provider) Withdraw(ctx context.Context, clientID string) error {
	userID := access.From(ctx).UserID
	err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		before, err := consented(ctx, tx, userID, clientID)
		if err != nil {
			return err
		}
		gone, err := tx.Exec(ctx, `DELETE FROM oidc_consents WHERE user_id = $1 AND client_id = $2`, userID, clientID)
		if err == nil && gone == 0 {
			err = errs.Missing("consents", clientID)
		}
		if err != nil {
			return err
		}
		if err := p.endGrants(ctx, tx, userID, clientID); err != nil {
			return err
		}
		return p.deps.Identity.Audit(ctx, tx, identity.Act{
			Payload: &catalogue.Consent{Verb: catalogue.Deleted}, TargetType: "clients", TargetID: clientID, Before: map[string]any{"scopes": before},
		})
	})
	if err != nil {
		return err
	}
	return p.deps.Revocations.Refresh(ctx)
}

// endGrants ends everything that a client was granted by one person, and what it is about to be.
func (p *Provider) endGrants(ctx context.Context, tx *sqldb.Tx, userID, clientID string) error {
	now := sqldb.Millis(p.now())
	for _, statement := range []string{
		`UPDATE oidc_tokens SET revoked_at = $1 WHERE revoked_at = 0
			AND grant_id IN (SELECT id FROM oidc_grants WHERE user_id = $2 AND client_id = $3)`,
		`UPDATE oidc_grants SET revoked_at = $1 WHERE user_id = $2 AND client_id = $3 AND revoked_at = 0`,
	} {
		if _, err := tx.Exec(ctx, statement, now, userID, clientID); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM oidc_devices WHERE user_id = $1 AND client_id = $2`, userID, clientID)
	return err
}
