// Package engine holds the use cases of workspaces as a whole: their life, their access rules and their keys. Permission is
// checked here, below every way in.
package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/dsul"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// Engine is the workspaces service without its HTTP.
type Engine struct {
	DB          *sqldb.DB
	Bus         bus.Log
	Clock       clock.Clock
	IDs         ident.Source
	Access      *access.Enforcer
	Door        *door.Door
	Definitions *definitions.Definitions
	Keys        *access.Keys
	People      Directory
	// BinAge is how long a deleted workspace can be restored.
	BinAge time.Duration
	// Purges remove what the other rooms keep of a workspace, in the transaction that removes it for good.
	Purges []Purge
}

// Purge removes what is kept of a workspace that is being removed for good.
type Purge func(ctx context.Context, tx *sqldb.Tx, workspaceID string) error

// EnsurePlatform makes the platform workspace when it does not exist.
func (e *Engine) EnsurePlatform(ctx context.Context) error {
	if _, err := store.Get(ctx, e.DB, access.PlatformWorkspace); !sqldb.IsNotFound(err) {
		return err
	}
	now := e.now()
	platform := workspaces.Workspace{
		ID: access.PlatformWorkspace, Slug: access.PlatformWorkspace, Name: "Platform", Labels: []string{},
		Description: "Platform-wide operations and their events.", Revision: 1, CreatedAt: now, UpdatedAt: now,
	}
	err := e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := e.Definitions.Establish(ctx, tx, platform, definitions.NewIndex(platform)); err != nil {
			return err
		}
		if err := access.GrantSuperAdmins(ctx, tx, platform.ID); err != nil {
			return err
		}
		return e.Definitions.TellCreated(ctx, tx, platform)
	})
	if sqldb.IsUnique(err) {
		return nil // another instance was first
	}
	return errs.Wrap(err, "create the platform workspace")
}

// Create makes a workspace that the caller owns, from its definition. A slug that is taken is resource_already_exists.
func (e *Engine) Create(ctx context.Context, body []byte) (workspaces.Workspace, error) {
	if err := e.MayCreate(ctx); err != nil {
		return workspaces.Workspace{}, err
	}
	index, err := definitions.ParseIndex(body)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	w := e.Fresh(ctx)
	definitions.TakeOver(&w, index, false)
	if w.Slug = definitions.FirstText(index.Get("slug")); w.Slug == "" {
		w.Slug = InventSlug(w.Name, e.IDs)
	}
	if index, err = definitions.WithSlug(index, w.Slug); err != nil {
		return w, err
	}
	first, err := definitions.WithoutRepositories(index)
	if err != nil {
		return w, err
	}
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := e.Establish(ctx, tx, w, first); err != nil {
			return err
		}
		w, err = e.Definitions.SetRepositories(ctx, tx, w, index)
		return err
	})
	return w, Taken(err, w.Slug)
}

// MayCreate refuses callers that may not make workspaces.
func (e *Engine) MayCreate(ctx context.Context) error {
	return e.Access.Global(ctx).Check(access.ActionCreate, access.SubjectWorkspaces, nil)
}

// Fresh is a new workspace of the caller, without a name and a slug.
func (e *Engine) Fresh(ctx context.Context) workspaces.Workspace {
	now, caller := e.now(), access.From(ctx)
	return workspaces.Workspace{
		ID: e.IDs.Workspace(), Labels: []string{}, Revision: 1, ContentRevision: 1,
		CreatedAt: now, UpdatedAt: now, CreatedBy: caller.UserID, UpdatedBy: caller.UserID,
	}
}

// Establish stores a new workspace, gives it to the caller and tells of it.
func (e *Engine) Establish(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, index *dsul.Document) error {
	if err := e.Definitions.Establish(ctx, tx, w, index); err != nil {
		return err
	}
	if err := access.Grant(ctx, tx, w.ID, access.Owner); err != nil {
		return err
	}
	return e.Definitions.TellCreated(ctx, tx, w)
}

// Get reads a workspace that the caller may read.
func (e *Engine) Get(ctx context.Context, ref string) (workspaces.Workspace, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionRead)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	return v.Workspace, nil
}

// List reads the workspaces the caller may read, and how many there are in all.
func (e *Engine) List(ctx context.Context, q workspaces.ListQuery) ([]workspaces.Workspace, int, error) {
	readable, err := e.Access.Workspaces(ctx, e.DB, store.Columns(e.DB), e.fieldsByID)
	if err != nil {
		return nil, 0, err
	}
	return store.List(ctx, e.DB, readable, q)
}

// now is the time as it is stored, so that an answer shows what a later read will show.
func (e *Engine) now() time.Time { return sqldb.Time(sqldb.Millis(e.Clock.Now())) }

// audit stores the event of a security-relevant act of the caller.
func (e *Engine) audit(ctx context.Context, tx *sqldb.Tx, workspaceID string, act envelope.Act) error {
	return e.Definitions.Audit(ctx, tx, workspaceID, act)
}

// Taken says that a slug is already used when that is why a write failed.
func Taken(err error, slug string) error {
	if sqldb.IsUnique(err) {
		return errs.Newf(errs.AlreadyExists, "The slug %q is already used; choose another one.", slug).With("slug", slug)
	}
	return err
}

// InventSlug makes a slug of the name and something unique.
func InventSlug(name string, ids ident.Source) string {
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

// ListFor is List of the workspaces that are shared with the account of an address, or that the caller owns.
func (e *Engine) ListFor(ctx context.Context, q workspaces.ListQuery, email string, owned bool) ([]workspaces.Workspace, int, error) {
	if owned {
		q.OwnedBy = access.From(ctx).UserID
	}
	if email != "" {
		id, err := e.People.ByEmail(ctx, e.DB, email)
		if err != nil {
			return nil, 0, err
		}
		if id == "" {
			return nil, 0, nil // an address that nobody has is told apart from one that shares nothing by nothing
		}
		q.SharedWith = id
	}
	return e.List(ctx, q)
}

// Labels lists the labels of the workspaces that the caller may read, in alphabetical order.
func (e *Engine) Labels(ctx context.Context, limit int) ([]string, error) {
	const atOnce = 2000
	seen := map[string]bool{}
	for offset := 0; ; offset += atOnce {
		found, total, err := e.List(ctx, workspaces.ListQuery{Sort: "createdAt", Limit: atOnce, Offset: offset})
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			for _, label := range w.Labels {
				seen[label] = true
			}
		}
		if offset+len(found) >= total || len(found) == 0 {
			break
		}
	}
	labels := slices.Sorted(maps.Keys(seen))
	return labels[:min(len(labels), limit)], nil
}
