package contexts

import (
	"context"
	"fmt"
	"time"

	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// read gives a context as it is stored. Its text comes over only when it is not the one that is known.
func (s *Store) read(ctx context.Context, k key, known *entry) (*entry, error) {
	have := int64(-1)
	if known != nil {
		have = known.version
	}
	begun := s.cache.begin(k)
	var text string
	found := &entry{value: value.NewObject(0)}
	err := s.deps.DB.QueryRow(ctx, `SELECT CASE WHEN version = $4 THEN '' ELSE value END, version, expires_at FROM rt_contexts
		WHERE workspace_id = $1 AND kind = $2 AND id = $3`, k.workspaceID, k.kind, k.id, have).Scan(&text, &found.version, &found.expires)
	switch {
	case sqldb.IsNotFound(err):
	case err != nil:
		return nil, err
	case found.version == have:
		found.value, found.size = known.value, known.size
	default:
		if found.value, err = decode(text); err != nil {
			return nil, err
		}
		found.size = len(text)
	}
	s.cache.loaded(k, found, begun)
	return found, nil
}

// lock gives a context as it is stored, and keeps others from changing it until the transaction ends. The version is that of
// the change to come. Its text comes over only when it is not the one that is known.
func (s *Store) lock(ctx context.Context, tx *sqldb.Tx, k key, known *entry) (*entry, error) {
	const perMilli = 1 << 10 // a row that comes back has a later version than it ever had
	first := sqldb.Millis(s.deps.Clock.Now()) * perMilli
	after := int64(-1)
	if known != nil {
		after = known.version + 1
	}
	var text string
	found := &entry{}
	err := tx.QueryRow(ctx, `INSERT INTO rt_contexts (workspace_id, kind, id, value, version, expires_at) VALUES ($1, $2, $3, '{}', $4, 0)
		ON CONFLICT (workspace_id, kind, id) DO UPDATE SET version = rt_contexts.version + 1
		RETURNING CASE WHEN version = $5 THEN '' ELSE value END, version, expires_at`,
		k.workspaceID, k.kind, k.id, first, after).Scan(&text, &found.version, &found.expires)
	switch {
	case err != nil:
		return nil, err
	case found.version == after:
		found.value = known.value
	default:
		found.value, err = decode(text)
	}
	return found, err
}

// write stores the new value of a context that is locked.
func (s *Store) write(ctx context.Context, tx *sqldb.Tx, k key, e *entry, text string) error {
	_, err := tx.Exec(ctx, `UPDATE rt_contexts SET value = $4, expires_at = $5 WHERE workspace_id = $1 AND kind = $2 AND id = $3`,
		k.workspaceID, k.kind, k.id, text, e.expires)
	return err
}

// prolong lets a context that has not expired last until a time at least.
func (s *Store) prolong(ctx context.Context, k key, until time.Time) error {
	err := s.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE rt_contexts SET expires_at = $4
			WHERE workspace_id = $1 AND kind = $2 AND id = $3 AND expires_at > $5 AND expires_at < $4`,
			k.workspaceID, k.kind, k.id, sqldb.Millis(until), sqldb.Millis(s.deps.Clock.Now()))
		return err
	})
	s.cache.forget(k)
	return err
}

// decode reads a stored context.
func decode(text string) (*value.Object, error) {
	v, err := value.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("read a stored context: %w", err)
	}
	object, ok := v.(*value.Object)
	if !ok {
		return nil, fmt.Errorf("a stored context is no object but a %T", v)
	}
	return object, nil
}
