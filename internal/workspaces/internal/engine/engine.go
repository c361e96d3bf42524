// Package engine holds the use cases of the workspaces service. Permission is checked here, below every way in.
package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// Engine is the workspaces service without its HTTP.
type Engine struct {
	DB     *sqldb.DB
	Bus    bus.Log
	Clock  clock.Clock
	IDs    ident.Source
	Access *access.Enforcer
	Keys   *access.Keys
	People Directory
}

// service is how the events of this service name it.
const service = "workspaces"

// EnsurePlatform makes the platform workspace when it does not exist.
func (e *Engine) EnsurePlatform(ctx context.Context) error {
	if _, err := store.Get(ctx, e.DB, access.PlatformWorkspace); !sqldb.IsNotFound(err) {
		return err
	}
	now := e.now()
	err := e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		platform := workspaces.Workspace{
			ID: access.PlatformWorkspace, Slug: access.PlatformWorkspace, Name: "Platform", Labels: []string{},
			Description: "Platform-wide operations and their events.", Revision: 1, CreatedAt: now, UpdatedAt: now,
		}
		if err := store.Insert(ctx, tx, platform); err != nil {
			return err
		}
		if err := access.GrantSuperAdmins(ctx, tx, platform.ID); err != nil {
			return err
		}
		return e.begin(ctx, tx, platform)
	})
	if sqldb.IsUnique(err) {
		return nil // another instance was first
	}
	return errs.Wrap(err, "create the platform workspace")
}

// Create makes a workspace that the caller owns. A slug that is taken is resource_already_exists.
func (e *Engine) Create(ctx context.Context, draft workspaces.Draft) (workspaces.Workspace, error) {
	caller := access.From(ctx)
	if err := e.Access.Global(ctx).Check(access.ActionCreate, access.SubjectWorkspaces, nil); err != nil {
		return workspaces.Workspace{}, err
	}
	now := e.now()
	w := workspaces.Workspace{
		ID: e.IDs.Workspace(), Labels: []string{}, Revision: 1, ContentRevision: 1,
		CreatedAt: now, UpdatedAt: now, CreatedBy: caller.UserID, UpdatedBy: caller.UserID,
	}
	if err := apply(&w, draft); err != nil {
		return w, err
	}
	if w.Slug == "" {
		w.Slug = inventSlug(w.Name, e.IDs)
	}
	err := e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := store.Insert(ctx, tx, w); err != nil {
			return err
		}
		if err := access.Grant(ctx, tx, w.ID, access.Owner); err != nil {
			return err
		}
		return e.begin(ctx, tx, w)
	})
	return w, taken(err, w.Slug)
}

// begin gives a new workspace its security document and tells of both.
func (e *Engine) begin(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace) error {
	if err := e.Access.InitSecurity(ctx, tx, w.ID); err != nil {
		return err
	}
	if err := e.emit(ctx, tx, w, "workspaces.created"); err != nil {
		return err
	}
	saved, err := access.LoadSecurity(ctx, tx, w.ID)
	if err != nil {
		return err
	}
	return e.audit(ctx, tx, w.ID, securityUpdated(w.ID, nil, saved.Security))
}

// Get reads a workspace that the caller may read.
func (e *Engine) Get(ctx context.Context, ref string) (workspaces.Workspace, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionRead)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	return v.workspace, nil
}

// List reads the workspaces the caller may read, and how many there are in all.
func (e *Engine) List(ctx context.Context, q workspaces.ListQuery) ([]workspaces.Workspace, int, error) {
	readable, err := e.Access.Workspaces(ctx, e.DB, store.Columns(e.DB), e.fieldsByID)
	if err != nil {
		return nil, 0, err
	}
	return store.List(ctx, e.DB, readable, q)
}

// Update changes a workspace. ifMatch, when given, is the revision the caller has seen; another one is refused with 412.
// A change that changes nothing is not one: no revision, no event.
func (e *Engine) Update(ctx context.Context, ref, ifMatch string, draft workspaces.Draft) (changed workspaces.Workspace, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.may(ctx, tx, ref, access.ActionUpdate)
		if err != nil {
			return err
		}
		before := v.workspace
		if err := restapi.CheckIfMatch(ifMatch, restapi.ETag(before.Revision)); err != nil {
			return err
		}
		changed = before
		if err := apply(&changed, draft); err != nil {
			return err
		}
		fields := changes(before, changed)
		if len(fields) == 0 {
			return nil
		}
		for _, field := range fields {
			if err := v.checkField(access.ActionUpdate, field); err != nil {
				return err
			}
		}
		return e.save(ctx, tx, before, &changed)
	})
	if draft.Slug != nil {
		err = taken(err, *draft.Slug)
	}
	return changed, err
}

