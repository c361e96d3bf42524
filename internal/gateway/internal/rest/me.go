package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/restapi"
)

// MeBody is the current user.
type MeBody struct {
	User
	Anonymous     bool     `json:"anonymous" doc:"Whether this is a visitor without an account."`
	SessionID     string   `json:"sessionId" doc:"The session of the token."`
	Expires       string   `json:"expires" format:"date-time" doc:"When the session ends."`
	Scopes        []string `json:"scopes" nullable:"false" doc:"What the token may be used for."`
	Permissions   []string `json:"permissions" nullable:"false" doc:"Permissions in an organization; there are none here."`
	Organizations []string `json:"organizations" nullable:"false" doc:"The user's organizations; there are none here."`
	MFARequired   bool     `json:"mfaRequired,omitempty" doc:"The session still owes its second factor."`
}

type meOutput struct {
	SessionID string `header:"X-Svc-Session-Id" doc:"The session of the token."`
	CSRF      string `header:"X-Svc-Csrf-Token" doc:"What writes must carry in the same header when the token is sent as a cookie."`
	Body      MeBody
}

func registerMe(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "getMe", Method: http.MethodGet, Path: "/v2/me", Tag: "Identity", Policy: access.Myself,
		Summary: "Current user", Description: "The account and session behind the token.",
	}, func(ctx context.Context, _ *struct{}) (*meOutput, error) {
		user, ends, err := deps.Identity.Me(ctx)
		if err != nil {
			return nil, err
		}
		p := access.From(ctx)
		out := &meOutput{SessionID: p.SessionID, Body: MeBody{
			User: shownTo(p, viewUser(user)), Anonymous: user.Anonymous, SessionID: p.SessionID, Expires: moment(ends), Scopes: append([]string{}, p.Scopes...),
			Permissions: []string{}, Organizations: []string{}, MFARequired: p.Pending,
		}}
		if p.Credential == access.BySession && (p.Cookie || p.Kind == access.Anonymous || p.HasScope(access.Account)) {
			out.CSRF = deps.CSRF(p.SessionID)
		}
		return out, nil
	})
}

// shownTo leaves of an account what the token was made to see: everything for the installation's own programs, what its
// scopes name for the clients of others.
func shownTo(p access.Principal, u User) User {
	if p.Kind == access.Anonymous || p.HasScope(access.Account) {
		return u
	}
	shown := User{ID: u.ID, Status: u.Status, CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt, AuthData: map[string]map[string]any{}}
	if p.HasScope("profile") {
		shown.FirstName, shown.LastName, shown.Language, shown.Photo = u.FirstName, u.LastName, u.Language, u.Photo
	}
	if p.HasScope("email") {
		shown.Email = u.Email
	}
	if p.HasScope(access.Settings) {
		shown.MFA, shown.Meta, shown.AuthData = u.MFA, u.Meta, u.AuthData
	}
	return shown
}
