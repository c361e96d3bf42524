// Package rest is the public door of the runtime: endpoints of automations, the test of one, and functions of custom code.
package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
)

// Models gives workspaces as they are now.
type Models interface {
	Of(ctx context.Context, workspaceID string) (*model.Model, error)
}

// Engine runs automations.
type Engine interface {
	Execute(ctx context.Context, run *machine.Run, automation *machine.Automation, payload *value.Object) machine.Result
}

// Runs begins runs that a request starts.
type Runs interface {
	Begin(ctx context.Context, b runs.Beginning) (context.Context, *machine.Run)
}

// Deps is what the operations need.
type Deps struct {
	DB     *sqldb.DB
	Access *access.Enforcer
	// Resolve gives the id of the workspace that a caller names.
	Resolve  func(ctx context.Context, r sqldb.Reader, ref string) (string, error)
	Models   Models
	Engine   Engine
	Runs     Runs
	Recorder machine.Recorder
	Code     Functions
	// Limits are those of requests to endpoints, TestLimits of requests to the test of an automation.
	Limits, TestLimits webhook.Limits
	// Answers are the settings of what is answered.
	Answers webhook.Options
}

const (
	tag  = "Automations"
	base = "/v2/workspaces/{workspaceId}"
)

// Register adds the operations to the API.
func Register(api *restapi.API, deps Deps) {
	h := &handlers{Deps: deps}
	h.registerEndpoints(api)
	h.registerTest(api)
	h.registerFunctions(api)
}

// handlers answer requests.
type handlers struct{ Deps }

// open gives the workspace that a request names, ready to run.
func (h *handlers) open(ctx context.Context, ref string) (*model.Model, error) {
	id, err := h.Resolve(ctx, h.DB, ref)
	if err != nil {
		return nil, err
	}
	m, err := h.Models.Of(ctx, id)
	if err == nil && m.Deleted {
		err = errs.Missing("workspaces", id)
	}
	return m, err
}

// awake refuses a workspace that may not run anything.
func awake(m *model.Model) error {
	if !m.Suspended {
		return nil
	}
	return machine.Fail(machine.Suspended, "The workspace is suspended: nothing runs in it. Ask those who run this installation.").
		With(machine.Payload("workspaceId", m.Root.WorkspaceID, "reason", m.SuspendedReason))
}

// settled refuses a session that still owes its second factor: it is nobody yet.
func settled(r *http.Request) error {
	if p := access.From(r.Context()); p.Pending {
		return access.ByRules.Check(p)
	}
	return nil
}
