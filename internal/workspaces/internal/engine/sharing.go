package engine

import (
	"context"
	"strings"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// RolePrefix begins the target of a grant to the holders of a role.
const RolePrefix = "role:"

// Shareable names what can be shared: a workspace, or one of its pages.
type Shareable struct {
	// Type is access.SubjectWorkspaces or access.SubjectPages.
	Type string
	// Ref is how the caller names it: a workspace by its id, or slug: and its slug; a page by its id.
	Ref string
}

// Shared is a grant, and what people call whom it is for.
type Shared struct {
	access.ObjectGrant

	DisplayName string
}

// TargetType tells what kind of target the grant has: users, roles or public.
func (s Shared) TargetType() string {
	switch {
	case s.Target == access.Everyone:
		return "public"
	case strings.HasPrefix(s.Target, RolePrefix):
		return "roles"
	default:
		return "users"
	}
}

// Permissions lists with whom something is shared.
func (e *Engine) Permissions(ctx context.Context, of Shareable) ([]Shared, error) {
	_, subject, err := e.shareable(ctx, e.DB, of)
	if err != nil {
		return nil, err
	}
	grants, err := access.GrantsOf(ctx, e.DB, subject.SubjectType, subject.SubjectID)
	if err != nil {
		return nil, err
	}
	return e.named(ctx, e.DB, grants)
}

// Share gives a user, a role or everyone permissions on something, in the place of those given before.
func (e *Engine) Share(ctx context.Context, of Shareable, grant access.ObjectGrant) (shared Shared, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, subject, err := e.heldShareable(ctx, tx, of)
		if err != nil {
			return err
		}
		grant.SubjectType, grant.SubjectID, grant.WorkspaceID = subject.SubjectType, subject.SubjectID, subject.WorkspaceID
		if err := e.checkTarget(ctx, tx, grant); err != nil {
			return err
		}
		before, err := e.granted(ctx, tx, grant)
		if err != nil {
			return err
		}
		stored, err := v.Ability.Share(ctx, tx, grant)
		if err != nil {
			return err
		}
		if shared, err = e.nameOf(ctx, tx, stored); err != nil {
			return err
		}
		return e.audit(ctx, tx, v.Workspace.ID, sharedAct(before, shared))
	})
	return shared, err
}

// Unshare takes the permissions of a user, a role or everyone on something away.
func (e *Engine) Unshare(ctx context.Context, of Shareable, target string) error {
	return e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, grant, err := e.heldShareable(ctx, tx, of)
		if err != nil {
			return err
		}
		grant.Target = target
		before, err := e.granted(ctx, tx, grant)
		if err != nil {
			return err
		}
		if before == nil {
			return errs.Missing("permissions", target)
		}
		if err := v.Ability.Unshare(ctx, tx, grant); err != nil {
			return err
		}
		named, err := e.nameOf(ctx, tx, *before)
		if err != nil {
			return err
		}
		return e.audit(ctx, tx, v.Workspace.ID, unsharedAct(named))
	})
}

// shareable finds what the caller wants to share, and refuses a caller that may not manage its permissions. The grant it
// gives names the object, and no target yet.
func (e *Engine) shareable(ctx context.Context, r sqldb.Reader, of Shareable) (*door.Visit, access.ObjectGrant, error) {
	if of.Type == access.SubjectPages {
		v, err := e.visitPage(ctx, r, of.Ref)
		if err != nil {
			return nil, access.ObjectGrant{}, err
		}
		return v, access.ObjectGrant{SubjectType: of.Type, SubjectID: of.Ref, WorkspaceID: v.Workspace.ID}, nil
	}
	v, err := e.may(ctx, r, of.Ref, access.ActionManagePermissions)
	if err != nil {
		return nil, access.ObjectGrant{}, err
	}
	return v, access.ObjectGrant{SubjectType: of.Type, SubjectID: v.Workspace.ID, WorkspaceID: v.Workspace.ID}, nil
}

// heldShareable is shareable for changing: the workspace is held first, so that it is not deleted meanwhile.
func (e *Engine) heldShareable(ctx context.Context, tx *sqldb.Tx, of Shareable) (*door.Visit, access.ObjectGrant, error) {
	id, err := e.placeOf(ctx, tx, of)
	if err != nil {
		return nil, access.ObjectGrant{}, err
	}
	held, err := hold(ctx, tx, id)
	if err != nil {
		return nil, access.ObjectGrant{}, err
	}
	v, grant, err := e.shareable(ctx, tx, of)
	if err != nil {
		return nil, access.ObjectGrant{}, err
	}
	return v, grant, stillThere(v, held, of.Ref)
}

// placeOf gives the id of the workspace that is shared, or whose page is; one that no workspace has when there is none.
func (e *Engine) placeOf(ctx context.Context, r sqldb.Reader, of Shareable) (id string, err error) {
	if of.Type != access.SubjectPages {
		return store.Resolve(ctx, r, of.Ref)
	}
	id, _, err = store.PageOf(ctx, r, of.Ref)
	if sqldb.IsNotFound(err) {
		return nowhere, nil
	}
	return id, err
}

