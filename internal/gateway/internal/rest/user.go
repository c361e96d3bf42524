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

// User is an account.
type User struct {
	ID           string                    `json:"id" doc:"The user's id."`
	Email        string                    `json:"email,omitempty" doc:"The account's e-mail address."`
	FirstName    string                    `json:"firstName" doc:"The first name; made up for anonymous visitors."`
	LastName     string                    `json:"lastName,omitempty" doc:"The last name."`
	Language     string                    `json:"language,omitempty" doc:"The preferred language."`
	Photo        string                    `json:"photo,omitempty" doc:"The address of the picture."`
	Status       string                    `json:"status" enum:"pending,validated,deactivated" doc:"The state of the account."`
	AuthData     map[string]map[string]any `json:"authData" nullable:"false" doc:"What each sign-in provider says of the user."`
	MFA          string                    `json:"mfa,omitempty" doc:"The second factor that is set up."`
	Meta         map[string]any            `json:"meta,omitempty" doc:"Free-form data."`
	Groups       []string                  `json:"groups,omitempty" doc:"The groups of the user."`
	PlatformRole string                    `json:"platformRole,omitempty" enum:"superadmin" doc:"Set for super admins."`
	CreatedAt    string                    `json:"createdAt" format:"date-time" doc:"When the account was made."`
	UpdatedAt    string                    `json:"updatedAt" format:"date-time" doc:"When the account was last changed."`
	UpdatedBy    string                    `json:"updatedBy,omitempty" doc:"Who changed it last."`
}

func viewUser(u identity.User) User {
	view := User{
		ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, Language: u.Language, Photo: u.Photo, Status: string(u.Status),
		AuthData: u.AuthData, MFA: u.MFA, Meta: u.Meta, Groups: u.Groups, CreatedAt: moment(u.CreatedAt), UpdatedAt: moment(u.UpdatedAt), UpdatedBy: u.UpdatedBy,
	}
	if u.SuperAdmin {
		view.PlatformRole = "superadmin"
	}
	return view
}

// moment writes a time the way encoding/json does, without its checks: some of these answers are the busiest of all.
func moment(t time.Time) string { return t.Format(time.RFC3339Nano) }

type userOutput struct{ Body User }

func answerUser(u identity.User, err error) (*userOutput, error) {
	if err != nil {
		return nil, err
	}
	return &userOutput{Body: viewUser(u)}, nil
}

// Done is the answer of something that has nothing to show.
type Done struct {
	Success bool `json:"success" doc:"Always true; a failure is an error."`
}

type doneOutput struct{ Body Done }

func done(err error) (*doneOutput, error) {
	if err != nil {
		return nil, err
	}
	return &doneOutput{Body: Done{Success: true}}, nil
}

type profileInput struct {
	Body struct {
		FirstName *string        `json:"firstName,omitempty" minLength:"1" maxLength:"60" doc:"The first name."`
		LastName  *string        `json:"lastName,omitempty" maxLength:"60" doc:"The last name."`
		Language  *string        `json:"language,omitempty" pattern:"^([A-Za-z]{2,10})?$" doc:"The preferred language."`
		Photo     *string        `json:"photo,omitempty" maxLength:"0" doc:"Empty removes the picture; upload one to /v2/user/photo."`
		Meta      map[string]any `json:"meta,omitempty" doc:"Free-form data, merged into what is there; null removes a key."`
	}
}

type metaInput struct{ Body map[string]any }

type metaOutput struct{ Body map[string]any }

type metaKeyInput struct {
	Key string `path:"key" maxLength:"200" doc:"The key."`
}

func registerUser(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "updateMe", Method: http.MethodPatch, Path: "/v2/user", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Change one's profile",
	}, func(ctx context.Context, in *profileInput) (*userOutput, error) {
		b := in.Body
		return answerUser(deps.Identity.UpdateProfile(ctx, identity.Profile{
			FirstName: b.FirstName, LastName: b.LastName, Language: b.Language, Photo: b.Photo, Meta: b.Meta,
		}))
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteMe", Method: http.MethodDelete, Path: "/v2/user", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Delete one's account", Description: "Mails a link that deletes the account; nothing is deleted until it is followed.", Errors: []errs.Code{errs.Conflict},
	}, func(ctx context.Context, _ *struct{}) (*doneOutput, error) {
		return done(deps.Identity.AskDeletion(ctx))
	})
	restapi.Register(api, restapi.Operation{
		ID: "mergeMeta", Method: http.MethodPost, Path: "/v2/user/meta", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Merge free-form data", Description: "Merges the body into the account's free-form data; null removes a key.",
	}, func(ctx context.Context, in *metaInput) (*metaOutput, error) {
		return answerMeta(deps.Identity.UpdateProfile(ctx, identity.Profile{Meta: in.Body}))
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteMeta", Method: http.MethodDelete, Path: "/v2/user/meta/{key}", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Remove a key of the free-form data", Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *metaKeyInput) (*metaOutput, error) {
		return answerMeta(deps.Identity.DeleteMeta(ctx, in.Key))
	})
}

func answerMeta(u identity.User, err error) (*metaOutput, error) {
	if err != nil {
		return nil, err
	}
	return &metaOutput{Body: u.Meta}, nil
}
