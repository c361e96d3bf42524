package sqlkv

import (
	"context"
	"time"

	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

// sweepGrain is how coarse the time after which a limit may be swept is.
const sweepGrain = 10 * time.Minute

// Take asks for one unit of the limit kept under key. Being refused costs one read: a flood does not reach the writer.
func (s *Store) Take(ctx context.Context, key string, limit kv.Limit) (kv.Decision, error) {
	if err := kv.CheckKeys(key); err != nil {
		return kv.Decision{}, err
	}
	seen, err := freeAt(ctx, s.db, `SELECT free_at FROM kv_limits WHERE key = $1`, key)
	if err != nil {
		return kv.Decision{}, failed(ctx, "take", err)
	}
	next, decision, err := kv.GCRA(limit, seen, s.clock.Now().UnixMicro())
	if err != nil || next == seen {
		return decision, err
	}
	err = s.write(ctx, func(tx *sqldb.Tx) error {
		decision, err = s.take(ctx, tx, key, limit, seen)
		return err
	})
	if err != nil {
		return kv.Decision{}, failed(ctx, "take", err)
	}
	return decision, nil
}

// take writes the new time on condition that the row still holds the time it was computed from. After a lost race it
// locks the row before it looks again, so the second attempt can only fail when the row was removed meanwhile.
func (s *Store) take(ctx context.Context, tx *sqldb.Tx, key string, limit kv.Limit, stored int64) (kv.Decision, error) {
	for {
		next, decision, err := kv.GCRA(limit, stored, s.clock.Now().UnixMicro())
		if err != nil || next == stored {
			return decision, err
		}
		won, err := advance(ctx, tx, key, stored, next)
		if err != nil || won {
			return decision, err
		}
		stored, err = freeAt(ctx, tx, `UPDATE kv_limits SET free_at = free_at WHERE key = $1 RETURNING free_at`, key)
		if err != nil {
			return kv.Decision{}, err
		}
	}
}

func advance(ctx context.Context, tx *sqldb.Tx, key string, stored, next int64) (bool, error) {
	grain := sweepGrain.Milliseconds()
	sweepAt := (next/time.Millisecond.Microseconds()/grain + 1) * grain
	rows, err := tx.Exec(ctx, `INSERT INTO kv_limits (key, free_at, sweep_at) VALUES ($1, $2, $3)
		ON CONFLICT (key) DO UPDATE SET free_at = excluded.free_at, sweep_at = excluded.sweep_at
		WHERE kv_limits.free_at = $4`, []byte(key), next, sweepAt, stored)
	return rows > 0, err
}

// freeAt reads a stored time; zero when there is none.
func freeAt(ctx context.Context, r sqldb.Reader, query, key string) (free int64, err error) {
	err = r.QueryRow(ctx, query, []byte(key)).Scan(&free)
	if sqldb.IsNotFound(err) {
		return 0, nil
	}
	return free, err
}
