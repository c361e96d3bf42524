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

type loginInput struct {
	Body struct {
		Email    string `json:"email" format:"email" maxLength:"320" doc:"The account's e-mail address."`
		Password string `json:"password" minLength:"1" maxLength:"1024" doc:"The account's password."` //nolint:gosec // what is sent, not kept
	}
}

type anonymousInput struct {
	Body *struct {
		ExpiresAfter int `json:"expiresAfter,omitempty" minimum:"60" maximum:"31536000" doc:"How long the session lasts, in seconds; never longer than the installation allows."`
	}
}

// SignedInBody is the result of a sign-in.
type SignedInBody struct {
	ID        string     `json:"id" doc:"The user's id."`
	UserID    string     `json:"userId" doc:"The user's id."`
	Email     string     `json:"email,omitempty" doc:"The account's e-mail address."`
	FirstName string     `json:"firstName" doc:"The first name; made up for anonymous visitors."`
	SessionID string     `json:"sessionId" doc:"The session."`
	Token     string     `json:"token" doc:"The JWT to send as a bearer token."`
	Expires   time.Time  `json:"expires" doc:"When the token ends."`
	AuthData  *Anonymous `json:"authData,omitempty" doc:"Set for anonymous visitors."`
}

// Anonymous marks a passing account.
type Anonymous struct {
	Anonymous struct {
		ExpiresAt time.Time `json:"expiresAt" doc:"When the account disappears."`
	} `json:"anonymous"`
}

type signedInOutput struct{ Body SignedInBody }

func registerLogin(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "signIn", Method: http.MethodPost, Path: "/v2/login", Tag: "Identity", Policy: access.Public, Once: true,
		Summary: "Sign in", Description: "Signs in with an e-mail address and a password.",
		Errors: []errs.Code{errs.InvalidCredentials},
	}, func(ctx context.Context, in *loginInput) (*signedInOutput, error) {
		result, err := deps.Identity.SignIn(ctx, in.Body.Email, in.Body.Password)
		return signedIn(result, err)
	})
	restapi.Register(api, restapi.Operation{
		ID: "signInAnonymously", Method: http.MethodPost, Path: "/v2/login/anonymous", Tag: "Identity", Policy: access.Public, Once: true,
		Summary: "Sign in anonymously", Description: "Opens a session for a visitor without an account. No body is needed.",
	}, func(ctx context.Context, in *anonymousInput) (*signedInOutput, error) {
		var life time.Duration
		if in.Body != nil {
			life = time.Duration(in.Body.ExpiresAfter) * time.Second
		}
		result, err := deps.Identity.SignInAnonymously(ctx, life)
		return signedIn(result, err)
	})
	restapi.Register(api, restapi.Operation{
		ID: "signOut", Method: http.MethodPost, Path: "/v2/logout", Tag: "Identity", Policy: access.SignedIn,
		Summary: "Sign out", Description: "Ends the session of the token.", Status: http.StatusNoContent,
	}, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		return nil, deps.Identity.SignOut(ctx, access.From(ctx).SessionID)
	})
}

func signedIn(result identity.SignedIn, err error) (*signedInOutput, error) {
	if err != nil {
		return nil, err
	}
	body := SignedInBody{
		ID: result.User.ID, UserID: result.User.ID, Email: result.User.Email, FirstName: result.User.FirstName,
		SessionID: result.SessionID, Token: result.Token, Expires: result.Expires.UTC(),
	}
	if result.User.Anonymous {
		body.AuthData = &Anonymous{}
		body.AuthData.Anonymous.ExpiresAt = result.User.ExpiresAt.UTC()
	}
	return &signedInOutput{Body: body}, nil
}