// save stores a changed workspace as its next revision.
func (e *Engine) save(ctx context.Context, tx *sqldb.Tx, before workspaces.Workspace, changed *workspaces.Workspace) error {
	if before.ID == access.PlatformWorkspace && changed.Slug != before.Slug {
		return errs.Invalid(errs.Field{Field: "slug", Message: "the platform workspace keeps its slug"})
	}
	changed.Revision++
	changed.ContentRevision = changed.Revision
	changed.UpdatedAt, changed.UpdatedBy = e.now(), author(ctx)
	written, err := store.Update(ctx, tx, *changed, before.Revision)
	if err != nil {
		return err
	}
	if !written {
		return errs.New(errs.Conflict, "The workspace was changed by someone else; read it again and repeat your change.")
	}
	return e.emit(ctx, tx, *changed, "workspaces.updated")
}

// Delete removes a workspace and gives its id. Its events stay for their retention.
func (e *Engine) Delete(ctx context.Context, ref string) (id string, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.may(ctx, tx, ref, access.ActionDelete)
		if err != nil {
			return err
		}
		id = v.workspace.ID
		if id == access.PlatformWorkspace {
			return errs.New(errs.PermissionDenied, "The platform workspace cannot be deleted.")
		}
		if _, err := store.Delete(ctx, tx, id); err != nil {
			return err
		}
		if err := access.RevokeAll(ctx, tx, id); err != nil {
			return err
		}
		record, err := envelope.Native(ctx, service, id, "workspaces.deleted",
			map[string]string{"workspaceId": id, "workspaceSlug": v.workspace.Slug, "name": v.workspace.Name})
		if err != nil {
			return err
		}
		_, err = e.Bus.AppendTx(ctx, tx, record)
		return err
	})
	return id, err
}

// now is the time as it is stored, so that an answer shows what a later read will show.
func (e *Engine) now() time.Time { return sqldb.Time(sqldb.Millis(e.Clock.Now())) }

// author names the caller as whoever changed something: a user by the id, a key by its own.
func author(ctx context.Context) string {
	caller := access.From(ctx)
	if caller.UserID != "" {
		return caller.UserID
	}
	return caller.Key()
}

func (e *Engine) emit(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, eventType string) error {
	record, err := envelope.Native(ctx, service, w.ID, eventType, map[string]any{
		"workspace": map[string]any{"id": w.ID, "slug": w.Slug, "name": w.Name, "description": w.Description, "labels": w.Labels},
	})
	if err != nil {
		return err
	}
	_, err = e.Bus.AppendTx(ctx, tx, record)
	return err
}

// audit stores the event of a security-relevant act of the caller.
func (e *Engine) audit(ctx context.Context, tx *sqldb.Tx, workspaceID string, act envelope.Act) error {
	record, err := envelope.Audit(ctx, service, workspaceID, act)
	if err != nil {
		return err
	}
	_, err = e.Bus.AppendTx(ctx, tx, record)
	return err
}

func apply(w *workspaces.Workspace, draft workspaces.Draft) error {
	if draft.Name != nil {
		w.Name = *draft.Name
	}
	if draft.Description != nil {
		w.Description = *draft.Description
	}
	if draft.Labels != nil {
		if err := workspaces.CheckLabels(*draft.Labels); err != nil {
			return err
		}
		w.Labels = *draft.Labels
	}
	if draft.Slug == nil || *draft.Slug == w.Slug {
		return nil
	}
	if !workspaces.ValidSlug(*draft.Slug) {
		return errs.Invalid(errs.Field{Field: "slug", Message: "use 1 to 64 lower-case letters, digits and dashes, not at the ends a dash; a few words are reserved"})
	}
	w.Slug = *draft.Slug
	return nil
}

// changes names the fields in which two states of a workspace differ.
func changes(a, b workspaces.Workspace) (fields []string) {
	for _, field := range []struct {
		name string
		same bool
	}{
		{"name", a.Name == b.Name},
		{"slug", a.Slug == b.Slug},
		{"description", a.Description == b.Description},
		{"labels", slices.Equal(a.Labels, b.Labels)},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	return fields
}

func taken(err error, slug string) error {
	if sqldb.IsUnique(err) {
		return errs.Newf(errs.AlreadyExists, "The slug %q is already used; choose another one.", slug).With("slug", slug)
	}
	return err
}

// inventSlug makes a slug of the name and something unique.
func inventSlug(name string, ids ident.Source) string {
	const longest = 40
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= longest {
			break
		}
	}
	base := strings.Trim(b.String(), "-")
	if base == "" {
		base = "workspace"
	}
	return fmt.Sprintf("%s-%s", base, ids.User()[:6])
}
