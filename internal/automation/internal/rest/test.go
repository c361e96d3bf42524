package rest

import (
	"encoding/json"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/automation/internal/modules/shown"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/restapi"
)

// TestRequest is what an automation is tried with.
type TestRequest struct {
	Payload any `json:"payload,omitempty" doc:"What the automation is called with: an object."`
}

func (h *handlers) registerTest(api *restapi.API) {
	api.Raw(restapi.Operation{
		ID: "testAutomation", Method: http.MethodPost, Path: base + "/test/{automationSlug...}", Tag: tag, Summary: "Try an automation",
		Description: "Runs an automation, whatever its trigger, for those who may test automations of the workspace: owners and editors. With trace=true the answer has every step.",
		Policy:      access.Callers, Scope: access.WorkspacesWrite, MaxBody: h.TestLimits.Total, Errors: []errs.Code{errs.NotFound, errs.PermissionDenied, errs.WorkspaceAccessDenied},
		Takes: []restapi.Media{{Type: "application/json", Of: TestRequest{}}, {Type: "multipart/form-data"}},
		Gives: []restapi.Media{{Type: "application/json", Of: map[string]any{}}},
		Query: []restapi.Param{{Name: "trace", Doc: "true to get every step with its timing, input and output."}, {Name: "rebuild", Doc: "Accepted for older clients; what runs is never stale."}},
	}, h.test)
}

// test runs an automation for who works on it.
func (h *handlers) test(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := h.Resolve(ctx, h.DB, r.PathValue("workspaceId"))
	if err != nil {
		return err
	}
	slug := r.PathValue("automationSlug")
	if err := h.mayTest(r, id, slug); err != nil {
		return err
	}
	m, err := h.open(ctx, id)
	if err != nil {
		return err
	}
	given, err := h.given(r)
	if err != nil {
		return refused(err)
	}
	stream := webhook.NewStream(w, h.Answers)
	given.Set("$http", stream)
	output, err := h.try(r, m, slug, given)
	if err != nil {
		stream.Fail(err)
		return nil
	}
	stream.Finish(output)
	return nil
}

func (h *handlers) mayTest(r *http.Request, workspaceID, slug string) error {
	ability, err := h.Access.Load(r.Context(), h.DB, workspaceID)
	if err != nil {
		return err
	}
	return ability.Check(access.ActionTest, access.SubjectAutomations, access.Fields{
		"id": slug, "slug": slug, "workspaceId": workspaceID, "runningWorkspaceId": workspaceID,
	})
}

// try executes the automation.
func (h *handlers) try(r *http.Request, m *model.Model, slug string, given *value.Object) (any, error) {
	if err := awake(m); err != nil {
		return nil, err
	}
	automation, ok := m.Find(slug)
	if !ok || automation.Disabled {
		return nil, machine.Fail(machine.ObjectNotFound, "Automation not found").With(machine.Payload("workspaceId", m.Root.WorkspaceID, "automationSlug", slug))
	}
	ctx, run := h.Runs.Begin(r.Context(), beginning(r, m, catalogue.Trigger{Type: "automation", Value: slug}))
	traced := r.URL.Query().Get("trace") == "true"
	if traced {
		run.Trace = new(machine.Trace)
	}
	if err := h.interactions(ctx, run, []model.Match{{Automation: automation}}); err != nil {
		return nil, err
	}
	result := h.Engine.Execute(ctx, run, automation, given)
	if !traced {
		return result.Output, result.Err
	}
	steps, err := json.Marshal(run.Trace)
	if err != nil {
		return nil, err
	}
	answer := machine.Payload("output", result.Output, "break", result.Broken)
	if result.Err != nil {
		answer.Set("error", shown.Object(shown.Failure(result.Err)))
	}
	all, err := value.Decode(string(steps))
	answer.Set("trace", all)
	return answer, err
}

// given is the payload of the request.
func (h *handlers) given(r *http.Request) (*value.Object, error) {
	request, err := webhook.Read(r, h.TestLimits, nil)
	if err != nil {
		return nil, err
	}
	body, ok := request.Get("body").(*value.Object)
	if !ok {
		return nil, errs.Invalid(errs.Field{Field: "body", Message: "send an object with payload"})
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return copied(body), nil
	}
	for key := range body.All() {
		if key != "payload" {
			return nil, errs.Invalid(errs.Field{Field: key, Message: "this is not known; send payload"})
		}
	}
	switch said := body.Get("payload").(type) {
	case *value.Object:
		return copied(said), nil
	case nil, value.Undefined:
		return value.NewObject(1), nil
	default:
		return nil, errs.Invalid(errs.Field{Field: "payload", Message: "this must be an object"})
	}
}

func copied(o *value.Object) *value.Object {
	made := value.NewObject(o.Len() + 1)
	for key, v := range o.All() {
		made.Set(key, v)
	}
	return made
}
