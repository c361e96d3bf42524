package definitions

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// Current is the name of what is not a version: the workspace as it is now.
const Current = "current"

// latest is the name of the newest native version when one is asked for.
const latest = "latest"

// reserved are the names of states that are no native versions.
func reserved() []string { return []string{Current, latest, LastPush, LastImport, InArchive} }

// ReservedVersion tells whether a name means something else than a version.
func ReservedVersion(name string) bool { return slices.Contains(reserved(), name) }

// ReservedVersions lists those names.
func ReservedVersions() string { return strings.Join(reserved(), ", ") }

// KeepRecovery keeps documents that are about to be given up as a native version, and gives its name.
func (d *Definitions) KeepRecovery(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, documents []store.Entry) (string, error) {
	tree, err := store.PutTree(ctx, tx, w.ID, documents)
	if err != nil {
		return "", err
	}
	saved := store.Version{
		Kind: store.Native, Description: `"What was given up by a pull"`, Tree: tree, Revision: w.ContentRevision, CreatedAt: d.Now(), CreatedBy: Author(ctx),
	}
	err = d.saveVersion(ctx, tx, w, &saved)
	return saved.Name, err
}

// maxVersions is how many native versions a workspace keeps; the oldest go.
const maxVersions = 20

var versionForm = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,15}$`) //nolint:gochecknoglobals // compiled once, never changed

// Versions lists the versions of a workspace, native and pushed ones, the newest first.
func (d *Definitions) Versions(ctx context.Context, ref string) ([]store.Version, error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return nil, err
	}
	native, err := store.Versions(ctx, d.DB, v.Workspace.ID, store.Native)
	if err != nil {
		return nil, err
	}
	pushed, err := store.Versions(ctx, d.DB, v.Workspace.ID, store.Remote)
	all := slices.Concat(native, pushed)
	slices.SortStableFunc(all, func(a, b store.Version) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, err
}

// SaveVersion keeps the documents of a workspace as a native version. It costs one row, however large the workspace is.
// Accept sees what is about to be saved, and may refuse it.
func (d *Definitions) SaveVersion(ctx context.Context, ref, name string, description json.RawMessage, accept func(Native) error) (saved store.Version, err error) {
	if name != "" && (!versionForm.MatchString(name) || slices.Contains(reserved(), name)) {
		return saved, errs.Invalid(errs.Field{Field: "name", Message: "use 1 to 15 letters, digits and _ . -; these are reserved: " + ReservedVersions()})
	}
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := d.Door.May(ctx, tx, ref, access.ActionUpdate)
		if err != nil {
			return err
		}
		w, err := held(ctx, tx, v.Workspace.ID)
		if err != nil {
			return err
		}
		if w.Lock.Held(d.Clock.Now()) {
			return Locked(w.Lock)
		}
		saved = store.Version{Kind: store.Native, Name: name, Description: string(description), Revision: w.ContentRevision, CreatedAt: d.Now(), CreatedBy: Author(ctx)}
		if err := d.saveVersion(ctx, tx, w, &saved); err != nil {
			return err
		}
		return accept(Native{Workspace: w, Version: name})
	})
	return saved, err
}

// Native is what saving a native version or going back to one is about to do.
type Native struct {
	// Workspace is as it was before.
	Workspace workspaces.Workspace
	// Version is the name of the version; empty when it is made up.
	Version string
	// Tree is what the documents become, and Created, Updated and Deleted those of them that change.
	Tree                      string
	Created, Updated, Deleted []string
}

func (d *Definitions) saveVersion(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, saved *store.Version) error {
	all, err := store.Versions(ctx, tx, w.ID, store.Native)
	if err != nil {
		return err
	}
	if saved.Name == "" {
		saved.Name = autoName(saved.CreatedAt, all)
	}
	for _, other := range all {
		if other.Name == saved.Name {
			return errs.Newf(errs.AlreadyExists, "There is a version %q already; choose another name.", saved.Name).With("version", saved.Name)
		}
	}
	if saved.Tree == "" { // as it is now
		if saved.Tree, err = d.KeepTree(ctx, tx, w.ID); err != nil {
			return err
		}
	}
	if err := store.PutVersion(ctx, tx, w.ID, *saved); err != nil {
		return err
	}
	for i := maxVersions - 1; i < len(all); i++ {
		if _, err := store.DeleteVersion(ctx, tx, w.ID, store.Native, all[i].Name); err != nil {
			return err
		}
	}
	return d.Emit(ctx, tx, w.ID, &catalogue.VersionPublished{Version: VersionFacts(*saved)})
}

// KeepTree keeps the current documents of a workspace as a tree, and gives its hash.
func (d *Definitions) KeepTree(ctx context.Context, tx *sqldb.Tx, workspaceID string) (string, error) {
	tree, err := store.Tree(ctx, tx, workspaceID)
	if err != nil {
		return "", err
	}
	return store.PutTree(ctx, tx, workspaceID, tree)
}

// VersionFacts is a version as clients and events see it.
func VersionFacts(v store.Version) *catalogue.Version {
	return &catalogue.Version{Name: v.Name, CreatedAt: v.CreatedAt, CreatedBy: &v.CreatedBy, Description: json.RawMessage(v.Description)}
}

// autoName is the name of a version that nobody named: the day and the first number of it that is free.
func autoName(at time.Time, all []store.Version) string {
	used := make(map[string]bool, len(all))
	for _, v := range all {
		used[v.Name] = true
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%d-%d-%d.%d", at.Month(), at.Day(), at.Year(), n)
		if !used[name] {
			return name
		}
	}
}

// DeleteVersion removes a native version.
func (d *Definitions) DeleteVersion(ctx context.Context, ref, name string) error {
	return d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := d.Door.May(ctx, tx, ref, access.ActionUpdate)
		if err != nil {
			return err
		}
		w, err := held(ctx, tx, v.Workspace.ID)
		if err != nil {
			return err
		}
		if w.Lock.Held(d.Clock.Now()) {
			return Locked(w.Lock)
		}
		gone, err := store.DeleteVersion(ctx, tx, v.Workspace.ID, store.Native, name)
		if err != nil {
			return err
		}
		if !gone {
			return errs.Missing("versions", name)
		}
		return d.Emit(ctx, tx, v.Workspace.ID, &catalogue.VersionDeleted{Version: catalogue.Version{Name: name}})
	})
}

// Rollback makes the documents of a workspace those of a native version; latest names the newest. What they were is in the
// history, and can be had again by undoing the edit.
// Accept sees what is about to happen, and may refuse it.
func (d *Definitions) Rollback(ctx context.Context, ref, name string, accept func(Native) error) (after workspaces.Workspace, written, deleted []string, err error) {
	purpose := Purpose{Reason: ByRollback, Note: name, Quiet: true}
	return d.restoring(ctx, ref, purpose, func(ctx context.Context, e *Edit) (*store.Version, error) {
		before := e.Workspace
		version, err := e.rollback(ctx, name)
		if err != nil {
			return nil, err
		}
		native := Native{Workspace: before, Version: version.Name, Tree: version.Tree, Created: e.Added()}
		native.Updated, native.Deleted = e.Changed()
		native.Updated = slices.DeleteFunc(native.Updated, func(path string) bool { return slices.Contains(native.Created, path) })
		return version, accept(native)
	})
}

// rollback makes the documents those of a native version.
func (e *Edit) rollback(ctx context.Context, name string) (*store.Version, error) {
	if err := e.Visit.Check(access.ActionUpdate); err != nil {
		return nil, err
	}
	if err := e.CheckLock(); err != nil {
		return nil, err
	}
	version, err := e.d.nativeVersion(ctx, e.Tx, e.Workspace.ID, name)
	if err != nil {
		return nil, err
	}
	tree, err := store.GetTree(ctx, e.Tx, e.Workspace.ID, version.Tree)
	if err != nil {
		return nil, err
	}
	return &version, e.RestoreTree(ctx, tree)
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// longestShown is how much of a name that nothing has is repeated.
const longestShown = 60

// nativeVersion reads a native version; latest names the newest.
func (d *Definitions) nativeVersion(ctx context.Context, r sqldb.Reader, workspaceID, name string) (store.Version, error) {
	if name == latest {
		all, err := store.Versions(ctx, r, workspaceID, store.Native)
		if err != nil {
			return store.Version{}, err
		}
		if len(all) > 0 {
			return all[0], nil
		}
		return store.Version{}, errs.New(errs.NotFound, "The workspace has no version yet.").With("subjectType", "versions")
	}
	if !versionForm.MatchString(name) {
		return store.Version{}, errs.Missing("versions", strings.ToValidUTF8(name[:min(len(name), longestShown)], ""))
	}
	version, err := store.GetVersion(ctx, r, workspaceID, store.Native, name)
	if sqldb.IsNotFound(err) {
		return version, errs.Missing("versions", name)
	}
	return version, err
}
