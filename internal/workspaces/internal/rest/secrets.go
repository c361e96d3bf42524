package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/vault"
	"atelier/internal/workspaces/internal/secrets"
)

// Secret is a secret of a workspace as clients see it: everything but its value, which nobody can read again.
type Secret struct {
	ID          string    `json:"id" doc:"The secret's id."`
	Description string    `json:"description,omitempty" doc:"What it is for."`
	CreatedAt   time.Time `json:"createdAt" doc:"When it was made."`
	CreatedBy   string    `json:"createdBy" doc:"Who made it."`
	UpdatedAt   time.Time `json:"updatedAt" doc:"When its value or its description was last set."`
	UpdatedBy   string    `json:"updatedBy" doc:"Who set it last."`
}

// WriteSecret is what may be said of a secret.
type WriteSecret struct {
	Value       *vault.Secret `json:"value,omitempty" nullable:"true" writeOnly:"true" minLength:"1" maxLength:"65536" doc:"The value, at most 64 KiB. That of a secret that exists stays when it is absent or null."`
	Description *string       `json:"description,omitempty" nullable:"true" maxLength:"4000" doc:"What it is for."`
}

type secretsOutput struct {
	Body map[string]Secret `doc:"The secrets that the caller may read, by name."`
}

func secretsAnswer(all []secrets.Secret, err error) (*secretsOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &secretsOutput{Body: make(map[string]Secret, len(all))}
	for _, s := range all {
		out.Body[s.Name] = Secret{
			ID: s.ID, Description: s.Description, CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy,
		}
	}
	return out, nil
}

type writeSecretsInput struct {
	InWorkspace

	Body map[string]WriteSecret `doc:"The secrets by name: a letter or _, then letters, digits, _ and -, at most 100."`
}

func (in *writeSecretsInput) drafts() map[string]secrets.Draft {
	drafts := make(map[string]secrets.Draft, len(in.Body))
	for name, written := range in.Body {
		drafts[name] = secrets.Draft{Value: written.Value, Description: written.Description}
	}
	return drafts
}

// OfSecret names a secret of a workspace.
type OfSecret struct {
	InWorkspace

	SecretName string `path:"secretName" maxLength:"100" doc:"The secret's name."`
}

type deletedSecretOutput struct {
	Body struct {
		SecretName string `json:"secretName" doc:"The name of the deleted secret."`
	}
}

// RegisterSecrets adds the operations on secrets.
func RegisterSecrets(api *restapi.API, s *secrets.Secrets) {
	const path = "/v2/workspaces/{workspaceId}/security/secrets"
	operation := func(id, method, path, summary, description string) restapi.Operation {
		op := restapi.Operation{
			ID: id, Method: method, Path: path, Tag: "Secrets", Summary: summary, Description: description, Policy: access.Callers,
			Scope: access.WorkspacesWrite, Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
			Once: true, // not even the hash of a body with values is kept
		}
		if method == http.MethodGet {
			op.Scope = access.WorkspacesRead
		}
		return op
	}
	restapi.Register(api, operation("listSecrets", http.MethodGet, path, "List secrets",
		"The secrets that the caller may read, without their values: these are set and used as {{secret.name}}, never shown."),
		func(ctx context.Context, in *InWorkspace) (*secretsOutput, error) {
			return secretsAnswer(s.List(ctx, in.WorkspaceID))
		})
	change := operation("updateSecrets", http.MethodPatch, path, "Make or change secrets",
		"Makes the secrets that do not exist, sets those that do, and leaves all others alone. Without a value only the description changes.")
	change.Errors = append(change.Errors, errs.QuotaExceeded)
	restapi.Register(api, change, func(ctx context.Context, in *writeSecretsInput) (*secretsOutput, error) {
		return secretsAnswer(s.Merge(ctx, in.WorkspaceID, in.drafts()))
	})
	replace := operation("replaceSecrets", http.MethodPut, path, "Replace all secrets",
		"Makes the secrets those of the body: others are deleted. One that exists keeps its value when none is given. Secrets that the caller can neither read nor delete stay.")
	replace.Errors = append(replace.Errors, errs.QuotaExceeded)
	restapi.Register(api, replace, func(ctx context.Context, in *writeSecretsInput) (*secretsOutput, error) {
		return secretsAnswer(s.Replace(ctx, in.WorkspaceID, in.drafts()))
	})
	restapi.Register(api, operation("deleteSecret", http.MethodDelete, path+"/{secretName}", "Delete a secret", ""),
		func(ctx context.Context, in *OfSecret) (*deletedSecretOutput, error) {
			out := &deletedSecretOutput{}
			out.Body.SecretName = in.SecretName
			return out, s.Delete(ctx, in.WorkspaceID, in.SecretName)
		})
}
