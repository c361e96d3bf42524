package oidcop

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// Revocations knows which access tokens were revoked before their time. It is asked for every request, so the answer is in
// memory; the database is looked at every second.
type Revocations struct {
	db    *sqldb.DB
	clock clock.Clock

	mu      sync.RWMutex
	expires map[string]time.Time // when the revoked tokens would have ended anyway
	seen    time.Time            // everything revoked before is known
}

// overlap is how far the clocks of instances may differ, and how long a commit may take, without a revocation being missed.
const overlap = 5 * time.Minute

// OpenRevocations reads what is revoked.
func OpenRevocations(ctx context.Context, db *sqldb.DB, clk clock.Clock) (*Revocations, error) {
	r := &Revocations{db: db, clock: clk, expires: map[string]time.Time{}}
	return r, r.Refresh(ctx)
}

// Has tells whether the access token with an id was revoked.
func (r *Revocations) Has(tokenID string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, revoked := r.expires[tokenID]
	return revoked
}

// Refresh learns what was revoked since it was last called, and forgets tokens that have ended.
func (r *Revocations) Refresh(ctx context.Context) error {
	r.mu.RLock()
	since := int64(0)
	if !r.seen.IsZero() {
		since = sqldb.Millis(r.seen.Add(-overlap))
	}
	r.mu.RUnlock()
	now := r.clock.Now()
	type revoked struct {
		id      string
		expires int64
	}
	found, err := sqldb.All(ctx, r.db, func(rows *sql.Rows) (one revoked, err error) {
		return one, rows.Scan(&one.id, &one.expires)
	}, `SELECT id, expires_at FROM oidc_tokens WHERE revoked_at > $1 AND revoked_at > 0 AND expires_at > $2`, since, sqldb.Millis(now.Add(-overlap)))
	if err != nil {
		return fmt.Errorf("read the revoked tokens: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range found {
		r.expires[one.id] = sqldb.Time(one.expires)
	}
	for id, expires := range r.expires {
		if now.Add(-overlap).After(expires) {
			delete(r.expires, id)
		}
	}
	if now.After(r.seen) {
		r.seen = now
	}
	return nil
}
