package versioning

import (
	"context"
	"encoding/json"
	"net/http"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// common is what a workspace and a repository last had in common.
type common struct {
	store.Sync

	// known tells that they ever had anything in common.
	known bool
	base  side
}

// common reads what a workspace and a repository last had in common. Those that never had anything have what the workspace
// was made with: nobody's work is in it.
func (v *Versioning) common(ctx context.Context, r sqldb.Reader, workspaceID string, repository repositories.Repository) (common, error) {
	found, err := store.GetSync(ctx, r, workspaceID, repository.ID)
	if err == nil && found.Place == repository.Fingerprint() {
		base, err := kept(ctx, r, workspaceID, found.Base)
		return common{Sync: found, known: found.Commit != "" || found.Tree != "", base: base}, err
	}
	if err != nil && !sqldb.IsNotFound(err) {
		return common{}, err
	}
	fresh := common{Sync: store.Sync{RepositoryID: repository.ID, Place: repository.Fingerprint()}, base: side{}}
	first, err := store.GetVersion(ctx, r, workspaceID, store.First, "")
	if sqldb.IsNotFound(err) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	fresh.base, err = kept(ctx, r, workspaceID, first.Tree)
	return fresh, err
}

// agree stores what a workspace and a repository have in common from now on.
func (v *Versioning) agree(ctx context.Context, tx *sqldb.Tx, workspaceID string, next store.Sync, base side) error {
	var err error
	if next.Base, err = keep(ctx, tx, workspaceID, base); err != nil {
		return err
	}
	next.CheckedAt = v.Definitions.Now()
	return store.PutSync(ctx, tx, workspaceID, next, v.Definitions.Now(), definitions.Author(ctx))
}

// behind says that the repository has something that the workspace does not.
func behind(repository repositories.Repository) error {
	return errs.New(errs.Conflict, "The workspace is not up-to-date: the repository has changes that were not pulled yet. Pull first, then push again.").
		With("reason", "behind").With("repositoryId", repository.ID).WithStatus(http.StatusConflict)
}

// Undone brings back what a workspace and a repository had in common before a pull that is being undone: otherwise the next
// push would take back what others did, without anybody having decided it.
func (v *Versioning) Undone(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, revision int64) error {
	now, err := store.SyncPulledBy(ctx, tx, w.ID, revision)
	if sqldb.IsNotFound(err) {
		return nil // it was no pull
	}
	if err != nil {
		return err
	}
	var before *store.Sync
	if err := json.Unmarshal([]byte(now.Previous), &before); err != nil {
		return err
	}
	if before == nil {
		return store.DeleteSync(ctx, tx, w.ID, now.RepositoryID)
	}
	return store.PutSync(ctx, tx, w.ID, *before, v.Definitions.Now(), definitions.Author(ctx))
}

// leave keeps the state that a pull leaves behind, for an undo of it, with its base under a name of its own.
func (v *Versioning) leave(ctx context.Context, tx *sqldb.Tx, workspaceID string, c common) (string, error) {
	if !c.known {
		return "null", nil
	}
	err := store.PutVersion(ctx, tx, workspaceID, store.Version{
		Kind: store.Base, Name: c.RepositoryID + "~before", Tree: c.Base, CreatedAt: v.Definitions.Now(), CreatedBy: definitions.Author(ctx),
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(c.Sync)
	return string(text), err
}
