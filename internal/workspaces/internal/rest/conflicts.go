package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

type conflictsOutput struct{ Body versioning.Conflicts }

type resolveInput struct {
	InWorkspace
	Waiting

	Body versioning.Resolutions
}

// ResolveResult is what settling conflicts came to.
type ResolveResult struct {
	Resolved bool                  `json:"resolved" doc:"Whether all conflicts are settled and the merge is applied: the workspace is unlocked."`
	Left     *versioning.Conflicts `json:"left,omitempty" doc:"The conflicts, when some are open."`
	Result   *PullResult           `json:"result,omitempty" doc:"What the merge did, when all are settled."`
}

type driftInput struct {
	InWorkspace

	Repository string `query:"repository" required:"true" minLength:"1" maxLength:"200" doc:"The id of the repository."`
}

type driftOutput struct{ Body versioning.Drift }

// RegisterConflicts adds the operations on conflicts, and on how workspaces and repositories differ.
func RegisterConflicts(api *restapi.API, e *engine.Engine, v *versioning.Versioning) {
	const path = "/v2/workspaces/{workspaceId}"
	s := &versions{engine: e, versioning: v}
	restapi.Register(api, restapi.Operation{
		ID: "listConflicts", Method: http.MethodGet, Path: path + "/conflicts", Tag: "Versions", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List conflicts", Description: "The places for which the last pull locked the workspace, key by key, with what both had and what each side has made of it.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
	}, func(ctx context.Context, in *InWorkspace) (*conflictsOutput, error) {
		found, err := v.Conflicts(ctx, in.WorkspaceID)
		return &conflictsOutput{Body: found}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "resolveConflicts", Method: http.MethodPost, Path: path + "/conflicts/resolve", Tag: "Versions", Policy: access.Callers, Scope: access.WorkspacesWrite, Once: true,
		Summary: "Settle conflicts", Description: "Settles conflicts one by one, or all of them with one side. With the last one the merge is checked, " +
			"written to the intermediate branch as a commit with both sides as its parents, imported, and the workspace is unlocked.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.Locked, errs.Conflict}, Gives: []restapi.Media{{Type: mediaJSON, Of: ResolveResult{}}},
	}, s.resolve)
	restapi.Register(api, restapi.Operation{
		ID: "getDrift", Method: http.MethodGet, Path: path + "/drift", Tag: "Versions", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Compare with a repository", Description: "How the workspace and the repository differ, asked now. In the background every sync is watched too, and workspaces.drift.detected tells of a change.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.PermissionDenied, errs.GatewayTimeout},
	}, func(ctx context.Context, in *driftInput) (*driftOutput, error) {
		found, err := v.Drift(ctx, in.WorkspaceID, in.Repository)
		return &driftOutput{Body: found}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "checkRepository", Method: http.MethodPost, Path: path + "/repositories/{repositoryId}/check", Tag: "Versions", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Check a repository", Description: "Tries to reach the repository with the credentials that are configured. An SSH server is known by the keys that it had at the first contact; when it got new ones, forgetHostKey pins those, for who may manage the repositories.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.PermissionDenied, errs.GatewayTimeout},
	}, func(ctx context.Context, in *checkRepositoryInput) (*checkRepositoryOutput, error) {
		found, err := v.Check(ctx, in.WorkspaceID, in.RepositoryID, in.Body != nil && in.Body.ForgetHostKey)
		return &checkRepositoryOutput{Body: found}, err
	})
	s.registerOperations(api)
	s.registerUndo(api)
}

// CheckRepository is the body that checks a repository.
type CheckRepository struct {
	ForgetHostKey bool `json:"forgetHostKey,omitempty" doc:"Whether the keys of an SSH server that were pinned before are forgotten."`
}

type checkRepositoryInput struct {
	InWorkspace

	RepositoryID string `path:"repositoryId" maxLength:"200" doc:"The id of the repository."`
	Body         *CheckRepository
}

type checkRepositoryOutput struct{ Body versioning.Checked }

func (s *versions) resolve(ctx context.Context, in *resolveInput) (*restapi.Stream, error) {
	if in.Body.All == "" && len(in.Body.Resolutions) == 0 {
		return nil, errs.Invalid(errs.Field{Field: "resolutions", Message: "say how to settle at least one conflict, or all"})
	}
	if in.Body.DryRun {
		plan, err := s.versioning.PlanResolve(ctx, in.WorkspaceID, in.Body)
		if err != nil {
			return nil, err
		}
		return restapi.Answer(http.StatusOK, plan)
	}
	settled, err := s.versioning.Resolve(ctx, in.WorkspaceID, in.Body)
	if err != nil {
		return nil, err
	}
	if settled.Job == nil {
		return restapi.Answer(http.StatusOK, ResolveResult{Left: &settled.Left})
	}
	return s.await(ctx, in.Timeout.or(regularSeconds), settled.Job, func(result any) (any, error) {
		shown, err := s.pulled(ctx)(result)
		done, _ := shown.(PullResult)
		return ResolveResult{Resolved: true, Result: &done}, err
	})
}

