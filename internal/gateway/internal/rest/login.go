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
	User
	UserID      string    `json:"userId" doc:"The user's id."`
	SessionID   string    `json:"sessionId" doc:"The session."`
	Token       string    `json:"token" doc:"The JWT to send as a bearer token."`
	Expires     time.Time `json:"expires" doc:"When the token ends."`
	MFARequired bool      `json:"mfaRequired,omitempty" doc:"The session still owes its second factor: send it to POST /v2/login/mfa."`
}

type signedInOutput struct {
	SetCookie []http.Cookie `header:"Set-Cookie" doc:"The token, for browsers."`
	Body      SignedInBody
}

type signedOutOutput struct {
	SetCookie []http.Cookie `header:"Set-Cookie" doc:"Takes the token away from the browser."`
}

func registerLogin(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "signIn", Method: http.MethodPost, Path: "/v2/login", Tag: "Identity", Policy: access.Public, Once: true,
		Summary: "Sign in", Description: "Signs in with an e-mail address and a password. Browsers also get the token as a cookie.",
		Errors: []errs.Code{errs.InvalidCredentials},
	}, func(ctx context.Context, in *loginInput) (*signedInOutput, error) {
		result, err := deps.Identity.SignIn(ctx, in.Body.Email, in.Body.Password)
		return deps.signedIn(result, err)
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
		return deps.signedIn(result, err)
	})
	restapi.Register(api, restapi.Operation{
		ID: "signOut", Method: http.MethodPost, Path: "/v2/logout", Tag: "Identity", Policy: access.SigningIn,
		Summary: "Sign out", Description: "Ends the session of the token.", Status: http.StatusNoContent,
	}, func(ctx context.Context, _ *struct{}) (*signedOutOutput, error) {
		caller := access.From(ctx)
		if caller.Kind == access.User && !caller.IsService() { // the session is the browser's: another's client ends its own grant at /oidc/session/end
			if err := access.CheckScope(access.Account, caller); err != nil {
				return nil, err
			}
		}
		if err := deps.Identity.SignOut(ctx, caller.SessionID); err != nil {
			return nil, err
		}
		out := &signedOutOutput{}
		for _, cookie := range deps.Cookies.Clear() {
			out.SetCookie = append(out.SetCookie, *cookie)
		}
		return out, nil
	})
}

// signedIn is the answer to every way of signing in.
func (deps Deps) signedIn(result identity.SignedIn, err error) (*signedInOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &signedInOutput{Body: SignedInBody{
		User: viewUser(result.User), UserID: result.User.ID, SessionID: result.SessionID, Token: result.Token, Expires: result.Expires.UTC(),
		MFARequired: result.Pending,
	}}
	out.SetCookie = append(out.SetCookie, *deps.Cookies.SetToken(result.Token, result.Expires))
	if result.Browser != "" {
		out.SetCookie = append(out.SetCookie, *deps.Cookies.SetBrowser(result.Browser, result.BrowserEnds))
	}
	return out, nil
}
