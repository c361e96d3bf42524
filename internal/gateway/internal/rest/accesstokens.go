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

type accessTokenInput struct {
	Body struct {
		Name      string    `json:"name" minLength:"1" maxLength:"200" doc:"What the token is for."`
		ExpiresAt time.Time `json:"expiresAt" doc:"When the token ends; the installation sets the longest life."`
		Scopes    []string  `json:"scopes,omitempty" maxItems:"20" doc:"What the token may be used for; everything your own token may when absent."`
	}
}

// AccessToken is a long-lived token of a user.
type AccessToken struct {
	ID         string     `json:"id" doc:"The token's id."`
	LegacyID   string     `json:"_id" doc:"The token's id."`
	UserID     string     `json:"userId" doc:"Whose token it is."`
	Name       string     `json:"name" doc:"What the token is for."`
	Token      string     `json:"token" doc:"The token itself when it was just made; otherwise enough of it to tell it from others."`
	Scopes     []string   `json:"scopes" nullable:"false" doc:"What the token may be used for."`
	CreatedAt  time.Time  `json:"createdAt" doc:"When it was made."`
	ExpiresAt  time.Time  `json:"expiresAt" doc:"When it ends."`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty" doc:"When it was last used, to about half a minute."`
}

func viewAccessToken(t identity.AccessToken, shown string) AccessToken {
	view := AccessToken{
		ID: t.ID, LegacyID: t.ID, UserID: t.UserID, Name: t.Name, Token: shown, Scopes: append([]string{}, t.Scopes...), CreatedAt: t.Created, ExpiresAt: t.Expires,
	}
	if !t.Used.IsZero() {
		view.LastUsedAt = &t.Used
	}
	return view
}

type accessTokenOutput struct{ Body AccessToken }

type accessTokensOutput struct{ Body []AccessToken }

type accessTokenPath struct {
	Token string `path:"token" maxLength:"200" doc:"The token's id, or the token itself."`
}

func registerAccessTokens(api *restapi.API, deps Deps) {
	const path = "/v2/user/accessTokens"
	restapi.Register(api, restapi.Operation{
		ID: "createAccessToken", Method: http.MethodPost, Path: path, Tag: "Account", Policy: access.Accounts, Scope: access.Account, Once: true,
		Summary: "Make an access token", Description: "The token is in this answer and never shown again.", Status: http.StatusCreated,
		Errors: []errs.Code{errs.QuotaExceeded},
	}, func(ctx context.Context, in *accessTokenInput) (*accessTokenOutput, error) {
		secret, made, err := deps.Identity.CreateAccessToken(ctx, identity.NewAccessToken{Name: in.Body.Name, Expires: in.Body.ExpiresAt, Scopes: in.Body.Scopes})
		if err != nil {
			return nil, err
		}
		return &accessTokenOutput{Body: viewAccessToken(made, secret)}, nil
	})
	restapi.Register(api, restapi.Operation{
		ID: "listAccessTokens", Method: http.MethodGet, Path: path, Tag: "Account", Policy: access.Accounts, Scope: access.Account, Summary: "One's access tokens",
	}, func(ctx context.Context, _ *struct{}) (*accessTokensOutput, error) {
		found, err := deps.Identity.AccessTokens(ctx, access.From(ctx).UserID)
		out := &accessTokensOutput{Body: make([]AccessToken, 0, len(found))}
		for _, t := range found {
			out.Body = append(out.Body, viewAccessToken(t, t.Mask))
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteAccessToken", Method: http.MethodDelete, Path: path + "/{token}", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Delete an access token", Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *accessTokenPath) (*accessTokenOutput, error) {
		gone, err := deps.Identity.DeleteAccessToken(ctx, access.From(ctx).UserID, in.Token)
		if err != nil {
			return nil, err
		}
		return &accessTokenOutput{Body: viewAccessToken(gone, gone.Mask)}, nil
	})
}