// OperationStatus is an operation of a workspace: a push, a pull, an import.
type OperationStatus struct {
	ID           string          `json:"id" doc:"Its id."`
	Kind         string          `json:"kind" doc:"What it is: push, pull, resolve, import, bulkPush or bulkImport."`
	Status       string          `json:"status" enum:"running,succeeded,failed" doc:"How far it is."`
	Step         string          `json:"step,omitempty" doc:"What it is doing, while it runs."`
	RepositoryID string          `json:"repositoryId,omitempty" doc:"The repository."`
	StartedAt    time.Time       `json:"startedAt" doc:"When it began."`
	StartedBy    string          `json:"startedBy,omitempty" doc:"By whom."`
	EndedAt      *time.Time      `json:"endedAt,omitempty" doc:"When it ended."`
	Result       json.RawMessage `json:"result,omitempty" doc:"What it gave, when it succeeded."`
	Error        json.RawMessage `json:"error,omitempty" doc:"Why it failed, as an error body."`
}

func operationView(o store.Operation) OperationStatus {
	shown := OperationStatus{
		ID: o.ID, Kind: kindOf(o.Kind), Status: o.Status, RepositoryID: o.RepositoryID, StartedAt: o.StartedAt, StartedBy: o.StartedBy, EndedAt: whenSet(o.EndedAt),
	}
	if o.Status == store.Running {
		shown.Step = o.Step
	}
	if o.Result != "" && o.Result != "null" {
		if o.Status == store.Failed {
			shown.Error = json.RawMessage(o.Result)
		} else {
			shown.Result = json.RawMessage(o.Result)
		}
	}
	return shown
}

// kindOf is what an operation is that holds a lock for a reason: bulkPush for bulk_push_in_progress.
func kindOf(reason string) string {
	kind := ""
	for word := range strings.SplitSeq(strings.TrimSuffix(reason, "_in_progress"), "_") {
		if kind != "" && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		kind += word
	}
	return kind
}

type operationsOutput struct{ Body []OperationStatus }

type operationInput struct {
	InWorkspace

	OperationID string `path:"operationId" maxLength:"100" doc:"The id of the operation."`
	SSE         bool   `query:"sse" doc:"Whether to stream its steps as server-sent events until it has ended; Accept: text/event-stream means the same."`
}

// mostOperations is how many operations are listed.
const mostOperations = 100

func (s *versions) registerOperations(api *restapi.API) {
	const path = "/v2/workspaces/{workspaceId}/operations"
	list := versionOperation("listOperations", http.MethodGet, path, "List operations", access.WorkspacesRead)
	list.Description = "The pushes, pulls and imports of the last days, the newest first."
	restapi.Register(api, list, func(ctx context.Context, in *InWorkspace) (*operationsOutput, error) {
		found, err := s.versioning.Operations(ctx, in.WorkspaceID, mostOperations)
		out := &operationsOutput{Body: make([]OperationStatus, 0, len(found))}
		for _, o := range found {
			out.Body = append(out.Body, operationView(o))
		}
		return out, err
	})
	get := versionOperation("getOperation", http.MethodGet, path+"/{operationId}", "Read or stream an operation", access.WorkspacesRead)
	get.Once, get.Gives = true, []restapi.Media{{Type: mediaJSON, Of: OperationStatus{}}, {Type: "text/event-stream", Of: ""}}
	restapi.Register(api, get, func(ctx context.Context, in *operationInput) (*restapi.Stream, error) {
		found, err := s.versioning.Operation(ctx, in.WorkspaceID, in.OperationID)
		if err != nil {
			return nil, err
		}
		return restapi.Streaming(func(w http.ResponseWriter, r *http.Request) { s.operation(w, r, in, found) }), nil
	})
}

// operation answers with an operation, or streams it until it has ended.
func (s *versions) operation(w http.ResponseWriter, r *http.Request, in *operationInput, found store.Operation) {
	if !httpx.WantsEvents(r) {
		w.Header().Set("Content-Type", mediaJSON)
		_ = json.NewEncoder(w).Encode(operationView(found)) // a client that has left is told nothing
		return
	}
	r, done := httpx.Endless(w, r)
	defer done()
	events := httpx.NewEvents(w)
	var said string
	for {
		text, err := json.Marshal(operationView(found))
		if err != nil {
			return
		}
		if string(text) != said {
			said = string(text)
			err = events.Send(text)
		} else {
			err = events.Beat()
		}
		if err != nil || found.Status != store.Running || !pause(r.Context(), s.engine.Clock, time.Second) {
			return
		}
		if found, err = s.versioning.Operation(r.Context(), in.WorkspaceID, in.OperationID); err != nil {
			return
		}
	}
}

// pause waits, and tells whether there is still somebody who waits with it.
func pause(ctx context.Context, c clock.Clock, d time.Duration) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

func (s *versions) registerUndo(api *restapi.API) {
	undo := versionOperation("undoLast", http.MethodPost, "/v2/workspaces/{workspaceId}/undo", "Undo the last pull or import", access.WorkspacesWrite)
	undo.Description = "Takes back the last pull, import or rollback. A document that was changed since is a conflict, and nothing is done."
	undo.Errors = append(undo.Errors, errs.Conflict)
	restapi.Register(api, undo, func(ctx context.Context, in *InWorkspace) (*undoOutput, error) {
		after, written, deleted, err := s.engine.Definitions.UndoLast(ctx, in.WorkspaceID, definitions.ByPull, definitions.ByImport, definitions.ByRollback)
		return &undoOutput{Body: UndoResult{Revision: after.Revision, Imported: orEmpty(written), Deleted: orEmpty(deleted)}}, err
	})
}
