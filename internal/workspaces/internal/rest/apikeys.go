package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/engine"
)

// APIKey is a key of a workspace as clients see it.
type APIKey struct {
	ID          string           `json:"id" doc:"The key's id, by which it is changed and deleted."`
	APIKey      string           `json:"apiKey" doc:"The key itself when it was just made; afterwards only its beginning and its end."` //nolint:gosec // shown once
	Name        string           `json:"name" doc:"What it is for."`
	Rules       []access.KeyRule `json:"rules" nullable:"false" doc:"What it may do."`
	SubjectType string           `json:"subjectType" enum:"workspaces" doc:"What it belongs to."`
	SubjectID   string           `json:"subjectId" doc:"The id of its workspace."`
	Disabled    bool             `json:"disabled" doc:"Whether it is refused for the time being."`
	ExpiresAt   *time.Time       `json:"expiresAt,omitempty" doc:"When it ends; never when absent."`
	LastUsedAt  *time.Time       `json:"lastUsedAt,omitempty" doc:"When it was last used, to the minute; absent when it never was."`
	CreatedAt   time.Time        `json:"createdAt" doc:"When it was made."`
}

func keyView(k access.APIKey) APIKey {
	return APIKey{
		ID: k.ID, APIKey: k.Masked(), Name: k.Name, Rules: k.ShownRules(), SubjectType: access.SubjectWorkspaces, SubjectID: k.WorkspaceID,
		Disabled: k.Disabled, ExpiresAt: whenSet(k.ExpiresAt), LastUsedAt: whenSet(k.LastUsedAt), CreatedAt: k.CreatedAt,
	}
}

func whenSet(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// APIKeyRule is a rule of a key as it is asked for. Its conditions are made by the service.
type APIKeyRule struct {
	Action  json.RawMessage `json:"action" doc:"What the key may do, or a list, such as read."`
	Subject json.RawMessage `json:"subject" doc:"With what, or a list: workspaces, apps, pages, files, events, automations, secrets."`
}

// WriteAPIKey is the body that makes or replaces a key.
type WriteAPIKey struct {
	Name      string       `json:"name" minLength:"1" maxLength:"200" doc:"What the key is for."`
	Rules     []APIKeyRule `json:"rules" maxItems:"100" nullable:"false" doc:"What the key may do, and no more than you may."`
	Disabled  bool         `json:"disabled,omitempty" doc:"Refuses the key for the time being."`
	ExpiresAt *time.Time   `json:"expiresAt,omitempty" doc:"When the key ends; never when absent."`
}

func (w WriteAPIKey) request() (access.KeyRequest, error) {
	request := access.KeyRequest{Name: w.Name, Disabled: w.Disabled}
	if w.ExpiresAt != nil {
		request.ExpiresAt = w.ExpiresAt.UTC().Truncate(time.Millisecond) // as it is stored
	}
	written := make([]map[string]any, 0, len(w.Rules))
	for _, rule := range w.Rules {
		var action, subject any
		if err := json.Unmarshal(rule.Action, &action); err != nil {
			return request, err
		}
		if err := json.Unmarshal(rule.Subject, &subject); err != nil {
			return request, err
		}
		written = append(written, map[string]any{"action": action, "subject": subject})
	}
	var err error
	request.Rules, err = access.ParseKeyRules(written)
	return request, err
}

type keysOutput struct{ Body []APIKey }

type keyOutput struct {
	Location string `header:"Location"`
	Body     APIKey
}

func keyAnswer(k access.APIKey, err error) (*keyOutput, error) {
	if err != nil {
		return nil, err
	}
	return &keyOutput{Body: keyView(k)}, nil
}

// OfKey names a key of a workspace; inputs embed it.
type OfKey struct {
	InWorkspace

	APIKey string `path:"apiKey" maxLength:"200" doc:"The key's id. The key itself is accepted too, but does not belong into an address."` //nolint:gosec // what names a key
}

type createKeyInput struct {
	InWorkspace

	Body WriteAPIKey
}

type updateKeyInput struct {
	OfKey

	Body WriteAPIKey
}

type deletedKeyOutput struct {
	Body struct {
		ID     string `json:"id" doc:"The id of the deleted key."`
		APIKey string `json:"apiKey" doc:"Its beginning and its end."` //nolint:gosec // masked
	}
}

// RegisterAPIKeys adds the operations on API keys.
func RegisterAPIKeys(api *restapi.API, e *engine.Engine) {
	const path = "/v2/workspaces/{workspaceId}/security/apikeys"
	operation := func(id, method, path, summary string, scope access.Scope) restapi.Operation {
		return restapi.Operation{
			ID: id, Method: method, Path: path, Tag: "API keys", Summary: summary, Policy: access.Callers, Scope: scope,
			Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
		}
	}
	restapi.Register(api, operation("listApiKeys", http.MethodGet, path, "List API keys", access.WorkspacesRead),
		func(ctx context.Context, in *InWorkspace) (*keysOutput, error) {
			keys, err := e.APIKeys(ctx, in.WorkspaceID)
			out := &keysOutput{Body: make([]APIKey, 0, len(keys))}
			for _, key := range keys {
				out.Body = append(out.Body, keyView(key))
			}
			return out, err
		})
	restapi.Register(api, operation("getApiKey", http.MethodGet, path+"/{apiKey}", "Read an API key", access.WorkspacesRead),
		func(ctx context.Context, in *OfKey) (*keyOutput, error) {
			return keyAnswer(e.APIKey(ctx, in.WorkspaceID, in.APIKey))
		})
	create := operation("createApiKey", http.MethodPost, path, "Make an API key", access.WorkspacesWrite)
	create.Description = "Makes a key for programs. It is shown once, in this answer, and cannot be recovered. It can do no more than you, and you must have signed in: neither a key nor an access token can make one."
	create.Status, create.Once, create.Errors = http.StatusCreated, true, append(create.Errors, errs.QuotaExceeded)
	restapi.Register(api, create, func(ctx context.Context, in *createKeyInput) (*keyOutput, error) { return createKey(ctx, e, in) })
	restapi.Register(api, operation("updateApiKey", http.MethodPut, path+"/{apiKey}", "Replace what an API key may do", access.WorkspacesWrite),
		func(ctx context.Context, in *updateKeyInput) (*keyOutput, error) {
			request, err := in.Body.request()
			if err != nil {
				return nil, err
			}
			return keyAnswer(e.UpdateAPIKey(ctx, in.WorkspaceID, in.APIKey, request))
		})
	restapi.Register(api, operation("deleteApiKey", http.MethodDelete, path+"/{apiKey}", "Delete an API key", access.WorkspacesWrite),
		func(ctx context.Context, in *OfKey) (*deletedKeyOutput, error) {
			key, err := e.DeleteAPIKey(ctx, in.WorkspaceID, in.APIKey)
			out := &deletedKeyOutput{}
			out.Body.ID, out.Body.APIKey = key.ID, key.Masked()
			return out, err
		})
}

func createKey(ctx context.Context, e *engine.Engine, in *createKeyInput) (*keyOutput, error) {
	request, err := in.Body.request()
	if err != nil {
		return nil, err
	}
	key, secret, err := e.CreateAPIKey(ctx, in.WorkspaceID, request)
	out, err := keyAnswer(key, err)
	if err != nil {
		return nil, err
	}
	out.Body.APIKey = secret
	out.Location = "/v2/workspaces/" + key.WorkspaceID + "/security/apikeys/" + key.ID
	return out, nil
}
