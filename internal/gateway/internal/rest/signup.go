package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/restapi"
)

type signupInput struct {
	Body struct {
		Email     string `json:"email" format:"email" maxLength:"254" doc:"The e-mail address."`
		Password  string `json:"password" minLength:"1" maxLength:"1024" doc:"The password; the installation says what it must be like."` //nolint:gosec // what is sent, not kept
		FirstName string `json:"firstName" minLength:"1" maxLength:"60" doc:"The first name."`
		LastName  string `json:"lastName" maxLength:"60" doc:"The last name."`
		Language  string `json:"language,omitempty" pattern:"^([A-Za-z]{2,10})?$" doc:"The preferred language."`
	}
}

// SignedUp is a new account and how it becomes usable.
type SignedUp struct {
	User
	Validation string `json:"validation" enum:"auto,email,manual" doc:"How the account becomes usable: at once, by the mailed link, or by an administrator."`
}

type signupOutput struct{ Body SignedUp }

type passwordInput struct {
	Body struct {
		Email           string `json:"email,omitempty" format:"email" maxLength:"254" doc:"Asks for a mail with a link to choose a new password."`
		Language        string `json:"language,omitempty" pattern:"^([A-Za-z]{2,10})?$" doc:"The language of the mail."`
		Token           string `json:"token,omitempty" maxLength:"200" doc:"The token of the mailed link."`
		CurrentPassword string `json:"currentPassword,omitempty" maxLength:"1024" doc:"The present password of the signed-in user."`
		Password        string `json:"password,omitempty" maxLength:"1024" doc:"The new password."` //nolint:gosec // what is sent, not kept
	}
}

// PasswordAnswer is the account whose password was set; empty when a mail was asked for.
type PasswordAnswer struct {
	ID    string `json:"id,omitempty" doc:"The user's id."`
	Email string `json:"email,omitempty" doc:"The account's e-mail address."`
}

type passwordOutput struct{ Body PasswordAnswer }

type validateInput struct {
	Body struct {
		Email    string `json:"email,omitempty" format:"email" maxLength:"254" doc:"Asks for a new mail."`
		Language string `json:"language,omitempty" pattern:"^([A-Za-z]{2,10})?$" doc:"The language of the mail."`
		Token    string `json:"token,omitempty" maxLength:"200" doc:"The token of the mailed link."`
		Password string `json:"password,omitempty" maxLength:"1024" doc:"The password, where details.type PasswordRequired asks for it."` //nolint:gosec // what is sent, not kept
	}
}

func registerSignup(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "signUp", Method: http.MethodPost, Path: "/v2/signup", Tag: "Identity", Policy: access.Public, Once: true, Summary: "Sign up",
		Description: "Makes an account. With validation by mail the answer is the same for an address that has an account already; its owner gets a mail.",
		Status:      http.StatusCreated, Errors: []errs.Code{errs.AlreadyExists, errs.PermissionDenied},
	}, func(ctx context.Context, in *signupInput) (*signupOutput, error) {
		u, validation, err := deps.Identity.SignUp(ctx, identity.SignUp(in.Body))
		if err != nil {
			return nil, err
		}
		return &signupOutput{Body: SignedUp{User: viewUser(u), Validation: validation}}, nil
	})
	restapi.Register(api, restapi.Operation{
		ID: "setPassword", Method: http.MethodPost, Path: "/v2/user/password", Tag: "Account", Policy: access.Public, Once: true, Summary: "Reset or change a password",
		Description: "With email: mails a link, whatever the address. With token and password: sets it, and ends every session. With currentPassword and password: " +
			"changes one's own, and ends the other sessions.",
		Errors: []errs.Code{errs.PermissionDenied, errs.MissingToken},
	}, func(ctx context.Context, in *passwordInput) (*passwordOutput, error) {
		return setPassword(ctx, deps, in)
	})
	restapi.Register(api, restapi.Operation{
		ID: "validateAccount", Method: http.MethodPost, Path: "/v2/user/validate", Tag: "Account", Policy: access.Public, Once: true, Summary: "Validate an account",
		Description: "With token: makes the account usable. With email: mails a new link, whatever the address.",
	}, func(ctx context.Context, in *validateInput) (*doneOutput, error) {
		switch {
		case in.Body.Token != "" && in.Body.Email == "":
			return done(deps.Identity.Validate(ctx, in.Body.Token, in.Body.Password))
		case in.Body.Email != "" && in.Body.Token == "":
			return done(deps.Identity.AskValidation(ctx, in.Body.Email, in.Body.Language))
		default:
			return nil, errs.Invalid(errs.Field{Field: "token", Message: "send either token or email"})
		}
	})
}

func setPassword(ctx context.Context, deps Deps, in *passwordInput) (*passwordOutput, error) {
	b := in.Body
	switch {
	case b.Email != "" && b.Token == "" && b.Password == "" && b.CurrentPassword == "":
		return &passwordOutput{}, deps.Identity.AskPassword(ctx, b.Email, b.Language)
	case b.Token != "" && b.Password != "" && b.Email == "" && b.CurrentPassword == "":
		u, err := deps.Identity.ResetPassword(ctx, b.Token, b.Password)
		return &passwordOutput{Body: PasswordAnswer{ID: u.ID, Email: u.Email}}, err
	case b.CurrentPassword != "" && b.Password != "" && b.Email == "" && b.Token == "":
		caller := access.From(ctx)
		if err := access.Accounts.Check(caller); err != nil {
			return nil, err
		}
		if err := access.CheckScope(access.Account, caller); err != nil {
			return nil, err
		}
		u, err := deps.Identity.ChangePassword(ctx, b.CurrentPassword, b.Password)
		return &passwordOutput{Body: PasswordAnswer{ID: u.ID, Email: u.Email}}, err
	default:
		return nil, errs.Invalid(errs.Field{Field: "email", Message: "send email, or token and password, or currentPassword and password"})
	}
}