// nowhere is the workspace of pages that do not exist: none has this id.
const nowhere = ""

// visitPage opens a visit of the workspace of a page, of a caller that may manage the permissions of the page. One that does
// not exist is refused in the words in which one of a workspace without access is.
func (e *Engine) visitPage(ctx context.Context, r sqldb.Reader, pageID string) (*door.Visit, error) {
	workspaceID, path, err := store.PageOf(ctx, r, pageID)
	unknown := sqldb.IsNotFound(err)
	if err != nil && !unknown {
		return nil, err
	}
	if unknown {
		workspaceID = nowhere
	}
	v, err := e.Door.Visit(ctx, r, workspaceID)
	if err != nil {
		return nil, err
	}
	if unknown {
		return nil, asPage(v.CheckObject(access.ActionManagePermissions, access.SubjectPages, access.Fields{"id": pageID}), pageID)
	}
	page, err := store.GetDocument(ctx, r, workspaceID, path)
	if err != nil {
		return nil, err
	}
	if err := v.CheckObject(access.ActionManagePermissions, access.SubjectPages, definitions.PageFields(v.Ability, page)); err != nil {
		return nil, asPage(err, pageID)
	}
	return v, nil
}

// asPage keeps a refusal from telling the workspace of a page to a caller that has no access there. Whoever has access to
// everything is told that there is no such page.
func asPage(err error, pageID string) error {
	switch errs.CodeOf(err) {
	case errs.WorkspaceAccessDenied:
		return errs.New(errs.WorkspaceAccessDenied, "You have no access to this page, or it does not exist.").With("pageId", pageID)
	case errs.NotFound, "":
		return errs.Missing(access.SubjectPages, pageID)
	default:
		return err
	}
}

// checkTarget refuses users that do not exist. A role is checked with the grant itself.
func (e *Engine) checkTarget(ctx context.Context, r sqldb.Reader, grant access.ObjectGrant) error {
	if (Shared{ObjectGrant: grant}).TargetType() != "users" {
		return nil
	}
	names, err := e.People.Names(ctx, r, []string{grant.Target})
	if err == nil && names[grant.Target] == "" {
		return errs.New(errs.NotFound, "There is no such user; look the id up with POST /v2/contacts.").With("subjectType", "users").With("id", grant.Target)
	}
	return err
}

// granted gives the grant that the target has now; nil when it has none.
func (e *Engine) granted(ctx context.Context, r sqldb.Reader, grant access.ObjectGrant) (*access.ObjectGrant, error) {
	grants, err := access.GrantsOf(ctx, r, grant.SubjectType, grant.SubjectID)
	for i := range grants {
		if grants[i].Target == grant.Target {
			return &grants[i], nil
		}
	}
	return nil, err
}

func (e *Engine) nameOf(ctx context.Context, r sqldb.Reader, grant access.ObjectGrant) (Shared, error) {
	named, err := e.named(ctx, r, []access.ObjectGrant{grant})
	if err != nil {
		return Shared{}, err
	}
	return named[0], nil
}

// named adds what people call the targets of grants.
func (e *Engine) named(ctx context.Context, r sqldb.Reader, grants []access.ObjectGrant) ([]Shared, error) {
	all := make([]Shared, 0, len(grants))
	var ids []string
	for _, grant := range grants {
		shared := Shared{ObjectGrant: grant}
		switch shared.TargetType() {
		case "public":
			shared.DisplayName = "Public"
		case "roles":
			shared.DisplayName = "Role: " + strings.TrimPrefix(grant.Target, RolePrefix)
		default:
			ids = append(ids, grant.Target)
		}
		all = append(all, shared)
	}
	if len(ids) == 0 {
		return all, nil
	}
	names, err := e.People.Names(ctx, r, ids)
	for i := range all {
		if all[i].DisplayName == "" {
			all[i].DisplayName = names[all[i].Target]
		}
	}
	return all, err
}

func sharedAct(before *access.ObjectGrant, shared Shared) envelope.Act {
	said, now := permission(shared, catalogue.Shared), permissions(shared.ObjectGrant)
	said.Permissions = now
	act := envelope.Act{Payload: said, After: now}
	if before != nil {
		act.Before = permissions(*before)
	}
	return act
}

func unsharedAct(before Shared) envelope.Act {
	return envelope.Act{Payload: permission(before, catalogue.Deleted), Before: permissions(before.ObjectGrant)}
}

func permission(shared Shared, what catalogue.Verb) *catalogue.Permission {
	return &catalogue.Permission{
		Verb: what, OfPage: shared.SubjectType == access.SubjectPages, SubjectID: shared.SubjectID,
		Audited: catalogue.Audited{Target: &catalogue.Target{Type: shared.TargetType(), ID: shared.Target, DisplayName: &shared.DisplayName}},
	}
}

// permissions is what events say of a grant.
func permissions(grant access.ObjectGrant) *catalogue.Permissions {
	said := &catalogue.Permissions{}
	if grant.Role != access.None {
		said.Role = string(grant.Role)
	}
	if grant.Policies != (access.Policies{}) {
		said.Policies = grant.Policies
	}
	return said
}
