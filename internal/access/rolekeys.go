package access

import (
	"context"
	"database/sql"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// keepRoleKeys makes a key for every role for automations that has none, keeps those that are there, and removes those of
// roles that are gone. Such a key has no secret: only the runtime can act with it, by the name of the role.
func (e *Enforcer) keepRoleKeys(ctx context.Context, tx *sqldb.Tx, workspaceID string, sec Security) error {
	have, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (APIKey, error) { return scanKey(rows.Scan) },
		`SELECT `+keyColumns+` FROM access_api_keys WHERE workspace_id = $1 AND role <> ''`, workspaceID)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, key := range have {
		if spec, _ := sec.role(key.Role); spec.ForAutomations() {
			kept[key.Role] = true
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM access_api_keys WHERE id = $1`, key.ID); err != nil {
			return err
		}
	}
	for _, name := range sec.declared() {
		if spec, _ := sec.role(name); !spec.ForAutomations() || kept[name] {
			continue
		}
		key := APIKey{
			ID: e.ids.UUID(), WorkspaceID: workspaceID, Role: name, CreatedAt: e.clock.Now(), CreatedBy: From(ctx).Key(),
		}
		if err := insertKey(ctx, tx, key, "role:"+key.ID); err != nil {
			return err
		}
	}
	return nil
}

// RoleKey gives the caller that an automation acts as when it uses a role with auth.apiKey.
func RoleKey(ctx context.Context, r sqldb.Reader, workspaceID, role string) (Principal, error) {
	key, err := scanKey(r.QueryRow(ctx, `SELECT `+keyColumns+` FROM access_api_keys WHERE workspace_id = $1 AND role = $2 AND role <> ''`,
		workspaceID, role).Scan)
	if sqldb.IsNotFound(err) {
		return Principal{}, errs.Missing("roles", shorten(role))
	}
	return key.principal(), err
}
