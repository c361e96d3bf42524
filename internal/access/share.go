package access

import (
	"context"
	"slices"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Share stores a grant for the caller, who has been allowed to manage_permissions on the object. It replaces what the
// target had. Owners may share everything; others only what they hold themselves: the actions of the policies, and every
// action of the rules of the role, on every object of the workspace. The last owner of a workspace stays one.
func (a *Ability) Share(ctx context.Context, tx *sqldb.Tx, g ObjectGrant) (ObjectGrant, error) {
	g.WorkspaceID = a.workspaceID
	if g.onWorkspace() {
		g.SubjectID = a.workspaceID
	}
	if err := a.validGrant(g); err != nil {
		return g, err
	}
	if err := a.mayShare(g); err != nil {
		return g, err
	}
	if err := a.mayShareRole(ctx, tx, g.Role); err != nil {
		return g, err
	}
	if g.Role != Owner || !g.onWorkspace() {
		if err := a.keepOwner(ctx, tx, g); err != nil {
			return g, err
		}
	}
	if err := samePlace(ctx, tx, g); err != nil {
		return g, err
	}
	if err := put(ctx, tx, g); err != nil || g.Target != Everyone || g.Role == None {
		return g, err
	}
	return g, ownersKeepShared(ctx, tx, a.workspaceID) // owners have the role of everyone too
}

// Unshare removes the grant of a target for the caller, who has been allowed to manage_permissions on the object.
func (a *Ability) Unshare(ctx context.Context, tx *sqldb.Tx, g ObjectGrant) error {
	g.WorkspaceID = a.workspaceID
	if g.onWorkspace() {
		g.SubjectID = a.workspaceID
	}
	if g.Target == superAdmins {
		return errs.Missing("permissions", g.Target)
	}
	if err := a.keepOwner(ctx, tx, g); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `DELETE FROM access_grants WHERE subject_type = $1 AND subject_id = $2 AND target = $3 AND workspace_id = $4`,
		g.SubjectType, g.SubjectID, storedTarget(g.Target), a.workspaceID)
	if err == nil && n == 0 {
		return errs.Missing("permissions", g.Target)
	}
	return err
}

// keepOwner refuses to take ownership from the last owner, or by somebody who is not an owner.
func (a *Ability) keepOwner(ctx context.Context, tx *sqldb.Tx, g ObjectGrant) error {
	if !g.onWorkspace() {
		return nil
	}
	others, err := lockOwners(ctx, tx, a.workspaceID, storedTarget(g.Target))
	if err != nil {
		return err
	}
	var role Role
	err = tx.QueryRow(ctx, `SELECT role FROM access_grants WHERE subject_type = 'workspaces' AND subject_id = $1 AND target = $2`,
		a.workspaceID, storedTarget(g.Target)).Scan(&role)
	switch {
	case sqldb.IsNotFound(err) || err == nil && role != Owner:
		return nil
	case err != nil:
		return err
	case others == 0:
		return errs.New(errs.Conflict, "This is the last owner of the workspace; make somebody else an owner first.").With("reason", "last owner")
	case !a.IsOwner():
		return errs.New(errs.PermissionDenied, "Only an owner can take ownership from another.")
	default:
		return nil
	}
}

// samePlace refuses an object id that belongs to another workspace.
func samePlace(ctx context.Context, tx *sqldb.Tx, g ObjectGrant) error {
	var other string
	err := tx.QueryRow(ctx, `SELECT workspace_id FROM access_grants WHERE subject_type = $1 AND subject_id = $2 AND workspace_id <> $3 LIMIT 1`,
		g.SubjectType, g.SubjectID, g.WorkspaceID).Scan(&other)
	if sqldb.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = errs.Missing(g.SubjectType, g.SubjectID)
	}
	return err
}

