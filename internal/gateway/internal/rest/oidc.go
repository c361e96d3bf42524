package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
)

// ConsentBody is what somebody lets a client have.
type ConsentBody struct {
	ClientID  string    `json:"clientId" doc:"The client."`
	Name      string    `json:"name" doc:"What the client calls itself."`
	Scopes    []string  `json:"scopes" nullable:"false" doc:"What it may have."`
	CreatedAt time.Time `json:"createdAt" doc:"When that was last agreed to."`
}

type consentsOutput struct {
	Body []ConsentBody `nullable:"false"`
}

type consentPath struct {
	ClientID string `path:"clientId" maxLength:"100" doc:"The client."`
}

// registerOIDC mounts the OpenID Connect provider, which describes itself to its clients.
func registerOIDC(api *restapi.API, deps Deps) {
	for _, route := range deps.OIDC.Routes() {
		api.Handle(restapi.Operation{
			ID: route.ID, Method: route.Method, Path: route.Path, Policy: access.Public, Tag: "OpenID Connect",
		}, route.Serve)
	}
	registerConsents(api, deps)
}

func registerConsents(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "listConsents", Method: http.MethodGet, Path: "/v2/user/consents", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Applications one has let in", Description: "Lists the clients of others that one has agreed to, the newest first.",
	}, func(ctx context.Context, _ *struct{}) (*consentsOutput, error) {
		found, err := deps.OIDC.Consents(ctx, access.From(ctx).UserID)
		out := &consentsOutput{Body: make([]ConsentBody, 0, len(found))}
		for _, c := range found {
			out.Body = append(out.Body, ConsentBody{ClientID: c.ClientID, Name: c.Name, Scopes: c.Scopes, CreatedAt: c.Granted.UTC()})
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteConsent", Method: http.MethodDelete, Path: "/v2/user/consents/{clientId}", Tag: "Account", Policy: access.Accounts,
		Scope: access.Account, Summary: "Take a consent back", Description: "Ends every token that the client has of the account. It has to ask again.",
		Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *consentPath) (*deletedOutput, error) {
		return deleted(in.ClientID, deps.OIDC.Withdraw(ctx, in.ClientID))
	})
}
