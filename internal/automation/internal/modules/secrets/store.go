package secrets

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// place is what a sealed value is bound to: as an older value of the same secret, or of another one, it cannot be opened.
func (k key) place(valueID string) string {
	parts := []string{k.workspaceID, k.space, k.scope, k.owner, k.name, valueID}
	for i, part := range parts {
		parts[i] = strconv.Quote(part) // so that nothing in one part passes for another
	}
	return "runtime/secrets/" + strings.Join(parts, "/")
}

// exists tells whether there is a secret that has not expired.
func (s *Secrets) exists(ctx context.Context, r sqldb.Reader, k key) (bool, error) {
	var one int
	err := r.QueryRow(ctx, `SELECT 1 FROM run_secrets WHERE workspace_id = $1 AND space = $2 AND scope = $3 AND owner = $4 AND name = $5
		AND (expires_at = 0 OR expires_at > $6)`, k.workspaceID, k.space, k.scope, k.owner, k.name, s.now()).Scan(&one)
	if sqldb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// count tells how many secrets the owner of one has, and all of the workspace together.
func count(ctx context.Context, r sqldb.Reader, k key) (owned, all int, err error) {
	err = r.QueryRow(ctx, `SELECT COALESCE(SUM(CASE WHEN space = $2 AND scope = $3 AND owner = $4 THEN 1 ELSE 0 END), 0), COUNT(*)
		FROM run_secrets WHERE workspace_id = $1`, k.workspaceID, k.space, k.scope, k.owner).Scan(&owned, &all)
	return owned, all, err
}

// put stores a value; ttl is in seconds, 0 for ever.
func (s *Secrets) put(ctx context.Context, tx *sqldb.Tx, k key, secret string, ttl int64) error {
	const millis = 1000
	id, now := s.deps.IDs.UUID(), s.now()
	sealed, err := s.deps.Vault.Seal(k.place(id), []byte(secret))
	if err != nil {
		return fmt.Errorf("seal a secret: %w", err)
	}
	expires := int64(0)
	if ttl > 0 {
		expires = now + ttl*millis
	}
	_, err = tx.Exec(ctx, `INSERT INTO run_secrets (workspace_id, space, scope, owner, name, value_id, key_id, data_key, data, created_at, updated_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)
		ON CONFLICT (workspace_id, space, scope, owner, name) DO UPDATE SET value_id = excluded.value_id, key_id = excluded.key_id,
			data_key = excluded.data_key, data = excluded.data, updated_at = excluded.updated_at, expires_at = excluded.expires_at`,
		k.workspaceID, k.space, k.scope, k.owner, k.name, id, sealed.KeyID, sealed.Key, sealed.Data, now, expires)
	return err
}

// open gives a value; false when there is none any more.
func (s *Secrets) open(ctx context.Context, k key) (string, bool, error) {
	var id string
	var sealed vault.Sealed
	err := s.deps.DB.QueryRow(ctx, `SELECT value_id, key_id, data_key, data FROM run_secrets
		WHERE workspace_id = $1 AND space = $2 AND scope = $3 AND owner = $4 AND name = $5 AND (expires_at = 0 OR expires_at > $6)`,
		k.workspaceID, k.space, k.scope, k.owner, k.name, s.now()).Scan(&id, &sealed.KeyID, &sealed.Key, &sealed.Data)
	if sqldb.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	plain, err := s.deps.Vault.Open(k.place(id), sealed)
	if err != nil {
		return "", false, fmt.Errorf("a secret of workspace %s: %w", k.workspaceID, err)
	}
	return string(plain), true, nil
}

// remove deletes a secret, and tells whether there was one that had not expired.
func (s *Secrets) remove(ctx context.Context, tx *sqldb.Tx, k key) (bool, error) {
	existed, err := s.exists(ctx, tx, k)
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM run_secrets WHERE workspace_id = $1 AND space = $2 AND scope = $3 AND owner = $4 AND name = $5`,
		k.workspaceID, k.space, k.scope, k.owner, k.name)
	return existed, err
}

// PurgeWorkspace deletes the secrets of a workspace that is gone for good.
func PurgeWorkspace(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM run_secrets WHERE workspace_id = $1`, workspaceID)
	return err
}

// Tidy deletes the secrets that have expired, some at a time, and tells how many they were.
func (s *Secrets) Tidy(ctx context.Context) (int, error) {
	const some = 500
	for total := 0; ; {
		var n int64
		err := s.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
			n, err = tx.Exec(ctx, `DELETE FROM run_secrets WHERE value_id IN
				(SELECT value_id FROM run_secrets WHERE expires_at > 0 AND expires_at <= $1 ORDER BY expires_at LIMIT $2)`, s.now(), some)
			return err
		})
		total += int(n)
		if err != nil || n < some {
			return total, err
		}
	}
}
