package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/engine"
)

// WorkspaceSecurity is the security document of a workspace. Its values are passed on as they were written.
type WorkspaceSecurity struct {
	Authorizations *Authorizations `json:"authorizations,omitempty" doc:"The roles of the workspace and what they may do."`
	Authentication *Authentication `json:"authentication,omitempty" doc:"How people sign in to its pages."`
}

// Authorizations are the roles and the rules of a security document.
type Authorizations struct {
	Roles map[string]SecurityRole `json:"roles,omitempty" doc:"The roles besides owner, by name."`
	Rules []SecurityRule          `json:"rules,omitempty" nullable:"false" doc:"The rules. The last one that matches decides."`
}

// Authentication is the OIDC client of a workspace's pages.
type Authentication struct {
	ClientID string `json:"clientId,omitempty" doc:"The OIDC client of the workspace's pages."`
}

// SecurityRole declares a role.
type SecurityRole struct {
	Description string                     `json:"description,omitempty" doc:"What the role is for."`
	Auth        map[string]json.RawMessage `json:"auth,omitempty" doc:"Gives the role to everybody who signed in with one of these providers and fulfils its conditions: svc for accounts of this installation, anonymous for visitors, apiKey for automations."`
}

// SecurityRule allows, or denies, actions on subjects.
type SecurityRule struct {
	Role       json.RawMessage            `json:"role,omitempty" doc:"The role the rule is for, or a list of roles; everyone when absent."`
	Action     json.RawMessage            `json:"action" doc:"What is allowed, or a list: manage stands for everything."`
	Subject    json.RawMessage            `json:"subject" doc:"On what, or a list: workspaces, apps, pages, files, events, automations, secrets, secure_secrets."`
	Conditions map[string]json.RawMessage `json:"conditions,omitempty" doc:"What must be true of the object: fields and values, or operators such as $in and $regex."`
	Inverted   bool                       `json:"inverted,omitempty" doc:"Denies instead."`
	Reason     string                     `json:"reason,omitempty" doc:"What somebody is told whom the rule denies something."`
	Fields     []string                   `json:"fields,omitempty" nullable:"false" doc:"Only these fields of the object."`
	Priority   *float64                   `json:"priority,omitempty" doc:"Has no effect: the order of the rules decides."`
}

type securityOutput struct {
	ETag string `header:"ETag" doc:"The revision; send it as If-Match with a change."`
	Body WorkspaceSecurity
}

func securityAnswer(stored access.StoredSecurity, err error) (*securityOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &securityOutput{ETag: restapi.ETag(stored.Revision)}
	text, err := json.Marshal(stored.Security)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(text, &out.Body)
}

type setSecurityInput struct {
	InWorkspace

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
	Body    WorkspaceSecurity
}

type rolesOutput struct{ Body []access.RoleName }

type readSecurityInput struct {
	InWorkspace

	Accept string `header:"Accept" maxLength:"1000" doc:"application/yaml asks for the text, byte for byte as it was written."`
}

// readSecurity answers in the form that the client asks for.
func readSecurity(ctx context.Context, e *engine.Engine, in *readSecurityInput) (*documentOutput, error) {
	stored, err := securityAnswer(e.Security(ctx, in.WorkspaceID))
	if err != nil {
		return nil, err
	}
	out := &documentOutput{Status: http.StatusOK, ETag: stored.ETag, ContentType: mediaJSON}
	if !wantsYAML(in.Accept) {
		out.Body, err = json.Marshal(stored.Body)
		out.Body = append(out.Body, '\n')
		return out, err
	}
	document, err := e.Definitions.Read(ctx, in.WorkspaceID, dsul.Security, "")
	if err != nil {
		return nil, err
	}
	out.ContentType, out.Body = mediaYAML+"; charset=utf-8", document.Parsed.Text
	return out, nil
}

// RegisterSecurity adds the operations on the security document.
func RegisterSecurity(api *restapi.API, e *engine.Engine) {
	const path = "/v2/workspaces/{workspaceId}/security"
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "getSecurity", Method: http.MethodGet, Path: path, Tag: "Security", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Read the security document", Description: "The roles and rules of a workspace.", Errors: denied,
		Gives: []restapi.Media{{Type: mediaJSON, Of: securityOutput{}.Body}, {Type: mediaYAML, Of: ""}},
	}, func(ctx context.Context, in *readSecurityInput) (*documentOutput, error) {
		return readSecurity(ctx, e, in)
	})
	restapi.Register(api, restapi.Operation{
		ID: "setSecurity", Method: http.MethodPut, Path: path, Tag: "Security", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Replace the security document",
		Description: "Replaces the roles and rules of a workspace. It is refused when the caller could not manage the security afterwards, " +
			"when it gives anybody more than the caller has, and when it removes a role that somebody has.",
		Errors: append(denied, errs.Conflict),
	}, func(ctx context.Context, in *setSecurityInput) (*securityOutput, error) {
		document, err := json.Marshal(in.Body)
		if err != nil {
			return nil, err
		}
		return securityAnswer(e.SetSecurity(ctx, in.WorkspaceID, in.IfMatch, document))
	})
	restapi.Register(api, restapi.Operation{
		ID: "listRoles", Method: http.MethodGet, Path: path + "/roles", Tag: "Security", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List roles", Description: "The roles that can be given to people in a workspace.", Errors: denied,
	}, func(ctx context.Context, in *InWorkspace) (*rolesOutput, error) {
		roles, err := e.Roles(ctx, in.WorkspaceID)
		return &rolesOutput{Body: roles}, err
	})
}
