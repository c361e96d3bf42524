package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
)

// Session is a sign-in that has not ended.
type Session struct {
	ID        string    `json:"id" doc:"The session's id."`
	Current   bool      `json:"current" doc:"Whether it is the session of this request."`
	Provider  string    `json:"provider" doc:"How the user signed in."`
	ClientID  string    `json:"clientId" doc:"The client that asked for the sign-in."`
	Address   string    `json:"address,omitempty" doc:"Where the sign-in came from."`
	Agent     string    `json:"agent,omitempty" doc:"The program that signed in, as it names itself."`
	CreatedAt time.Time `json:"createdAt" doc:"When the user signed in."`
	SeenAt    time.Time `json:"seenAt" doc:"When it was last used, to about half a minute."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When it ends."`
}

type sessionsOutput struct{ Body []Session }

type sessionInput struct {
	SessionID string `path:"sessionId" maxLength:"100" doc:"The session's id."`
}

// Ended counts the sessions that were ended.
type Ended struct {
	Count int64 `json:"count" doc:"How many sessions were ended."`
}

type endedOutput struct{ Body Ended }

type endAllInput struct {
	Others bool `query:"others" doc:"Keep the session of this request."`
}

type deletedOutput struct {
	Body struct {
		ID string `json:"id" doc:"The id of what was deleted."`
	}
}

func deleted(id string, err error) (*deletedOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &deletedOutput{}
	out.Body.ID = id
	return out, nil
}

func registerSessions(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "listSessions", Method: http.MethodGet, Path: "/v2/user/sessions", Tag: "Account", Policy: access.Accounts, Scope: access.Account, Summary: "One's sessions",
	}, func(ctx context.Context, _ *struct{}) (*sessionsOutput, error) {
		caller := access.From(ctx)
		found, err := deps.Identity.Sessions(ctx, caller.UserID)
		out := &sessionsOutput{Body: make([]Session, 0, len(found))}
		for _, s := range found {
			out.Body = append(out.Body, Session{
				ID: s.ID, Current: s.ID == caller.SessionID, Provider: s.Provider, ClientID: s.ClientID, Address: s.Address, Agent: s.Agent,
				CreatedAt: s.Created, SeenAt: s.Seen, ExpiresAt: s.Expires,
			})
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "endUserSession", Method: http.MethodDelete, Path: "/v2/user/sessions/{sessionId}", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "End one of one's sessions", Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *sessionInput) (*deletedOutput, error) {
		return deleted(in.SessionID, deps.Identity.EndSession(ctx, access.From(ctx).UserID, in.SessionID))
	})
	restapi.Register(api, restapi.Operation{
		ID: "endUserSessions", Method: http.MethodDelete, Path: "/v2/user/sessions", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Sign out everywhere", Description: "Ends all of one's sessions, this one included unless others is true. Access tokens stay.",
	}, func(ctx context.Context, in *endAllInput) (*endedOutput, error) {
		caller, except := access.From(ctx), ""
		if in.Others {
			except = caller.SessionID
		}
		count, err := deps.Identity.EndSessions(ctx, caller.UserID, except)
		return &endedOutput{Body: Ended{Count: count}}, err
	})
}
