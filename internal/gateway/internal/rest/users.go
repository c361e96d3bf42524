package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/restapi"
)

// UserPatch is what a super admin may change of an account.
type UserPatch struct {
	FirstName    *string        `json:"firstName,omitempty" minLength:"1" maxLength:"60" doc:"The first name."`
	LastName     *string        `json:"lastName,omitempty" maxLength:"60" doc:"The last name."`
	Email        *string        `json:"email,omitempty" format:"email" maxLength:"254" doc:"The e-mail address."`
	Language     *string        `json:"language,omitempty" pattern:"^([A-Za-z]{2,10})?$" doc:"The preferred language."`
	Status       *string        `json:"status,omitempty" enum:"pending,validated,deactivated" doc:"The state of the account; another one than validated signs it out everywhere."`
	Meta         map[string]any `json:"meta,omitempty" doc:"Free-form data, merged into what is there."`
	PlatformRole *string        `json:"platformRole,omitempty" enum:"superadmin,none" doc:"Makes the account a super admin, or takes that away."`
	Groups       *[]string      `json:"groups,omitempty" maxItems:"200" doc:"The groups of the user."`
}

func (p UserPatch) patch(groupsMode string) identity.UserPatch {
	patch := identity.UserPatch{
		FirstName: p.FirstName, LastName: p.LastName, Email: p.Email, Language: p.Language, Meta: p.Meta, Groups: p.Groups, GroupsMode: groupsMode,
	}
	if p.Status != nil {
		status := identity.Status(*p.Status)
		patch.Status = &status
	}
	if p.PlatformRole != nil {
		admin := *p.PlatformRole == "superadmin"
		patch.SuperAdmin = &admin
	}
	return patch
}

type userPath struct {
	UserID string `path:"userId" maxLength:"100" doc:"The user's id."`
}

type patchUserInput struct {
	UserID string `path:"userId" maxLength:"100" doc:"The user's id."`
	Body   UserPatch
}

type deleteUserInput struct {
	UserID string `path:"userId" maxLength:"100" doc:"The user's id."`
	Token  string `query:"token" maxLength:"200" doc:"The token of the mailed link, to delete one's own account."`
}

type bulkInput struct {
	Body struct {
		Query struct {
			IDs    []string `json:"ids,omitempty" maxItems:"500" doc:"User ids."`
			Emails []string `json:"emails,omitempty" maxItems:"500" doc:"E-mail addresses."`
		} `json:"query" doc:"Which accounts."`
		Behaviour *struct {
			Groups string `json:"groups,omitempty" enum:"replace,add,delete" doc:"How groups change what is there."`
		} `json:"behaviour,omitempty" doc:"How the change is made."`
		Data UserPatch `json:"data" doc:"What changes."`
	}
}

// BulkAnswer counts what a change of many accounts did.
type BulkAnswer struct {
	Requested int `json:"requestedCount" doc:"How many accounts were named."`
	Matched   int `json:"matchedCount" doc:"How many of them exist."`
	Modified  int `json:"modifiedCount" doc:"How many were changed."`
}

type bulkOutput struct{ Body BulkAnswer }

type addUserInput struct {
	Body struct {
		Email     string `json:"email" format:"email" maxLength:"254" doc:"The e-mail address; a link to choose a password is mailed to it."`
		FirstName string `json:"firstName" minLength:"1" maxLength:"60" doc:"The first name."`
		LastName  string `json:"lastName,omitempty" maxLength:"60" doc:"The last name."`
		Language  string `json:"language,omitempty" pattern:"^([A-Za-z]{2,10})?$" doc:"The preferred language."`
	}
}

func registerUsers(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "createUser", Method: http.MethodPost, Path: "/v2/users", Tag: "Administration", Policy: access.SuperAdmins, Scope: access.Account, Summary: "Make an account",
		Status: http.StatusCreated, Errors: []errs.Code{errs.AlreadyExists},
	}, func(ctx context.Context, in *addUserInput) (*userOutput, error) {
		b := in.Body
		return answerUser(deps.Identity.AddUser(ctx, identity.SignUp{Email: b.Email, FirstName: b.FirstName, LastName: b.LastName, Language: b.Language}))
	})
	restapi.Register(api, restapi.Operation{
		ID: "getUser", Method: http.MethodGet, Path: "/v2/users/{userId}", Tag: "Administration", Policy: access.SuperAdmins, Scope: access.Account, Summary: "Read an account",
		Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *userPath) (*userOutput, error) {
		return answerUser(deps.Identity.User(ctx, in.UserID))
	})
	restapi.Register(api, restapi.Operation{
		ID: "updateUser", Method: http.MethodPatch, Path: "/v2/users/{userId}", Tag: "Administration", Policy: access.SuperAdmins, Scope: access.Account, Summary: "Change an account",
		Errors: []errs.Code{errs.NotFound, errs.AlreadyExists, errs.Conflict},
	}, func(ctx context.Context, in *patchUserInput) (*userOutput, error) {
		return answerUser(deps.Identity.PatchUser(ctx, in.UserID, in.Body.patch("")))
	})
	restapi.Register(api, restapi.Operation{
		ID: "updateUsers", Method: http.MethodPatch, Path: "/v2/users", Tag: "Administration", Policy: access.SuperAdmins, Scope: access.Account, Summary: "Change many accounts",
		Errors: []errs.Code{errs.Conflict},
	}, func(ctx context.Context, in *bulkInput) (*bulkOutput, error) {
		mode := ""
		if in.Body.Behaviour != nil {
			mode = in.Body.Behaviour.Groups
		}
		query := in.Body.Query
		if len(query.IDs) == 0 && len(query.Emails) == 0 || len(query.IDs) > 0 && len(query.Emails) > 0 {
			return nil, errs.Invalid(errs.Field{Field: "query", Message: "send either ids or emails"})
		}
		result, err := deps.Identity.PatchUsers(ctx, identity.UserQuery{IDs: query.IDs, Emails: query.Emails}, in.Body.Data.patch(mode))
		return &bulkOutput{Body: BulkAnswer{Requested: result.Requested, Matched: result.Matched, Modified: result.Modified}}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteUser", Method: http.MethodDelete, Path: "/v2/users/{userId}", Tag: "Administration", Policy: access.Public, Summary: "Delete an account",
		Description: "Super admins delete any account; whoever holds the token of a mailed link deletes their own.",
		Errors:      []errs.Code{errs.NotFound, errs.Conflict, errs.MissingToken, errs.PermissionDenied},
	}, func(ctx context.Context, in *deleteUserInput) (*doneOutput, error) {
		if in.Token != "" {
			return done(deps.Identity.DeleteByToken(ctx, in.UserID, in.Token))
		}
		caller := access.From(ctx)
		if err := access.SuperAdmins.Check(caller); err != nil {
			return nil, err
		}
		if err := access.CheckScope(access.Account, caller); err != nil {
			return nil, err
		}
		return done(deps.Identity.DeleteUser(ctx, in.UserID))
	})
	restapi.Register(api, restapi.Operation{
		ID: "confirmDeletion", Method: http.MethodPost, Path: "/v2/user/delete", Tag: "Account", Policy: access.Public, Once: true, Summary: "Delete one's account by the mailed link",
	}, func(ctx context.Context, in *deletionInput) (*doneOutput, error) {
		return done(deps.Identity.DeleteByToken(ctx, "", in.Body.Token))
	})
}

type deletionInput struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"200" doc:"The token of the mailed link."`
	}
}
