package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// Version is a version of a workspace: a native one, or one that was pushed to a repository.
type Version struct {
	Name        string            `json:"name" doc:"Its name."`
	Description json.RawMessage   `json:"description,omitempty" doc:"What it is: a text, or texts by language."`
	CreatedAt   time.Time         `json:"createdAt" doc:"When it was saved."`
	CreatedBy   string            `json:"createdBy,omitempty" doc:"By whom."`
	Repository  *RepositoryChoice `json:"repository,omitempty" doc:"The repository that it was pushed to; absent for a native version."`
	Commit      string            `json:"commit,omitempty" doc:"The commit that a push made."`
}

func versionView(v store.Version) Version {
	shown := Version{Name: v.Name, CreatedAt: v.CreatedAt, CreatedBy: v.CreatedBy}
	if v.Description != "" {
		shown.Description = json.RawMessage(v.Description)
	}
	if v.RepositoryID != "" {
		shown.Repository = &RepositoryChoice{ID: v.RepositoryID}
	}
	return shown
}

// SaveVersion is the body that saves a version: natively, or by a push to a repository.
type SaveVersion struct {
	Name        string            `json:"name,omitempty" maxLength:"100" doc:"Its name: letters, digits and _ . -, up to 15 of them for a native version and 100 for a push, where it becomes a tag; made from the day when absent."`
	Description json.RawMessage   `json:"description,omitempty" doc:"What it is: a text, or texts by language."`
	CreatedAt   *time.Time        `json:"createdAt,omitempty" doc:"Has no effect: a version is made when it is saved."`
	Repository  *RepositoryChoice `json:"repository,omitempty" doc:"The repository that it goes to; the service's own storage when absent."`
	DryRun      bool              `json:"dryRun,omitempty" doc:"Whether only the plan of a push is wanted: nothing is changed."`
	PlanID      string            `json:"planId,omitempty" maxLength:"100" doc:"The plan that the push has to be; it is refused when something changed since."`
}

type versionsOutput struct{ Body []Version }

// Waiting is how long a client waits for an operation.
type Waiting struct {
	Timeout Seconds `query:"timeout" minimum:"0" maximum:"86400" doc:"How many seconds to wait for the result: 50 unless you say otherwise. After that the answer is processing: true with the id of the operation, which goes on."`
}

type saveVersionInput struct {
	InWorkspace
	Waiting

	Body SaveVersion
}

// OfVersion names a version; inputs embed it.
type OfVersion struct {
	InWorkspace

	Version string `path:"version" maxLength:"200" doc:"The name of a version: latest is the newest, current what the workspace is now; with a repository, a tag or a commit of it."`
}

// PullVersion is the body that asks for a version.
type PullVersion struct {
	Repository          *RepositoryChoice `json:"repository,omitempty" doc:"The repository that it comes from; the service's own storage when absent."`
	DiscardLocalChanges bool              `json:"discardLocalChanges,omitempty" doc:"Whether what was changed here is given up instead of merged. It is kept as a native version. Going back to a native version always does; undo the edit to have it again."`
	DryRun              bool              `json:"dryRun,omitempty" doc:"Whether only the plan of the pull is wanted: nothing is changed."`
	PlanID              string            `json:"planId,omitempty" maxLength:"100" doc:"The plan that the pull has to be; it is refused when something changed since."`
}

// RepositoryChoice names a repository.
type RepositoryChoice struct {
	ID string `json:"id" minLength:"1" maxLength:"200" doc:"Its id."`
}

type pullVersionInput struct {
	OfVersion
	Waiting

	Body *PullVersion
}

// PullLatest is the body of a pull that names the version in it.
type PullLatest struct {
	PullVersion

	Version string `json:"version,omitempty" maxLength:"200" doc:"The version: latest when absent."`
}

type pullInput struct {
	InWorkspace
	Waiting

	Body *PullLatest
}

// PullResult is what a pull or a rollback did.
type PullResult struct {
	Imported      []string           `json:"imported" nullable:"false" doc:"The documents that were replaced or added."`
	Deleted       []string           `json:"deleted" nullable:"false" doc:"The documents that were removed."`
	Errors        []archives.Finding `json:"errors" nullable:"false" doc:"What was left out, or is wrong with what was pulled."`
	Workspace     Workspace          `json:"workspace" doc:"The workspace after it."`
	Version       string             `json:"version,omitempty" doc:"The version that was pulled."`
	Commit        string             `json:"commit,omitempty" doc:"The commit that was pulled."`
	Recovery      string             `json:"recovery,omitempty" doc:"The native version that keeps what was given up."`
	PublishedApps []string           `json:"publishedApps,omitempty" doc:"The apps that were published."`
}

