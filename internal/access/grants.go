package access

import (
	"context"
	"embed"
	"io/fs"
	"slices"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of the access rules, shared by every service.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "access", Files: files}
}

// Role is what a caller is to a workspace.
type Role string

// The roles of a workspace.
const (
	None   Role = ""
	Owner  Role = "owner"
	Editor Role = "editor"
)

// superAdmins is the grant target that stands for every super admin.
const superAdmins = "role:superadmin"

// RoleIn is the caller's role in a workspace. A super admin owns every workspace that exists. For a workspace that the
// caller has no role in, and for one that does not exist, the answer is the same workspace_access_denied; only a super
// admin is told that it does not exist.
func RoleIn(ctx context.Context, r sqldb.Reader, workspaceID string) (Role, error) {
	p := From(ctx)
	if p.SuperAdmin {
		return roleOfSuperAdmin(ctx, r, workspaceID)
	}
	var role Role
	err := r.QueryRow(ctx, `SELECT role FROM access_grants WHERE workspace_id = $1 AND target = $2`, workspaceID, p.Target()).Scan(&role)
	if sqldb.IsNotFound(err) || err == nil && p.UserID == "" {
		return None, errs.New(errs.WorkspaceAccessDenied, "You have no access to this workspace, or it does not exist.").
			With("workspaceId", workspaceID)
	}
	return role, err
}

func roleOfSuperAdmin(ctx context.Context, r sqldb.Reader, workspaceID string) (Role, error) {
	var count int
	err := r.QueryRow(ctx, `SELECT COUNT(*) FROM access_grants WHERE workspace_id = $1`, workspaceID).Scan(&count)
	if err != nil {
		return None, err
	}
	if count == 0 {
		return None, errs.Missing("workspaces", workspaceID)
	}
	return Owner, nil
}

// Require fails with permission_denied unless the caller has one of the roles in the workspace.
func Require(ctx context.Context, r sqldb.Reader, workspaceID string, roles ...Role) error {
	have, err := RoleIn(ctx, r, workspaceID)
	if err != nil {
		return err
	}
	if slices.Contains(roles, have) {
		return nil
	}
	return errs.New(errs.PermissionDenied, "Your role in this workspace does not allow this.").With("role", string(have))
}

// Grant gives the caller of ctx a role in a workspace.
func Grant(ctx context.Context, tx *sqldb.Tx, workspaceID string, role Role) error {
	return grant(ctx, tx, workspaceID, From(ctx).Target(), role)
}

// GrantSuperAdmins makes a workspace one of the platform: super admins own it, and nobody else until it is shared.
func GrantSuperAdmins(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	return grant(ctx, tx, workspaceID, superAdmins, Owner)
}

func grant(ctx context.Context, tx *sqldb.Tx, workspaceID, target string, role Role) error {
	_, err := tx.Exec(ctx, `INSERT INTO access_grants (workspace_id, target, role) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, target) DO UPDATE SET role = excluded.role`, workspaceID, target, role)
	return err
}

// RevokeAll removes every grant of a workspace that is being deleted.
func RevokeAll(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM access_grants WHERE workspace_id = $1`, workspaceID)
	return err
}
