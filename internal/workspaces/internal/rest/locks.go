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
)

// WriteLock is the lock that keeps others from changing a workspace.
type WriteLock struct {
	LockedAt  time.Time  `json:"lockedAt" doc:"Since when."`
	LockedBy  string     `json:"lockedBy" doc:"By whom: a user id."`
	Reason    string     `json:"reason" doc:"Why, such as manual, pull_in_progress or merge_conflict."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When it ends by itself; never when absent."`
}

func lockView(lock workspaces.Lock) *WriteLock {
	return &WriteLock{LockedAt: lock.At, LockedBy: lock.By, Reason: lock.Reason, ExpiresAt: whenSet(lock.Until)}
}

// SetWriteLock is the body that locks a workspace.
type SetWriteLock struct {
	Reason string `json:"reason,omitempty" maxLength:"100" pattern:"^[A-Za-z0-9_. -]*$" patternDescription:"letters, digits, spaces and _ . -" doc:"Why; manual when absent. A lock for merge_conflict never expires."`
}

type lockInput struct {
	InWorkspace

	Body *SetWriteLock
}

type lockOutput struct {
	Body struct {
		WriteLock *WriteLock `json:"writeLock" doc:"The lock."`
	}
}

// RegisterLocks adds the operations on the write lock.
func RegisterLocks(api *restapi.API, d *definitions.Definitions) {
	const path = "/v2/workspaces/{workspaceId}/writeLock"
	restapi.Register(api, restapi.Operation{
		ID: "setWriteLock", Method: http.MethodPost, Path: path, Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Lock a workspace", Description: "Keeps everybody from changing the content and from versioning, until the lock is cleared or expires. Needs manage_security.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.Locked},
	}, func(ctx context.Context, in *lockInput) (*lockOutput, error) {
		reason := ""
		if in.Body != nil {
			reason = in.Body.Reason
		}
		lock, err := d.SetLock(ctx, in.WorkspaceID, reason)
		out := &lockOutput{}
		out.Body.WriteLock = lockView(lock)
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "clearWriteLock", Method: http.MethodDelete, Path: path, Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Unlock a workspace", Description: "Clears any lock: of an operation that is stuck, which then cannot write any more, or of a merge conflict. Needs manage_security.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
	}, func(ctx context.Context, in *InWorkspace) (*deletedOutput, error) {
		id, err := d.ClearLock(ctx, in.WorkspaceID)
		out := &deletedOutput{}
		out.Body.ID = id
		return out, err
	})
}
