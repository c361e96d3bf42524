package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/engine"
)

// BinnedWorkspace is a deleted workspace that can still be restored.
type BinnedWorkspace struct {
	ID        string    `json:"id" doc:"The workspace's id."`
	Slug      string    `json:"slug" doc:"The slug that it had."`
	Name      string    `json:"name" doc:"Its name."`
	DeletedAt time.Time `json:"deletedAt" doc:"When it was deleted."`
	DeletedBy string    `json:"deletedBy" doc:"By whom."`
	PurgedAt  time.Time `json:"purgedAt" doc:"When it is removed for good."`
}

func binView(e *engine.Engine, w workspaces.Workspace) BinnedWorkspace {
	return BinnedWorkspace{ID: w.ID, Slug: w.DeletedSlug, Name: w.Name, DeletedAt: w.DeletedAt, DeletedBy: w.DeletedBy, PurgedAt: e.BinnedUntil(w)}
}

type binOutput struct{ Body []BinnedWorkspace }

type ofBin struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The id of a deleted workspace."`
}

// RestoreWorkspace is the body that restores a workspace.
type RestoreWorkspace struct {
	Slug string `json:"slug,omitempty" maxLength:"64" doc:"Another slug, when its own is taken by now."`
}

type restoreInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The id of a deleted workspace."`
	Body        *RestoreWorkspace
}

// SuspendWorkspace is the body that suspends a workspace.
type SuspendWorkspace struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why, for its owners."`
}

type suspendInput struct {
	InWorkspace

	Body *SuspendWorkspace
}

type suspendOutput struct{ Body Workspace }

// RegisterBin adds the operations on deleted workspaces, and on suspending.
func RegisterBin(api *restapi.API, e *engine.Engine) {
	const path = "/v2/workspaces/bin"
	restapi.Register(api, restapi.Operation{
		ID: "listBin", Method: http.MethodGet, Path: path, Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List deleted workspaces", Description: "Those that the caller owned and can still restore.",
	}, func(ctx context.Context, _ *struct{}) (*binOutput, error) {
		binned, err := e.Bin(ctx)
		out := &binOutput{Body: make([]BinnedWorkspace, 0, len(binned))}
		for _, w := range binned {
			out.Body = append(out.Body, binView(e, w))
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "restoreWorkspace", Method: http.MethodPost, Path: "/v2/workspaces/{workspaceId}/restore", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Restore a deleted workspace", Description: "With everything it had: documents, history, secrets, files, permissions and keys.",
		Errors: []errs.Code{errs.NotFound, errs.AlreadyExists}, Gives: []restapi.Media{{Type: mediaJSON, Of: WorkspaceDetail{}}},
	}, func(ctx context.Context, in *restoreInput) (*documentOutput, error) {
		slug := ""
		if in.Body != nil {
			slug = in.Body.Slug
		}
		w, err := e.Restore(ctx, in.WorkspaceID, slug)
		if err != nil {
			return nil, err
		}
		return detailed(ctx, e.Definitions, w, definitions.Current)
	})
	restapi.Register(api, restapi.Operation{
		ID: "eraseWorkspace", Method: http.MethodDelete, Path: "/v2/workspaces/{workspaceId}/bin", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Remove a deleted workspace for good", Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *ofBin) (*deletedOutput, error) {
		out := &deletedOutput{}
		out.Body.ID = in.WorkspaceID
		return out, e.Erase(ctx, in.WorkspaceID)
	})
	registerSuspension(api, e)
}

func registerSuspension(api *restapi.API, e *engine.Engine) {
	const path = "/v2/workspaces/{workspaceId}/suspension"
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	suspend := func(ctx context.Context, ref string, suspended bool, reason string) (*suspendOutput, error) {
		w, err := e.Suspend(ctx, ref, suspended, reason)
		return &suspendOutput{Body: view(w, e.Clock.Now())}, err
	}
	restapi.Register(api, restapi.Operation{
		ID: "suspendWorkspace", Method: http.MethodPut, Path: path, Tag: "Workspaces", Policy: access.SuperAdmins, Scope: access.Account,
		Summary: "Suspend a workspace", Description: "Nothing runs in it until it is resumed; its owners can still read and change it.", Errors: denied,
	}, func(ctx context.Context, in *suspendInput) (*suspendOutput, error) {
		reason := ""
		if in.Body != nil {
			reason = in.Body.Reason
		}
		return suspend(ctx, in.WorkspaceID, true, reason)
	})
	restapi.Register(api, restapi.Operation{
		ID: "resumeWorkspace", Method: http.MethodDelete, Path: path, Tag: "Workspaces", Policy: access.SuperAdmins, Scope: access.Account,
		Summary: "Resume a suspended workspace", Errors: denied,
	}, func(ctx context.Context, in *InWorkspace) (*suspendOutput, error) {
		return suspend(ctx, in.WorkspaceID, false, "")
	})
}
