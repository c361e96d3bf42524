package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/automation/internal/code"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/restapi"
)

// Functions keeps and runs functions of custom code.
type Functions interface {
	Deploy(ctx context.Context, workspaceID string, functions *value.Object) error
	RunDeployed(ctx context.Context, workspaceID, function string, parameters *value.Object) (code.Answer, error)
}

// FunctionDefinition is a function of custom code.
type FunctionDefinition struct {
	Language   string                     `json:"language,omitempty" enum:"nodejs,python" doc:"nodejs, which is JavaScript. Python is refused."`
	Parameters map[string]json.RawMessage `json:"parameters,omitempty" doc:"The parameters, by name: {type, description}."`
	Code       string                     `json:"code" doc:"The body of the function."`
}

// FunctionsBody are functions by name.
type FunctionsBody struct {
	Functions map[string]FunctionDefinition `json:"functions" doc:"The functions, by name. They replace those that were there."`
}

type deployInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"100"`
	Body        FunctionsBody
}

type deployOutput struct{ Body FunctionsBody }

// FunctionCall is what a function is called with.
type FunctionCall struct {
	Parameters map[string]any `json:"parameters,omitempty" doc:"The values of its parameters, by name."`
}

type callInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"100"`
	Function    string `path:"function" maxLength:"200"`
	Body        FunctionCall
}

// FunctionAnswer is what a function gave back.
type FunctionAnswer struct {
	Result   any      `json:"result" doc:"What it returned."`
	Logs     []string `json:"logs" doc:"What it wrote to the console."`
	Duration float64  `json:"duration" doc:"How many milliseconds it ran."`
}

type callOutput struct{ Body FunctionAnswer }

func (h *handlers) registerFunctions(api *restapi.API) {
	restapi.Register(api, restapi.Operation{
		ID: "deployFunctions", Method: http.MethodPost, Path: "/v2/functions/{workspaceId}", Tag: tag, Summary: "Replace the functions of a workspace",
		Description: "Keeps functions of custom code that are called through this API. Automations call those of their app instance.",
		Policy:      access.Callers, Scope: access.WorkspacesWrite, Errors: []errs.Code{errs.PermissionDenied, errs.WorkspaceAccessDenied},
	}, h.deploy)
	restapi.Register(api, restapi.Operation{
		ID: "runFunction", Method: http.MethodPost, Path: "/v2/functions/{workspaceId}/run/{function}", Tag: tag, Summary: "Run a function",
		Description: "Runs a function that was deployed, in a process of its own without network, files or environment.",
		Policy:      access.Callers, Scope: access.WorkspacesWrite, Once: true, Errors: []errs.Code{errs.NotFound, errs.PermissionDenied, errs.WorkspaceAccessDenied},
	}, h.call)
}

// mayUse tells whether the caller may do something with the functions of a workspace, and gives its id.
func (h *handlers) mayUse(ctx context.Context, ref, action, subject string) (string, error) {
	id, err := h.Resolve(ctx, h.DB, ref)
	if err != nil {
		return "", err
	}
	ability, err := h.Access.Load(ctx, h.DB, id)
	if err != nil {
		return "", err
	}
	if err := ability.Check(action, subject, access.Fields{"id": id, "workspaceId": id, "runningWorkspaceId": id}); err != nil {
		return "", err
	}
	m, err := h.open(ctx, id)
	if err != nil {
		return "", err
	}
	return id, refused(awake(m))
}

func (h *handlers) deploy(ctx context.Context, in *deployInput) (*deployOutput, error) {
	id, err := h.mayUse(ctx, in.WorkspaceID, access.ActionUpdate, access.SubjectWorkspaces)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(in.Body.Functions)
	if err != nil {
		return nil, err
	}
	all, err := value.Decode(string(text))
	if err != nil {
		return nil, err
	}
	functions, _ := all.(*value.Object)
	if err := h.Code.Deploy(ctx, id, functions); err != nil {
		return nil, refused(err)
	}
	return &deployOutput{Body: in.Body}, nil
}

func (h *handlers) call(ctx context.Context, in *callInput) (*callOutput, error) {
	id, err := h.mayUse(ctx, in.WorkspaceID, access.ActionTest, access.SubjectAutomations)
	if err != nil {
		return nil, err
	}
	parameters, _ := value.From(in.Body.Parameters).(*value.Object)
	answer, err := h.Code.RunDeployed(ctx, id, in.Function, parameters)
	if err != nil {
		return nil, refused(err)
	}
	result := json.RawMessage("null")
	if text, ok := value.JSON(answer.Result, "", largestResult); ok && text != "" {
		result = json.RawMessage(text)
	}
	const perMilli = 1000
	return &callOutput{Body: FunctionAnswer{Result: result, Logs: answer.Logs, Duration: float64(answer.Duration.Microseconds()) / perMilli}}, nil
}

// largestResult bounds what a function may give back, in bytes.
const largestResult = 8 << 20
