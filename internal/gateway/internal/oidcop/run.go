package oidcop

import (
	"context"
	"time"

	"atelier/internal/sqldb"
)

const (
	lookEvery  = time.Second
	sweepEvery = 10 * time.Minute
	sweepBatch = 500
)

// Run learns of revocations and removes what has expired, until ctx ends.
func (p *Provider) Run(ctx context.Context) error {
	swept := p.deps.Clock.Now()
	failing := false
	for {
		timer := p.deps.Clock.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		err := p.deps.Revocations.Refresh(ctx)
		if now := p.deps.Clock.Now(); err == nil && now.Sub(swept) >= sweepEvery {
			swept, err = now, p.sweep(ctx)
		}
		if err != nil && ctx.Err() == nil && !failing {
			p.deps.Errors.Log.WarnContext(ctx, "revoked and expired grants could not be looked at; trying again every second", "error", err.Error())
		}
		failing = err != nil
	}
}

// sweep removes everything that has expired by now, in small steps. Codes, refresh tokens and access tokens go with their grant.
func (p *Provider) sweep(ctx context.Context) error {
	before := sqldb.Millis(p.deps.Clock.Now().Add(-overlap))
	for _, statement := range []string{
		`DELETE FROM oidc_interactions WHERE id IN (SELECT id FROM oidc_interactions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
		`DELETE FROM oidc_devices WHERE hash IN (SELECT hash FROM oidc_devices WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
		`DELETE FROM oidc_grants WHERE id IN (SELECT id FROM oidc_grants WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
	} {
		for removed := int64(sweepBatch); removed == sweepBatch; {
			err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
				removed, err = tx.Exec(ctx, statement, before, sweepBatch)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
