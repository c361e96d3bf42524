package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/factors"
	"atelier/internal/restapi"
)

// Passkey is a key that a browser, a phone or a security key keeps for an account.
type Passkey struct {
	ID         string     `json:"id" doc:"The passkey's id."`
	Name       string     `json:"name" doc:"What its owner calls it."`
	Synced     bool       `json:"synced" doc:"Whether its owner's other devices may have it too."`
	CreatedAt  time.Time  `json:"createdAt" doc:"When it was added."`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty" doc:"When it last signed in."`
}

func viewPasskey(p factors.Passkey) Passkey {
	view := Passkey{ID: p.ID, Name: p.Name, Synced: p.Synced, CreatedAt: p.Created.UTC()}
	if !p.Used.IsZero() {
		used := p.Used.UTC()
		view.LastUsedAt = &used
	}
	return view
}

// Ceremony is what a browser needs to make or use a passkey.
type Ceremony struct {
	Challenge string `json:"challenge" doc:"Send it back with the browser's answer, within five minutes."`
	Options   any    `json:"options" doc:"The options for navigator.credentials, in the JSON form of WebAuthn."`
}

type ceremonyOutput struct{ Body Ceremony }

// passkeyBody bounds the answer of a browser; attestations with their certificates fit many times.
const passkeyBody = 64 << 10

type passkeyInput struct {
	Body struct {
		Challenge  string          `json:"challenge" minLength:"1" maxLength:"100" doc:"The challenge of the options."`
		Credential json.RawMessage `json:"credential" doc:"What navigator.credentials.create gave, in the JSON form of WebAuthn."`
		Name       string          `json:"name,omitempty" maxLength:"100" doc:"What to call it."`
	}
}

type assertionInput struct {
	Body struct {
		Challenge  string          `json:"challenge" minLength:"1" maxLength:"100" doc:"The challenge of the options."`
		Credential json.RawMessage `json:"credential" doc:"What navigator.credentials.get gave, in the JSON form of WebAuthn."`
	}
}

type passkeyPath struct {
	ID string `path:"passkeyId" maxLength:"100" doc:"The passkey's id."`
}

type renameInput struct {
	ID   string `path:"passkeyId" maxLength:"100" doc:"The passkey's id."`
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100" doc:"What to call it."`
	}
}

type passkeyOutput struct{ Body Passkey }

type passkeysOutput struct{ Body []Passkey }

func answerPasskey(p factors.Passkey, err error) (*passkeyOutput, error) {
	if err != nil {
		return nil, err
	}
	return &passkeyOutput{Body: viewPasskey(p)}, nil
}

func answerCeremony(c factors.Ceremony, err error) (*ceremonyOutput, error) {
	if err != nil {
		return nil, err
	}
	return &ceremonyOutput{Body: Ceremony{Challenge: c.Challenge, Options: c.Options}}, nil
}

func registerPasskeys(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "beginPasskeySignIn", Method: http.MethodPost, Path: "/v2/login/passkey/options", Tag: "Identity", Policy: access.Public, Once: true,
		Summary: "Begin to sign in with a passkey", Errors: []errs.Code{errs.Conflict},
	}, func(ctx context.Context, _ *struct{}) (*ceremonyOutput, error) {
		return answerCeremony(deps.Factors.BeginSignIn(ctx))
	})
	restapi.Register(api, restapi.Operation{
		ID: "signInWithPasskey", Method: http.MethodPost, Path: "/v2/login/passkey", Tag: "Identity", Policy: access.Public, Once: true, MaxBody: passkeyBody,
		Summary: "Sign in with a passkey", Description: "Answers as POST /v2/login does. No second factor is owed.",
		Errors: []errs.Code{errs.InvalidCredentials, errs.Conflict},
	}, func(ctx context.Context, in *assertionInput) (*signedInOutput, error) {
		return deps.signedIn(deps.Factors.SignIn(ctx, factors.Answer{Challenge: in.Body.Challenge, Credential: in.Body.Credential}))
	})
	registerOwnPasskeys(api, deps)
}

func registerOwnPasskeys(api *restapi.API, deps Deps) {
	const path = "/v2/user/passkeys"
	restapi.Register(api, restapi.Operation{
		ID: "listPasskeys", Method: http.MethodGet, Path: path, Tag: "Account", Policy: access.Accounts, Scope: access.Account, Summary: "One's passkeys",
	}, func(ctx context.Context, _ *struct{}) (*passkeysOutput, error) {
		found, err := deps.Factors.Passkeys(ctx)
		out := &passkeysOutput{Body: make([]Passkey, 0, len(found))}
		for _, p := range found {
			out.Body = append(out.Body, viewPasskey(p))
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "beginPasskey", Method: http.MethodPost, Path: path + "/options", Tag: "Account", Policy: access.Accounts, Scope: access.Account, Once: true,
		Summary: "Begin to add a passkey", Description: "Needs a session that began, or was confirmed, in the last 15 minutes, or the password.",
		Errors: []errs.Code{errs.InvalidCredentials, errs.QuotaExceeded, errs.Conflict},
	}, func(ctx context.Context, in *confirmInput) (*ceremonyOutput, error) {
		return answerCeremony(deps.Factors.BeginPasskey(ctx, in.Body.CurrentPassword))
	})
	restapi.Register(api, restapi.Operation{
		ID: "createPasskey", Method: http.MethodPost, Path: path, Tag: "Account", Policy: access.Accounts, Scope: access.Account, Once: true, MaxBody: passkeyBody,
		Summary: "Add a passkey", Status: http.StatusCreated, Errors: []errs.Code{errs.InvalidCredentials, errs.QuotaExceeded, errs.AlreadyExists},
	}, func(ctx context.Context, in *passkeyInput) (*passkeyOutput, error) {
		return answerPasskey(deps.Factors.FinishPasskey(ctx, factors.Answer{Challenge: in.Body.Challenge, Credential: in.Body.Credential}, in.Body.Name))
	})
	restapi.Register(api, restapi.Operation{
		ID: "renamePasskey", Method: http.MethodPatch, Path: path + "/{passkeyId}", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Rename a passkey", Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *renameInput) (*passkeyOutput, error) {
		return answerPasskey(deps.Factors.RenamePasskey(ctx, in.ID, in.Body.Name))
	})
	restapi.Register(api, restapi.Operation{
		ID: "deletePasskey", Method: http.MethodDelete, Path: path + "/{passkeyId}", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
		Summary: "Delete a passkey", Description: "Needs a session that began, or was confirmed, in the last 15 minutes.", Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *passkeyPath) (*deletedOutput, error) {
		return deleted(in.ID, deps.Factors.DeletePasskey(ctx, in.ID))
	})
}