// Processing says that an operation goes on.
type Processing struct {
	Processing  bool   `json:"processing" doc:"Always true: the operation goes on, and events tell of its end."`
	Message     string `json:"message" doc:"The same in words."`
	OperationID string `json:"operationId" doc:"Ask for it at operations/{operationId}, or stream it there."`
}

// RegisterVersions adds the operations on versions.
func RegisterVersions(api *restapi.API, e *engine.Engine, v *versioning.Versioning) {
	s := &versions{engine: e, versioning: v}
	s.registerList(api)
	s.registerPush(api)
	s.registerPull(api)
	s.registerNative(api)
}

// versions serves versions.
type versions struct {
	engine     *engine.Engine
	versioning *versioning.Versioning
}

const versionsPath = "/v2/workspaces/{workspaceId}/versions"

func versionOperation(id, method, path, summary string, scope access.Scope) restapi.Operation {
	return restapi.Operation{
		ID: id, Method: method, Path: path, Tag: "Versions", Summary: summary, Policy: access.Callers, Scope: scope,
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.Locked},
	}
}

func (s *versions) registerList(api *restapi.API) {
	list := versionOperation("listVersions", http.MethodGet, versionsPath, "List versions", access.WorkspacesRead)
	list.Description = "The native versions and those that were pushed, the newest first."
	restapi.Register(api, list, func(ctx context.Context, in *InWorkspace) (*versionsOutput, error) {
		found, err := s.engine.Definitions.Versions(ctx, in.WorkspaceID)
		out := &versionsOutput{Body: make([]Version, 0, len(found))}
		for _, v := range found {
			out.Body = append(out.Body, versionView(v))
		}
		return out, err
	})
}

func (s *versions) registerPush(api *restapi.API) {
	save := versionOperation("saveVersion", http.MethodPost, versionsPath, "Save a version", access.WorkspacesWrite)
	save.Once, save.Status = true, http.StatusCreated
	save.Errors = append(save.Errors, errs.AlreadyExists, errs.Conflict, errs.PermissionDenied, errs.GatewayTimeout)
	save.Gives = []restapi.Media{{Type: mediaJSON, Of: Version{}}}
	save.Description = "Without a repository it keeps the workspace as it is in the service's own storage, where the newest 20 versions are kept. " +
		"With one it pushes: the documents are committed to the intermediate branch svc/{slug}/{branch}, which is merged into the target branch. " +
		"A push is refused while the repository has changes that were not pulled."
	restapi.Register(api, save, s.save)
	save.ID, save.Path, save.Summary = "push", "/v2/workspaces/{workspaceId}/push", "Push to a repository"
	restapi.Register(api, save, s.save)
}

// save saves a native version, or pushes.
func (s *versions) save(ctx context.Context, in *saveVersionInput) (*restapi.Stream, error) {
	if in.Body.Repository == nil {
		native := planned{operation: "push", dryRun: in.Body.DryRun, planID: in.Body.PlanID}
		v, err := s.engine.Definitions.SaveVersion(ctx, in.WorkspaceID, in.Body.Name, in.Body.Description, native.accept)
		if err != nil {
			return native.answer(err)
		}
		return restapi.Answer(http.StatusCreated, versionView(v))
	}
	push := versioning.Push{RepositoryID: in.Body.Repository.ID, Name: in.Body.Name, Description: in.Body.Description, PlanID: in.Body.PlanID}
	if in.Body.DryRun {
		plan, err := s.versioning.PlanPush(ctx, in.WorkspaceID, push)
		if err != nil {
			return nil, err
		}
		return restapi.Answer(http.StatusOK, plan)
	}
	job, err := s.versioning.StartPush(ctx, in.WorkspaceID, push)
	if err != nil {
		return nil, err
	}
	return s.await(ctx, in.Timeout.or(regularSeconds), job, func(result any) (any, error) { return result, nil })
}

// longestWait is how long a request waits at most: a little less than it has.
const longestWait = 55 * time.Second

// await waits for a job, and answers with its result or with where to ask for it.
func (s *versions) await(ctx context.Context, seconds int, job *versioning.Job, show func(result any) (any, error)) (*restapi.Stream, error) {
	timer := s.engine.Clock.NewTimer(min(time.Duration(seconds)*time.Second, longestWait))
	defer timer.Stop()
	result, ended, err := job.Wait(ctx, timer.C())
	if err != nil {
		return nil, err
	}
	if !ended {
		return restapi.Answer(http.StatusOK, Processing{Processing: true, Message: "It takes longer than you wait, and goes on; events tell of its end.", OperationID: job.ID})
	}
	shown, err := show(result)
	if err != nil {
		return nil, err
	}
	return restapi.Answer(http.StatusOK, shown)
}

