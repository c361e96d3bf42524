package access

import (
	"context"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// LoadRole reads what somebody may do in a workspace who has one role there and is nothing else, for questions about roles.
// A role for automations is that of their key. resource_not_found when the workspace has no such role.
func (e *Enforcer) LoadRole(ctx context.Context, r sqldb.Reader, workspaceID, role string) (*Ability, error) {
	doc, err := e.document(ctx, r, workspaceID)
	if err != nil {
		return nil, err
	}
	if _, declared := doc.bits[role]; !declared {
		return nil, errs.Missing("roles", shorten(role))
	}
	if spec, _ := doc.sec.role(role); spec.ForAutomations() {
		key, err := RoleKey(ctx, r, workspaceID, role)
		if err != nil {
			return nil, err
		}
		return e.loadKey(ctx, r, key, workspaceID)
	}
	somebody := Principal{Kind: User}
	grants, err := grantsFor(ctx, r, somebody, workspaceID)
	if err != nil {
		return nil, err
	}
	a := &Ability{caller: somebody, workspaceID: workspaceID, exists: true, doc: doc}
	a.take(append([]ObjectGrant{{SubjectType: SubjectWorkspaces, SubjectID: workspaceID, WorkspaceID: workspaceID, Role: Role(role)}}, grants...))
	return a, nil
}
