package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/engine"
)

// ExplainQuestion asks what somebody may do.
type ExplainQuestion struct {
	Action    string            `json:"action" minLength:"1" maxLength:"100" doc:"What somebody wants to do, such as read."`
	Subject   string            `json:"subject" enum:"workspaces,apps,pages,files,events,automations,secrets,secure_secrets" doc:"With what."`
	Object    map[string]any    `json:"object,omitempty" doc:"What is known of the object: its fields, as the conditions of rules name them. Of the workspace itself they are known."`
	Principal *ExplainPrincipal `json:"principal,omitempty" doc:"Who wants to; the caller when absent. Asking about others needs manage_permissions."`
}

// ExplainPrincipal is whom a question is about: exactly one of them.
type ExplainPrincipal struct {
	UserID   string `json:"userId,omitempty" maxLength:"200" doc:"A user with whom the workspace is shared, or yourself."`
	Role     string `json:"role,omitempty" maxLength:"100" doc:"Somebody with this role and no other."`
	Public   bool   `json:"public,omitempty" doc:"True for somebody who is not signed in."`
	APIKeyID string `json:"apiKeyId,omitempty" maxLength:"200" doc:"An API key of the workspace, by its id."`
}

func (p *ExplainPrincipal) subject() (engine.Subject, error) {
	if p == nil {
		return engine.Subject{}, nil
	}
	given := 0
	for _, set := range []bool{p.UserID != "", p.Role != "", p.Public, p.APIKeyID != ""} {
		if set {
			given++
		}
	}
	if given != 1 {
		return engine.Subject{}, errs.Invalid(errs.Field{Field: "principal", Message: "give exactly one of userId, role, public: true and apiKeyId"})
	}
	return engine.Subject{UserID: p.UserID, Role: p.Role, Public: p.Public, APIKeyID: p.APIKeyID}, nil
}

type explainInput struct {
	InWorkspace

	Body ExplainQuestion
}

type explainOutput struct{ Body access.Explanation }

// RegisterExplain adds the operation that explains decisions.
func RegisterExplain(api *restapi.API, e *engine.Engine) {
	restapi.Register(api, restapi.Operation{
		ID: "explainAccess", Method: http.MethodPost, Path: "/v2/workspaces/{workspaceId}/security/explain", Tag: "Security",
		Policy: access.Callers, Scope: access.WorkspacesRead, Summary: "Explain a decision",
		Description: "Says whether something is allowed, which rule decided, and what stands against the others. It is the decision itself, not a copy of it.",
		Errors:      []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
		Once:        true, // it changes nothing, and an answer that is kept would go stale
	}, func(ctx context.Context, in *explainInput) (*explainOutput, error) {
		of, err := in.Body.Principal.subject()
		if err != nil {
			return nil, err
		}
		explanation, err := e.Explain(ctx, in.WorkspaceID, engine.Question{
			Action: in.Body.Action, Subject: in.Body.Subject, Object: in.Body.Object, Of: of,
		})
		return &explainOutput{Body: explanation}, err
	})
}
