package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/restapi"
)

// MeBody is the current user.
type MeBody struct {
	ID           string   `json:"id" doc:"The user's id."`
	Email        string   `json:"email,omitempty" doc:"The account's e-mail address."`
	FirstName    string   `json:"firstName" doc:"The first name."`
	LastName     string   `json:"lastName,omitempty" doc:"The last name."`
	Language     string   `json:"language,omitempty" doc:"The preferred language."`
	Status       string   `json:"status" enum:"pending,validated,deactivated" doc:"The state of the account."`
	PlatformRole string   `json:"platformRole,omitempty" enum:"superadmin" doc:"Set for super admins."`
	Anonymous    bool     `json:"anonymous" doc:"Whether this is a visitor without an account."`
	SessionID    string   `json:"sessionId" doc:"The session of the token."`
	Expires      string   `json:"expires" format:"date-time" doc:"When the session ends."`
	Scopes       []string `json:"scopes" nullable:"false" doc:"What the token may be used for."`
	CreatedAt    string   `json:"createdAt" format:"date-time" doc:"When the account was made."`
	UpdatedAt    string   `json:"updatedAt" format:"date-time" doc:"When the account was last changed."`
}

type meOutput struct {
	SessionID string `header:"X-Svc-Session-Id" doc:"The session of the token."`
	Body      MeBody
}

func registerMe(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "getMe", Method: http.MethodGet, Path: "/v2/me", Tag: "Identity", Policy: access.SignedIn,
		Summary: "Current user", Description: "The account and session behind the token.",
	}, func(ctx context.Context, _ *struct{}) (*meOutput, error) {
		user, ends, err := deps.Identity.Me(ctx)
		if err != nil {
			return nil, err
		}
		p := access.From(ctx)
		body := MeBody{
			ID: user.ID, Email: user.Email, FirstName: user.FirstName, LastName: user.LastName, Language: user.Language, Status: user.Status,
			Anonymous: user.Anonymous, SessionID: p.SessionID, Expires: moment(ends), Scopes: append([]string{}, p.Scopes...),
			CreatedAt: moment(user.CreatedAt), UpdatedAt: moment(user.UpdatedAt),
		}
		if user.SuperAdmin {
			body.PlatformRole = "superadmin"
		}
		return &meOutput{SessionID: p.SessionID, Body: body}, nil
	})
}

// moment writes a time the way encoding/json does, without its checks: this operation is the busiest of all.
func moment(t time.Time) string { return t.Format(time.RFC3339Nano) }
