// Package door is where callers enter a workspace: it finds the one they name and knows what they may do there. Every use
// case of the service begins here, so that nobody is told more about a workspace than any other caller without access.
package door

import (
	"context"
	"errors"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// Door finds workspaces for callers.
type Door struct {
	Access *access.Enforcer
}

// Visit is a caller at a workspace: what it may do there.
type Visit struct {
	Workspace workspaces.Workspace
	Ability   *access.Ability

	// ref is how the caller named the workspace: its id, or slug: and its slug.
	ref string
}

// Visit looks up the workspace that the caller names. One that does not exist is not refused here but by the first check,
// with the words in which any other is refused to a caller without access.
func (d *Door) Visit(ctx context.Context, r sqldb.Reader, ref string) (*Visit, error) {
	w, err := store.Find(ctx, r, ref)
	if sqldb.IsNotFound(err) {
		w, err = workspaces.Workspace{ID: ref}, nil
	}
	if err != nil {
		return nil, err
	}
	ability, err := d.Access.Load(ctx, r, w.ID)
	if err != nil {
		return nil, err
	}
	return &Visit{ref: ref, Workspace: w, Ability: ability}, nil
}

// May opens a visit of a caller that may do all of these to the workspace.
func (d *Door) May(ctx context.Context, r sqldb.Reader, ref string, actions ...string) (*Visit, error) {
	v, err := d.Visit(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	return v, v.Check(actions...)
}

// Check refuses the caller that may not do all of these to the workspace.
func (v *Visit) Check(actions ...string) error {
	for _, action := range actions {
		if err := v.Ability.Check(action, access.SubjectWorkspaces, FieldsOf(v.Workspace)); err != nil {
			return v.AsNamed(err)
		}
	}
	return v.exists()
}

// CheckField refuses the caller that may not do this to a field of the workspace.
func (v *Visit) CheckField(action, field string) error {
	return v.AsNamed(v.Ability.CheckField(action, access.SubjectWorkspaces, field, FieldsOf(v.Workspace)))
}

// CheckObject refuses the caller that may not do this to something in the workspace: a page, a file, a secret.
func (v *Visit) CheckObject(action, subject string, object access.Object) error {
	if err := v.Ability.Check(action, subject, object); err != nil {
		return v.AsNamed(err)
	}
	return v.exists()
}

func (v *Visit) exists() error {
	if v.Workspace.Revision == 0 {
		return errs.Missing("workspaces", v.ref)
	}
	return nil
}

// AsNamed keeps a refusal from telling the id of a workspace that was named by its slug.
func (v *Visit) AsNamed(err error) error {
	if refusal, ok := errors.AsType[*errs.Error](err); ok && refusal.Code == errs.WorkspaceAccessDenied {
		return refusal.With("workspaceId", v.ref)
	}
	return err
}

// FieldsOf is what the conditions of rules on workspaces look at.
func FieldsOf(w workspaces.Workspace) access.Fields {
	return access.Fields{"id": w.ID, "slug": w.Slug, "name": w.Name, "labels": w.Labels, "createdBy": w.CreatedBy}
}
