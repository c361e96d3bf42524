package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/store"
)

// Version is a native version of a workspace.
type Version struct {
	Name        string          `json:"name" doc:"Its name."`
	Description json.RawMessage `json:"description,omitempty" doc:"What it is: a text, or texts by language."`
	CreatedAt   time.Time       `json:"createdAt" doc:"When it was saved."`
	CreatedBy   string          `json:"createdBy,omitempty" doc:"By whom."`
}

func versionView(v store.Version) Version {
	shown := Version{Name: v.Name, CreatedAt: v.CreatedAt, CreatedBy: v.CreatedBy}
	if v.Description != "" {
		shown.Description = json.RawMessage(v.Description)
	}
	return shown
}

// SaveVersion is the body that saves a version.
type SaveVersion struct {
	Name        string            `json:"name,omitempty" maxLength:"15" doc:"Its name: 1 to 15 letters, digits and _ . -; made from the day when absent."`
	Description json.RawMessage   `json:"description,omitempty" doc:"What it is: a text, or texts by language."`
	Repository  *RepositoryChoice `json:"repository,omitempty" doc:"The repository that it goes to; the service's own storage when absent."`
}

type versionsOutput struct{ Body []Version }

type saveVersionInput struct {
	InWorkspace

	Body SaveVersion
}

type versionOutput struct{ Body Version }

// OfVersion names a version; inputs embed it.
type OfVersion struct {
	InWorkspace

	Version string `path:"version" maxLength:"15" doc:"The name of a native version; latest is the newest, current what the workspace is now."`
}

// PullVersion is the body that asks for a version.
type PullVersion struct {
	Repository          *RepositoryChoice `json:"repository,omitempty" doc:"The repository that it comes from; the service's own storage when absent."`
	DiscardLocalChanges bool              `json:"discardLocalChanges,omitempty" doc:"Whether changes since the last version are given up. Going back to a native version always does; undo the edit to have them again."`
}

// RepositoryChoice names a repository.
type RepositoryChoice struct {
	ID string `json:"id" minLength:"1" maxLength:"200" doc:"Its id."`
}

// native refuses a repository, which a workspace does not have.
func (c *RepositoryChoice) native() error {
	if c == nil {
		return nil
	}
	return errs.Missing("repositories", c.ID).With("repositoryId", c.ID).With("availableRepositories", []string{})
}

type pullVersionInput struct {
	OfVersion

	Body *PullVersion
}

// RollbackResult is what a rollback did.
type RollbackResult struct {
	Imported  []string  `json:"imported" nullable:"false" doc:"The documents that were replaced or added."`
	Deleted   []string  `json:"deleted" nullable:"false" doc:"The documents that were removed."`
	Errors    []string  `json:"errors" nullable:"false" doc:"What went wrong; a rollback is done whole or not at all, so nothing does."`
	Workspace Workspace `json:"workspace" doc:"The workspace after it."`
}

type rollbackOutput struct{ Body RollbackResult }

// RegisterVersions adds the operations on native versions.
func RegisterVersions(api *restapi.API, e *engine.Engine) {
	const path = "/v2/workspaces/{workspaceId}/versions"
	d := e.Definitions
	operation := func(id, method, path, summary string, scope access.Scope) restapi.Operation {
		return restapi.Operation{
			ID: id, Method: method, Path: path, Tag: "Versions", Summary: summary, Policy: access.Callers, Scope: scope,
			Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.Locked},
		}
	}
	restapi.Register(api, operation("listVersions", http.MethodGet, path, "List versions", access.WorkspacesRead),
		func(ctx context.Context, in *InWorkspace) (*versionsOutput, error) {
			versions, err := d.Versions(ctx, in.WorkspaceID)
			out := &versionsOutput{Body: make([]Version, 0, len(versions))}
			for _, v := range versions {
				out.Body = append(out.Body, versionView(v))
			}
			return out, err
		})
	save := operation("saveVersion", http.MethodPost, path, "Save a version", access.WorkspacesWrite)
	save.Status, save.Errors = http.StatusCreated, append(save.Errors, errs.AlreadyExists)
	save.Description = "Keeps the workspace as it is in the service's own storage. The newest 20 versions are kept."
	restapi.Register(api, save, func(ctx context.Context, in *saveVersionInput) (*versionOutput, error) {
		if err := in.Body.Repository.native(); err != nil {
			return nil, err
		}
		v, err := d.SaveVersion(ctx, in.WorkspaceID, in.Body.Name, in.Body.Description)
		return &versionOutput{Body: versionView(v)}, err
	})
	restapi.Register(api, operation("deleteVersion", http.MethodDelete, path+"/{version}", "Delete a version", access.WorkspacesWrite),
		func(ctx context.Context, in *OfVersion) (*deletedOutput, error) {
			out := &deletedOutput{}
			out.Body.ID = in.Version
			return out, d.DeleteVersion(ctx, in.WorkspaceID, in.Version)
		})
	rollback := operation("pullVersion", http.MethodPost, path+"/{version}/pull", "Go back to a version", access.WorkspacesWrite)
	rollback.Description = "Makes the workspace what it was when the native version was saved. It can be undone like any edit."
	restapi.Register(api, rollback, func(ctx context.Context, in *pullVersionInput) (*rollbackOutput, error) {
		if in.Body != nil {
			if err := in.Body.Repository.native(); err != nil {
				return nil, err
			}
		}
		after, written, deleted, err := d.Rollback(ctx, in.WorkspaceID, in.Version)
		return &rollbackOutput{Body: RollbackResult{Imported: orEmpty(written), Deleted: orEmpty(deleted), Errors: []string{}, Workspace: view(after, d.Clock.Now())}}, err
	})
	duplicate := operation("duplicateWorkspace", http.MethodPost, path+"/{version}/duplicate", "Duplicate a workspace", access.WorkspacesWrite)
	duplicate.Policy = access.SignedIn // somebody has to own it
	duplicate.Status, duplicate.Gives = http.StatusCreated, []restapi.Media{{Type: mediaJSON, Of: WorkspaceDetail{}}}
	restapi.Register(api, duplicate, func(ctx context.Context, in *OfVersion) (*documentOutput, error) {
		w, err := e.Duplicate(ctx, in.WorkspaceID, in.Version)
		if err != nil {
			return nil, err
		}
		out, err := detailed(ctx, d, w, definitions.Current)
		if err != nil {
			return nil, err
		}
		out.Status, out.Location = http.StatusCreated, "/v2/workspaces/"+w.ID
		return out, nil
	})
}
