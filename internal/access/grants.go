package access

import (
	"context"
	"embed"
	"io/fs"
	"strings"

	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of the access rules, shared by every service.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "access", Files: files}
}

// Role is what a caller is to a workspace: owner, editor, or a role that the security document declares.
type Role string

// The built-in roles of a workspace.
const (
	None   Role = ""
	Owner  Role = "owner"
	Editor Role = "editor"
)

const (
	// Everyone is the grant target that stands for the public.
	Everyone = "*"
	// rolePrefix begins a grant target that stands for the holders of a role.
	rolePrefix = "role:"
	// superAdmins is the grant target that stands for every super admin.
	superAdmins = rolePrefix + RoleSuperAdmin
)

// ObjectGrant is what was shared of a workspace or of a page with a target: a user id, * for everyone, or role:{name} for
// the holders of a role in the workspace.
type ObjectGrant struct {
	SubjectType string
	SubjectID   string
	WorkspaceID string
	Target      string
	Role        Role
	Policies    Policies
}

// Policies are single permissions on an object. Each allows the action of its name, write also update; create is kept
// for clients that send it and allows nothing, because an object that exists is not created.
type Policies struct {
	Read              bool `json:"read,omitempty"`
	Write             bool `json:"write,omitempty"`
	Update            bool `json:"update,omitempty"`
	Create            bool `json:"create,omitempty"`
	ManagePermissions bool `json:"manage_permissions,omitempty"`
}

const (
	readBit = 1 << iota
	writeBit
	updateBit
	createBit
	managePermissionsBit
)

func (p Policies) bits() (bits int64) {
	for bit, set := range map[int64]bool{
		readBit: p.Read, writeBit: p.Write, updateBit: p.Update, createBit: p.Create, managePermissionsBit: p.ManagePermissions,
	} {
		if set {
			bits |= bit
		}
	}
	return bits
}

func policiesOf(bits int64) Policies {
	return Policies{
		Read: bits&readBit != 0, Write: bits&writeBit != 0, Update: bits&updateBit != 0, Create: bits&createBit != 0,
		ManagePermissions: bits&managePermissionsBit != 0,
	}
}

// actions lists what the policies allow.
func (p Policies) actions() (actions []string) {
	if p.Read {
		actions = append(actions, ActionRead)
	}
	if p.Write {
		actions = append(actions, ActionWrite, ActionUpdate)
	}
	if p.Update && !p.Write {
		actions = append(actions, ActionUpdate)
	}
	if p.ManagePermissions {
		actions = append(actions, ActionManagePermissions)
	}
	return actions
}

func (g ObjectGrant) onWorkspace() bool { return g.SubjectType == SubjectWorkspaces }

// roleTarget gives the role whose holders the grant is for.
func (g ObjectGrant) roleTarget() (string, bool) { return strings.CutPrefix(g.Target, rolePrefix) }

// storedTarget is how the table names a target; shownTarget is the way back.
func storedTarget(target string) string {
	if target == Everyone || strings.HasPrefix(target, rolePrefix) {
		return target
	}
	return userTarget(target)
}

func shownTarget(stored string) string { return strings.TrimPrefix(stored, userTarget("")) }

// Grant gives the caller of ctx a role in a workspace, without asking: it is for the author of a new one.
func Grant(ctx context.Context, tx *sqldb.Tx, workspaceID string, role Role) error {
	return put(ctx, tx, ObjectGrant{
		SubjectType: SubjectWorkspaces, SubjectID: workspaceID, WorkspaceID: workspaceID, Target: From(ctx).UserID, Role: role,
	})
}

// GrantSuperAdmins makes a workspace one of the platform: super admins own it, and nobody else until it is shared.
func GrantSuperAdmins(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	return put(ctx, tx, ObjectGrant{
		SubjectType: SubjectWorkspaces, SubjectID: workspaceID, WorkspaceID: workspaceID, Target: superAdmins, Role: Owner,
	})
}

func put(ctx context.Context, tx *sqldb.Tx, g ObjectGrant) error {
	_, err := tx.Exec(ctx, `INSERT INTO access_grants (workspace_id, subject_type, subject_id, target, role, policies)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (subject_type, subject_id, target) DO UPDATE SET role = excluded.role, policies = excluded.policies`,
		g.WorkspaceID, g.SubjectType, g.SubjectID, storedTarget(g.Target), string(g.Role), g.Policies.bits())
	return err
}

// GrantsOf lists what was shared of an object, people first. The grant of super admins is not listed: it is not shared.
func GrantsOf(ctx context.Context, r sqldb.Reader, subjectType, subjectID string) ([]ObjectGrant, error) {
	return sqldb.All(ctx, r, scanGrant, `SELECT `+grantColumns+` FROM access_grants
		WHERE subject_type = $1 AND subject_id = $2 AND target <> $3 ORDER BY target DESC`, subjectType, subjectID, superAdmins)
}

// Owners lists the ids of the users who own a workspace.
func Owners(ctx context.Context, r sqldb.Reader, workspaceID string) ([]string, error) {
	grants, err := sqldb.All(ctx, r, scanGrant, `SELECT `+grantColumns+` FROM access_grants
		WHERE subject_type = 'workspaces' AND subject_id = $1 AND role = 'owner' AND target LIKE 'user:%' ORDER BY target`, workspaceID)
	if err != nil {
		return nil, err
	}
	owners := make([]string, 0, len(grants))
	for _, g := range grants {
		owners = append(owners, g.Target)
	}
	return owners, nil
}

