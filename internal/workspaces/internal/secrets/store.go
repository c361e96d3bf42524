package secrets

import (
	"context"
	"database/sql"

	"atelier/internal/access"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// firstFree is the first parameter that a filter of list may use.
const firstFree = 2

// all is the filter of services: every secret.
func all() access.Filter { return access.Filter{SQL: "TRUE", Everything: true} }

// list reads the secrets of a workspace that fulfil a condition, by name.
func list(ctx context.Context, r sqldb.Reader, workspaceID string, some access.Filter) ([]Secret, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (s Secret, err error) {
		var created, updated int64
		err = rows.Scan(&s.Name, &s.ID, &s.Description, &s.version, &created, &s.CreatedBy, &updated, &s.UpdatedBy)
		s.CreatedAt, s.UpdatedAt = sqldb.Time(created), sqldb.Time(updated)
		return s, err
	}, `SELECT name, id, description, version, created_at, created_by, updated_at, updated_by FROM ws_secrets
		WHERE workspace_id = $1 AND `+some.SQL+` ORDER BY name`, append([]any{workspaceID}, some.Args...)...)
}

// upsert stores a secret with a value.
func upsert(ctx context.Context, tx *sqldb.Tx, workspaceID string, s Secret, value vault.Sealed) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_secrets (workspace_id, name, id, description, version, key_id, data_key, data, created_at, created_by, updated_at, updated_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (workspace_id, name) DO UPDATE SET description = excluded.description, version = excluded.version, key_id = excluded.key_id,
			data_key = excluded.data_key, data = excluded.data, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		workspaceID, s.Name, s.ID, s.Description, s.version, value.KeyID, value.Key, value.Data,
		sqldb.Millis(s.CreatedAt), s.CreatedBy, sqldb.Millis(s.UpdatedAt), s.UpdatedBy)
	return err
}

// describe changes the description of a secret and leaves its value.
func describe(ctx context.Context, tx *sqldb.Tx, workspaceID string, s Secret) error {
	_, err := tx.Exec(ctx, `UPDATE ws_secrets SET description = $1, updated_at = $2, updated_by = $3 WHERE workspace_id = $4 AND name = $5`,
		s.Description, sqldb.Millis(s.UpdatedAt), s.UpdatedBy, workspaceID, s.Name)
	return err
}

// remove deletes a secret and tells whether there was one.
func remove(ctx context.Context, tx *sqldb.Tx, workspaceID, name string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ws_secrets WHERE workspace_id = $1 AND name = $2`, workspaceID, name)
	return n == 1, err
}

// Purge deletes the secrets of a workspace that is gone for good.
func Purge(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM ws_secrets WHERE workspace_id = $1`, workspaceID)
	return err
}

// stored is a value as it is stored.
type stored struct {
	name    string
	version int64
	vault.Sealed
}

func sealed(ctx context.Context, r sqldb.Reader, workspaceID string) ([]stored, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (s stored, err error) {
		err = rows.Scan(&s.name, &s.version, &s.KeyID, &s.Key, &s.Data)
		return s, err
	}, `SELECT name, version, key_id, data_key, data FROM ws_secrets WHERE workspace_id = $1 ORDER BY name`, workspaceID)
}

// wrapped is the wrapped key of a value, without the value.
type wrapped struct {
	workspaceID, name string
	vault.Sealed
}

// wrappedAfter reads the next wrapped keys of all workspaces after one.
func wrappedAfter(ctx context.Context, r sqldb.Reader, last wrapped, limit int) ([]wrapped, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (w wrapped, err error) {
		err = rows.Scan(&w.workspaceID, &w.name, &w.KeyID, &w.Key)
		return w, err
	}, `SELECT workspace_id, name, key_id, data_key FROM ws_secrets WHERE workspace_id > $1 OR (workspace_id = $1 AND name > $2)
		ORDER BY workspace_id, name LIMIT $3`, last.workspaceID, last.name, limit)
}

// setKey replaces the wrapped key of a value, unless the value has another one by now, and tells how many it replaced.
func setKey(ctx context.Context, tx *sqldb.Tx, change rewrapped) (int, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_secrets SET key_id = $1, data_key = $2 WHERE workspace_id = $3 AND name = $4 AND data_key = $5`,
		change.after.KeyID, change.after.Key, change.after.workspaceID, change.after.name, change.before.Key)
	return int(n), err
}