func (s *versions) registerPull(api *restapi.API) {
	pull := versionOperation("pullVersion", http.MethodPost, versionsPath+"/{version}/pull", "Pull a version", access.WorkspacesWrite)
	pull.Once = true
	pull.Errors = append(pull.Errors, errs.Conflict, errs.PermissionDenied, errs.GatewayTimeout)
	pull.Gives = []restapi.Media{{Type: mediaJSON, Of: PullResult{}}}
	pull.Description = "Without a repository it makes the workspace what it was when the native version was saved. With one it merges what the repository has into the workspace: " +
		"key by key, so that only what was changed on both sides in the same place is a conflict. A conflict stops the pull and locks the workspace until it is settled. It can be undone like any edit."
	restapi.Register(api, pull, func(ctx context.Context, in *pullVersionInput) (*restapi.Stream, error) {
		body := PullVersion{}
		if in.Body != nil {
			body = *in.Body
		}
		return s.pull(ctx, in.WorkspaceID, in.Version, body, in.Timeout.or(regularSeconds))
	})
	pull.ID, pull.Path, pull.Summary = "pull", "/v2/workspaces/{workspaceId}/pull", "Pull from a repository"
	restapi.Register(api, pull, func(ctx context.Context, in *pullInput) (*restapi.Stream, error) {
		body := PullLatest{}
		if in.Body != nil {
			body = *in.Body
		}
		if body.Version == "" {
			body.Version = "latest"
		}
		return s.pull(ctx, in.WorkspaceID, body.Version, body.PullVersion, in.Timeout.or(regularSeconds))
	})
}

// pull goes back to a native version, or pulls from a repository.
func (s *versions) pull(ctx context.Context, ref, version string, body PullVersion, seconds int) (*restapi.Stream, error) {
	d := s.engine.Definitions
	if body.Repository == nil {
		native := planned{operation: "pull", dryRun: body.DryRun, planID: body.PlanID}
		after, written, deleted, err := d.Rollback(ctx, ref, version, native.accept)
		if err != nil {
			return native.answer(err)
		}
		return restapi.Answer(http.StatusOK, PullResult{Imported: orEmpty(written), Deleted: orEmpty(deleted), Errors: []archives.Finding{}, Workspace: view(after, d.Clock.Now())})
	}
	pull := versioning.Pull{RepositoryID: body.Repository.ID, Version: version, Discard: body.DiscardLocalChanges, PlanID: body.PlanID}
	if body.DryRun {
		plan, err := s.versioning.PlanPull(ctx, ref, pull)
		if err != nil {
			return nil, err
		}
		return restapi.Answer(http.StatusOK, plan)
	}
	job, err := s.versioning.StartPull(ctx, ref, pull)
	if err != nil {
		return nil, err
	}
	return s.await(ctx, seconds, job, s.pulled(ctx))
}

// pulled shows what a pull did.
func (s *versions) pulled(ctx context.Context) func(result any) (any, error) {
	return func(result any) (any, error) {
		done, _ := result.(versioning.Pulled)
		after, err := s.engine.Get(ctx, done.Workspace)
		if err != nil {
			return nil, err
		}
		findings := done.Findings
		if findings == nil {
			findings = []archives.Finding{}
		}
		return PullResult{
			Imported: orEmpty(done.Imported), Deleted: orEmpty(done.Deleted), Errors: findings, Workspace: view(after, s.engine.Clock.Now()),
			Version: done.Version, Commit: done.Commit, Recovery: done.Recovery, PublishedApps: done.Published,
		}, nil
	}
}

func (s *versions) registerNative(api *restapi.API) {
	d, e := s.engine.Definitions, s.engine
	restapi.Register(api, versionOperation("deleteVersion", http.MethodDelete, versionsPath+"/{version}", "Delete a version", access.WorkspacesWrite),
		func(ctx context.Context, in *OfVersion) (*deletedOutput, error) {
			out := &deletedOutput{}
			out.Body.ID = in.Version
			return out, d.DeleteVersion(ctx, in.WorkspaceID, in.Version)
		})
	duplicate := versionOperation("duplicateWorkspace", http.MethodPost, versionsPath+"/{version}/duplicate", "Duplicate a workspace", access.WorkspacesWrite)
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