// RevokeAll removes everything that is known about the access to a workspace that is being deleted: grants, also on its
// pages, the security document, the API keys and the topics.
func RevokeAll(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	for _, statement := range []string{
		`DELETE FROM access_grants WHERE workspace_id = $1`,
		`DELETE FROM access_security WHERE workspace_id = $1`,
		`DELETE FROM access_api_keys WHERE workspace_id = $1`,
		`DELETE FROM access_topics WHERE workspace_id = $1`,
		`DELETE FROM access_topic_members WHERE workspace_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, workspaceID); err != nil {
			return err
		}
	}
	return nil
}

// TargetUser is how the table of grants names an account.
func TargetUser(userID string) string { return userTarget(userID) }

// SharedWorkspaces is the query of the workspaces that are shared with a target, given as a parameter such as $1.
func SharedWorkspaces(target string) string {
	return `SELECT workspace_id FROM access_grants WHERE subject_type = 'workspaces' AND target = ` + target
}

// OwnedWorkspaces is the query of the workspaces that a target owns, given as a parameter such as $1.
func OwnedWorkspaces(target string) string { return SharedWorkspaces(target) + ` AND role = 'owner'` }

// parked is the id under which the access to a workspace in the bin is kept: none that a workspace can have.
func parked(workspaceID string) string { return "bin:" + workspaceID }

func isParked(workspaceID string) bool { return strings.HasPrefix(workspaceID, parked("")) }

// Park puts everything that is known about the access to a workspace aside: until Unpark nobody has any, and the API keys
// are not known.
func Park(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	return move(ctx, tx, workspaceID, parked(workspaceID))
}

// Unpark gives a workspace the access back that Park put aside.
func Unpark(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	return move(ctx, tx, parked(workspaceID), workspaceID)
}

// RevokeParked removes what Park put aside, for good, and whatever came after it.
func RevokeParked(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	if err := RevokeAll(ctx, tx, workspaceID); err != nil {
		return err
	}
	return RevokeAll(ctx, tx, parked(workspaceID))
}

// move renames a workspace in all tables. What is moved takes the place of what is there: it can always be done.
func move(ctx context.Context, tx *sqldb.Tx, from, to string) error {
	for _, statement := range []string{
		`DELETE FROM access_grants WHERE subject_type = 'workspaces' AND subject_id = $1 AND target IN
			(SELECT target FROM access_grants WHERE subject_type = 'workspaces' AND subject_id = $2)`,
		`DELETE FROM access_security WHERE workspace_id = $1 AND EXISTS (SELECT 1 FROM access_security WHERE workspace_id = $2)`,
		`UPDATE access_grants SET subject_id = $1 WHERE subject_type = 'workspaces' AND subject_id = $2`,
		`UPDATE access_grants SET workspace_id = $1 WHERE workspace_id = $2`,
		`UPDATE access_security SET workspace_id = $1 WHERE workspace_id = $2`,
		`UPDATE access_api_keys SET workspace_id = $1 WHERE workspace_id = $2`,
		`DELETE FROM access_topics WHERE workspace_id = $1 AND topic IN (SELECT topic FROM access_topics WHERE workspace_id = $2)`,
		`UPDATE access_topics SET workspace_id = $1 WHERE workspace_id = $2`,
		`DELETE FROM access_topic_members WHERE workspace_id = $1 AND (user_id, topic) IN (SELECT user_id, topic FROM access_topic_members WHERE workspace_id = $2)`,
		`UPDATE access_topic_members SET workspace_id = $1 WHERE workspace_id = $2`,
	} {
		if _, err := tx.Exec(ctx, statement, to, from); err != nil {
			return err
		}
	}
	return nil
}

// ParkedOwner is the query of the workspaces in the bin that a target owned, given as a parameter such as $1.
func ParkedOwner(target string) string {
	return `SELECT SUBSTR(workspace_id, 5) FROM access_grants WHERE subject_type = 'workspaces' AND workspace_id LIKE 'bin:%' AND role = 'owner' AND target = ` + target
}

// userTarget is how grants name an account.
func userTarget(userID string) string { return "user:" + userID }

// RevokeUser removes the grants of an account that is being deleted, and takes it out of all topics. Workspaces that nobody else owns go to the super
// admins, so that none is without an owner; their ids are returned.
func RevokeUser(ctx context.Context, tx *sqldb.Tx, userID string) ([]string, error) {
	owned, err := sqldb.All(ctx, tx, scanGrant, `SELECT `+grantColumns+` FROM access_grants
		WHERE target = $1 AND subject_type = 'workspaces' AND role = 'owner'`, userTarget(userID))
	if err != nil {
		return nil, err
	}
	var orphans []string
	for _, g := range owned {
		others, err := lockOwners(ctx, tx, g.WorkspaceID, userTarget(userID))
		if err != nil {
			return nil, err
		}
		if others > 0 {
			continue
		}
		if !isParked(g.WorkspaceID) {
			orphans = append(orphans, g.WorkspaceID)
		}
		if err := GrantSuperAdmins(ctx, tx, g.WorkspaceID); err != nil {
			return nil, err
		}
	}
	if _, err = tx.Exec(ctx, `DELETE FROM access_grants WHERE target = $1`, userTarget(userID)); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM access_topic_members WHERE user_id = $1`, userID)
	return orphans, err
}

// lockOwners holds off others who change the owners of a workspace, and counts the owners besides one.
func lockOwners(ctx context.Context, tx *sqldb.Tx, workspaceID, besides string) (others int, err error) {
	_, err = tx.Exec(ctx, `UPDATE access_grants SET role = role WHERE subject_type = 'workspaces' AND subject_id = $1 AND role = 'owner'`, workspaceID)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM access_grants
		WHERE subject_type = 'workspaces' AND subject_id = $1 AND role = 'owner' AND target <> $2`, workspaceID, besides).Scan(&others)
	return others, err
}
