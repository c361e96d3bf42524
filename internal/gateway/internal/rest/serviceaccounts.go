package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/restapi"
)

// ServiceAccount is an account for a machine.
type ServiceAccount struct {
	Slug         string     `json:"slug" doc:"Its name in addresses."`
	UserID       string     `json:"userId" doc:"Its user id, for grants and rules."`
	Name         string     `json:"name" doc:"What people call it."`
	Description  string     `json:"description,omitempty" doc:"What it is for."`
	Scopes       []string   `json:"scopes" nullable:"false" doc:"What its tokens may be used for."`
	Disabled     bool       `json:"disabled" doc:"Whether it is turned off."`
	ClientSecret string     `json:"clientSecret" doc:"The secret itself when it was just made; otherwise enough of it to tell it from others."` //nolint:gosec // shown once
	CreatedAt    time.Time  `json:"createdAt" doc:"When it was made."`
	RotatedAt    time.Time  `json:"rotatedAt" doc:"When its secret was made."`
	LastUsedAt   *time.Time `json:"lastUsedAt,omitempty" doc:"When it last asked for a token."`
}

func viewService(s identity.ServiceAccount, secret string) ServiceAccount {
	view := ServiceAccount{
		Slug: s.Slug, UserID: s.UserID, Name: s.Name, Description: s.Description, Scopes: append([]string{}, s.Scopes...), Disabled: s.Disabled,
		ClientSecret: s.Mask, CreatedAt: s.Created, RotatedAt: s.Rotated,
	}
	if secret != "" {
		view.ClientSecret = secret
	}
	if !s.Used.IsZero() {
		view.LastUsedAt = &s.Used
	}
	return view
}

type serviceInput struct {
	Body struct {
		Slug        string    `json:"slug" pattern:"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$" doc:"Its name in addresses."`
		Name        *string   `json:"name,omitempty" minLength:"1" maxLength:"60" doc:"What people call it."`
		Description *string   `json:"description,omitempty" maxLength:"4000" doc:"What it is for."`
		Scopes      *[]string `json:"scopes,omitempty" maxItems:"20" doc:"What its tokens may be used for; everything when absent."`
	}
}

type servicePath struct {
	Slug string `path:"slug" maxLength:"64" doc:"The service account."`
}

type serviceChange struct {
	Slug string `path:"slug" maxLength:"64" doc:"The service account."`
	Body struct {
		Name        *string   `json:"name,omitempty" minLength:"1" maxLength:"60" doc:"What people call it."`
		Description *string   `json:"description,omitempty" maxLength:"4000" doc:"What it is for."`
		Scopes      *[]string `json:"scopes,omitempty" maxItems:"20" doc:"What its tokens may be used for."`
		Disabled    *bool     `json:"disabled,omitempty" doc:"Turns it off; its tokens stop working."`
	}
}

type serviceTokenInput struct {
	Slug string `path:"slug" maxLength:"64" doc:"The service account."`
	Body struct {
		ClientSecret string `json:"clientSecret" minLength:"1" maxLength:"200" doc:"Its secret."` //nolint:gosec // what is sent, not kept
		ExpiresIn    int    `json:"expiresIn,omitempty" minimum:"60" maximum:"31536000" doc:"How long the token lasts, in seconds; an hour when absent, never longer than the installation allows."`
	}
}

// ServiceToken is a token of a service account.
type ServiceToken struct {
	AccessToken string    `json:"accessToken" doc:"The JWT to send as a bearer token."` //nolint:gosec // what is handed out
	TokenType   string    `json:"tokenType" doc:"Always Bearer."`
	ExpiresAt   time.Time `json:"expiresAt" doc:"When the token ends."`
	Permissions []string  `json:"permissions" nullable:"false" doc:"Always empty: what it may do is decided by the rules of each workspace."`
	Scopes      []string  `json:"scopes" nullable:"false" doc:"What the token may be used for."`
}

type (
	serviceOutput      struct{ Body ServiceAccount }
	servicesOutput     struct{ Body []ServiceAccount }
	serviceTokenOutput struct{ Body ServiceToken }
)

