package sqlkv

import (
	"context"
	"slices"
	"time"

	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

// Get returns the value, or kv.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := kv.CheckKeys(key); err != nil {
		return nil, err
	}
	var value []byte
	err := s.db.QueryRow(ctx, `SELECT value FROM kv_values WHERE key = $1 AND expires_at > $2`,
		[]byte(key), s.now()).Scan(&value)
	if sqldb.IsNotFound(err) {
		return nil, kv.ErrNotFound
	}
	return value, failed(ctx, "get", err)
}

// Set stores the value for ttl.
func (s *Store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := kv.CheckWrite(key, ttl); err != nil {
		return err
	}
	_, err := s.change(ctx, `INSERT INTO kv_values (key, value, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
		[]byte(key), bytes(value), s.expiry(ttl))
	return failed(ctx, "set", err)
}

// Add stores the value when the key is absent. An expired row that is not swept yet counts as absent.
func (s *Store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if err := kv.CheckWrite(key, ttl); err != nil {
		return false, err
	}
	added, err := s.change(ctx, `INSERT INTO kv_values (key, value, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
		WHERE kv_values.expires_at <= $4`,
		[]byte(key), bytes(value), s.expiry(ttl), s.now())
	return added, failed(ctx, "add", err)
}

// Swap replaces old by value. The condition is checked again on the locked row, so of many callers one wins.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if err := kv.CheckWrite(key, ttl); err != nil {
		return false, err
	}
	swapped, err := s.change(ctx, `UPDATE kv_values SET value = $1, expires_at = $2
		WHERE key = $3 AND value = $4 AND expires_at > $5`,
		bytes(value), s.expiry(ttl), []byte(key), bytes(old), s.now())
	return swapped, failed(ctx, "swap", err)
}

// Delete removes the keys, in one transaction for each batch.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	if err := kv.CheckKeys(keys...); err != nil {
		return err
	}
	sorted := slices.Sorted(slices.Values(keys)) // callers that delete the same keys lock them in the same order
	const batch = 500
	for some := range slices.Chunk(sorted, batch) {
		if err := s.write(ctx, func(tx *sqldb.Tx) error { return remove(ctx, tx, some) }); err != nil {
			return failed(ctx, "delete", err)
		}
	}
	return nil
}

func remove(ctx context.Context, tx *sqldb.Tx, keys []string) error {
	args := make([]any, len(keys))
	for i, key := range keys {
		args[i] = []byte(key)
	}
	list := sqldb.In(1, len(keys))
	if _, err := tx.Exec(ctx, `DELETE FROM kv_values WHERE key IN (`+list+`)`, args...); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM kv_limits WHERE key IN (`+list+`)`, args...)
	return err
}

// change runs one statement and tells whether it changed a row.
func (s *Store) change(ctx context.Context, query string, args ...any) (changed bool, err error) {
	err = s.write(ctx, func(tx *sqldb.Tx) error {
		rows, err := tx.Exec(ctx, query, args...)
		changed = rows > 0
		return err
	})
	return changed && err == nil, err
}

// bytes makes no value an empty one: nil would be stored as NULL.
func bytes(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
