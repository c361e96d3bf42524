package app

import (
	"context"
	"fmt"

	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// sharedClock is the clock that every instance on the same database agrees on: that of the database. Locks last by it, so that a
// host whose clock is wrong neither takes a lock that somebody holds nor keeps one for too long.
func (p *parts) sharedClock(ctx context.Context) (clock.Clock, error) {
	if p.db.Driver() != "postgresql" {
		return p.opts.Clock, nil // the database has no clock but the machine's
	}
	var now int64
	if err := p.db.QueryRow(ctx, `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`).Scan(&now); err != nil {
		return nil, fmt.Errorf("read the clock of the database: %w", err)
	}
	return clock.Anchored(p.opts.Clock, sqldb.Time(now)), nil
}