func answerService(secret string, s identity.ServiceAccount, err error) (*serviceOutput, error) {
	if err != nil {
		return nil, err
	}
	return &serviceOutput{Body: viewService(s, secret)}, nil
}

func registerServiceAccounts(api *restapi.API, deps Deps) {
	const path, one, tag = "/v2/service-accounts", "/v2/service-accounts/{slug}", "Administration"
	missing := []errs.Code{errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "listServiceAccounts", Method: http.MethodGet, Path: path, Tag: tag, Policy: access.SuperAdmins, Scope: access.Account, Summary: "Service accounts",
	}, func(ctx context.Context, _ *struct{}) (*servicesOutput, error) {
		found, err := deps.Identity.ServiceAccounts(ctx)
		out := &servicesOutput{Body: make([]ServiceAccount, 0, len(found))}
		for _, s := range found {
			out.Body = append(out.Body, viewService(s, ""))
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "createServiceAccount", Method: http.MethodPost, Path: path, Tag: tag, Policy: access.SuperAdmins, Scope: access.Account, Once: true, Summary: "Make a service account",
		Description: "The secret is in this answer and never shown again.", Status: http.StatusCreated, Errors: []errs.Code{errs.AlreadyExists},
	}, func(ctx context.Context, in *serviceInput) (*serviceOutput, error) {
		b := in.Body
		return answerService(deps.Identity.AddServiceAccount(ctx, b.Slug, identity.ServiceDraft{Name: b.Name, Description: b.Description, Scopes: b.Scopes}))
	})
	restapi.Register(api, restapi.Operation{
		ID: "getServiceAccount", Method: http.MethodGet, Path: one, Tag: tag, Policy: access.SuperAdmins, Scope: access.Account, Summary: "Read a service account", Errors: missing,
	}, func(ctx context.Context, in *servicePath) (*serviceOutput, error) {
		s, err := deps.Identity.ServiceAccount(ctx, in.Slug)
		return answerService("", s, err)
	})
	restapi.Register(api, restapi.Operation{
		ID: "updateServiceAccount", Method: http.MethodPatch, Path: one, Tag: tag, Policy: access.SuperAdmins, Scope: access.Account, Summary: "Change a service account", Errors: missing,
	}, func(ctx context.Context, in *serviceChange) (*serviceOutput, error) {
		s, err := deps.Identity.UpdateServiceAccount(ctx, in.Slug, identity.ServiceDraft(in.Body))
		return answerService("", s, err)
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteServiceAccount", Method: http.MethodDelete, Path: one, Tag: tag, Policy: access.SuperAdmins, Scope: access.Account, Summary: "Delete a service account", Errors: missing,
	}, func(ctx context.Context, in *servicePath) (*deletedOutput, error) {
		return deleted(in.Slug, deps.Identity.DeleteServiceAccount(ctx, in.Slug))
	})
	restapi.Register(api, restapi.Operation{
		ID: "rotateServiceAccount", Method: http.MethodPost, Path: one + "/rotate", Tag: tag, Policy: access.SuperAdmins, Scope: access.Account, Once: true,
		Summary: "Replace a service account's secret", Description: "The old secret and its tokens stop working.", Errors: missing,
	}, func(ctx context.Context, in *servicePath) (*serviceOutput, error) {
		return answerService(deps.Identity.RotateServiceAccount(ctx, in.Slug))
	})
	restapi.Register(api, restapi.Operation{
		ID: "createServiceToken", Method: http.MethodPost, Path: one + "/token", Tag: "Identity", Policy: access.Public, Once: true,
		Summary: "Exchange a service account's secret for a token",
	}, func(ctx context.Context, in *serviceTokenInput) (*serviceTokenOutput, error) {
		made, s, err := deps.Identity.ServiceToken(ctx, in.Slug, in.Body.ClientSecret, time.Duration(in.Body.ExpiresIn)*time.Second)
		if err != nil {
			return nil, err
		}
		return &serviceTokenOutput{Body: ServiceToken{
			AccessToken: made.Token, TokenType: "Bearer", ExpiresAt: made.Expires.UTC(), Permissions: []string{}, Scopes: append([]string{}, s.Scopes...),
		}}, nil
	})
}