func (a *Ability) validGrant(g ObjectGrant) error {
	p := &problems{}
	if g.SubjectType != SubjectWorkspaces && g.SubjectType != SubjectPages {
		p.add("subjectType", "workspaces and pages can be shared")
	}
	if g.SubjectID == "" {
		p.add("subjectId", "the id of the object is required")
	}
	a.validTarget(g, p)
	if g.Role == None && g.Policies == (Policies{}) {
		p.add("permissions", "a role or policies are required")
	}
	if spec, declared := a.security().role(string(g.Role)); g.Role != None && g.Role != Owner && g.Role != Editor && (!declared || spec.ForAutomations()) {
		p.add("permissions.role", "the role is not declared in the security document of the workspace")
	}
	return p.err()
}

func (a *Ability) validTarget(g ObjectGrant, p *problems) {
	name, isRole := g.roleTarget()
	spec, declared := a.security().role(name)
	switch {
	case g.Target == "":
		p.add("target", "an id, public or a role is required")
	case len(g.Target) > 200 || strings.ContainsAny(g.Target, "\x00\n"):
		p.add("target.id", "this is not the id of a user")
	case !isRole:
	case name != string(Editor) && name != string(Owner) && (!declared || spec.ForAutomations()):
		p.add("target.role", "the role is not declared in the security document of the workspace")
	case g.Role != None:
		p.add("permissions.role", "a role can be given policies, not another role")
	}
	if g.Target == Everyone && g.Role == Owner {
		p.add("permissions.role", "everyone cannot be the owner")
	}
}

func (a *Ability) security() Security {
	if a.doc == nil {
		return Security{}
	}
	return a.doc.sec
}

// mayShare refuses to give what the caller does not hold.
func (a *Ability) mayShare(g ObjectGrant) error {
	if a.IsOwner() {
		return nil
	}
	if g.Role == Owner {
		return errs.New(errs.PermissionDenied, "Only an owner can make somebody an owner.")
	}
	for _, action := range g.Policies.actions() {
		if !a.holds(action, g.SubjectType) && (g.onWorkspace() || !a.holdsPage(action, g.SubjectID)) {
			return notYours(action, g.SubjectType)
		}
	}
	if g.Role == None {
		return nil
	}
	if a.doc == nil { // an API key does not know the roles
		return notYours(ActionManage, g.SubjectType)
	}
	if err := a.mayGive(allow([]string{ActionRead}, g.SubjectType)); err != nil {
		return err
	}
	rules := a.doc.rulesOf(string(g.Role))
	if g.Target == Everyone && slices.ContainsFunc(rules, func(r Rule) bool { return r.Inverted }) {
		return errs.New(errs.PermissionDenied, "Only an owner can give everyone a role with inverted rules: they would hold for owners too.")
	}
	return a.mayGiveAll(rules)
}

// mayShareRole refuses to give a role through which more is shared than the caller holds.
func (a *Ability) mayShareRole(ctx context.Context, tx *sqldb.Tx, role Role) error {
	if role == None || a.IsOwner() {
		return nil
	}
	shared, err := sqldb.All(ctx, tx, scanGrant, `SELECT `+grantColumns+` FROM access_grants WHERE workspace_id = $1 AND target = $2`,
		a.workspaceID, rolePrefix+string(role))
	if err != nil {
		return err
	}
	for _, g := range shared {
		if err := a.mayShare(g); err != nil {
			return err
		}
	}
	return nil
}

// holdsPage tells whether the caller may do something with one page, whatever its fields are.
func (a *Ability) holdsPage(action, pageID string) bool {
	for c := range a.candidates(SubjectPages, false) {
		if !c.rule.covers(action) && (!c.rule.inverted || action != ActionManage) {
			continue
		}
		if c.rule.inverted {
			return false
		}
		id, named := c.rule.written["id"]
		onlyID := c.rule.ref.Source == FromGrant && named && id == pageID
		within := c.within == nil || c.within[0].tests[0].one(scalar{kind: isText, text: pageID})
		if (c.rule.unconditional() || onlyID) && within {
			return true
		}
	}
	return false
}
