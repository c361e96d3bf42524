package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/factors"
	"atelier/internal/restapi"
)

// MFAStatus is what an account proves itself with besides a password.
type MFAStatus struct {
	Method        string `json:"method" enum:",totp" doc:"The second factor that is set up; empty when none."`
	Required      bool   `json:"required" doc:"Whether the installation wants this account to have one."`
	RecoveryCodes int    `json:"recoveryCodesLeft" doc:"How many recovery codes are left."`
	Passkeys      int    `json:"passkeys" doc:"How many passkeys the account has."`
}

type mfaStatusOutput struct{ Body MFAStatus }

type mfaInput struct {
	Body struct {
		Method          string `json:"method" enum:"totp,none,*" doc:"totp, or * for any, begins to set up codes of an authenticator app; none takes the second factor off."`
		CurrentPassword string `json:"currentPassword,omitempty" maxLength:"1024" doc:"The account's password. An account without one needs a sign-in of the last 15 minutes instead."`
	}
}

// MFAAnswer is the secret of an authenticator that waits for its first code, or that there is no second factor any more.
type MFAAnswer struct {
	Secret  string  `json:"secret,omitempty" doc:"The secret to enter into an authenticator app; shown once."` //nolint:gosec // shown to its owner
	QRImage string  `json:"qrImage,omitempty" doc:"The same as a QR code, as a data: address of a PNG image."`
	Method  *string `json:"method,omitempty" doc:"Empty when the second factor was taken off."`
}

type mfaOutput struct{ Body MFAAnswer }

type proofInput struct {
	Body struct {
		TOTP         string `json:"totp,omitempty" maxLength:"16" doc:"The code that the authenticator app shows."`
		RecoveryCode string `json:"recoveryCode,omitempty" maxLength:"64" doc:"A recovery code, instead."`
	}
}

// Proved is the answer to a right second factor.
type Proved struct {
	Success       bool     `json:"success" doc:"Always true; a wrong code is an error."`
	RecoveryCodes []string `json:"recoveryCodes,omitempty" nullable:"false" doc:"Set when this was the first code of an authenticator, which counts from now on: the recovery codes, shown once."`
}

type provedOutput struct{ Body Proved }

type firstCodeInput struct {
	Body struct {
		TOTP string `json:"totp" minLength:"1" maxLength:"16" doc:"The code that the authenticator app shows."`
	}
}

type confirmInput struct {
	Body struct {
		CurrentPassword string `json:"currentPassword,omitempty" maxLength:"1024" doc:"The account's password."`
	}
}

// RecoveryCodes are ten codes, each good for one sign-in.
type RecoveryCodes struct {
	RecoveryCodes []string `json:"recoveryCodes" nullable:"false" doc:"The recovery codes, shown once."`
}

type recoveryOutput struct{ Body RecoveryCodes }

func registerMFA(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "proveFactor", Method: http.MethodPost, Path: "/v2/login/mfa", Tag: "Identity", Policy: access.SigningIn, Once: true,
		Summary: "Give the second factor", Description: "Gives the second factor that a session owes, after which it can be used. " +
			"The session and its token stay the same. The first code of an authenticator that was just set up turns it on.",
		Errors: []errs.Code{errs.InvalidCredentials, errs.NotFound},
	}, func(ctx context.Context, in *proofInput) (*provedOutput, error) {
		if (in.Body.TOTP == "") == (in.Body.RecoveryCode == "") {
			return nil, errs.Invalid(errs.Field{Field: "totp", Message: "send either totp or recoveryCode"})
		}
		return proved(deps.Factors.Prove(ctx, factors.Proof{TOTP: in.Body.TOTP, RecoveryCode: in.Body.RecoveryCode}))
	})
	restapi.Register(api, restapi.Operation{
		ID: "getFactor", Method: http.MethodGet, Path: "/v2/user/mfa", Tag: "Account", Policy: access.SigningIn, Scope: access.Account,
		Summary: "One's second factor",
	}, func(ctx context.Context, _ *struct{}) (*mfaStatusOutput, error) {
		status, err := deps.Factors.Status(ctx)
		return &mfaStatusOutput{Body: MFAStatus{
			Method: status.Method, Required: status.Required, RecoveryCodes: status.RecoveryCodes, Passkeys: status.Passkeys,
		}}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "setFactor", Method: http.MethodPost, Path: "/v2/user/mfa", Tag: "Account", Policy: access.SigningIn, Scope: access.Account, Once: true,
		Summary: "Set up or take off the second factor", Description: "An authenticator counts when its first code has come back, to /v2/login/mfa or /v2/user/mfa/confirm. " +
			"A session that owes its second factor may set up the first one, where the installation wants one.",
		Errors: []errs.Code{errs.InvalidCredentials},
	}, func(ctx context.Context, in *mfaInput) (*mfaOutput, error) { return setFactor(ctx, deps, in) })
	registerMFACodes(api, deps)
}

func registerMFACodes(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "confirmFactor", Method: http.MethodPost, Path: "/v2/user/mfa/confirm", Tag: "Account", Policy: access.SigningIn, Scope: access.Account, Once: true,
		Summary: "Turn an authenticator on", Description: "Takes the first code of an authenticator that was just set up.",
		Errors: []errs.Code{errs.InvalidCredentials, errs.NotFound},
	}, func(ctx context.Context, in *firstCodeInput) (*provedOutput, error) {
		return proved(deps.Factors.ConfirmTOTP(ctx, in.Body.TOTP))
	})
	restapi.Register(api, restapi.Operation{
		ID: "renewRecoveryCodes", Method: http.MethodPost, Path: "/v2/user/mfa/recovery-codes", Tag: "Account", Policy: access.Accounts, Scope: access.Account, Once: true,
		Summary: "New recovery codes", Description: "Makes ten new recovery codes; earlier ones stop working.", Errors: []errs.Code{errs.InvalidCredentials, errs.NotFound},
	}, func(ctx context.Context, in *confirmInput) (*recoveryOutput, error) {
		codes, err := deps.Factors.RenewRecoveryCodes(ctx, in.Body.CurrentPassword)
		if err != nil {
			return nil, err
		}
		return &recoveryOutput{Body: RecoveryCodes{RecoveryCodes: codes}}, nil
	})
	restapi.Register(api, restapi.Operation{
		ID: "confirmSession", Method: http.MethodPost, Path: "/v2/user/confirm", Tag: "Account", Policy: access.Accounts, Scope: access.Account, Once: true,
		Summary: "Confirm that it is you", Description: "Gives the password again, so that the session counts as recent for 15 minutes. Delicate operations ask for it.",
		Errors: []errs.Code{errs.InvalidCredentials},
	}, func(ctx context.Context, in *confirmInput) (*doneOutput, error) {
		return done(deps.Factors.Confirm(ctx, in.Body.CurrentPassword))
	})
	restapi.Register(api, restapi.Operation{
		ID: "resetFactors", Method: http.MethodDelete, Path: "/v2/users/{userId}/mfa", Tag: "Administration", Policy: access.SuperAdmins, Scope: access.Account,
		Summary: "Take the factors off an account", Description: "For somebody who has lost them: removes the second factor, the recovery codes and the passkeys of an account.",
		Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *factorsOfInput) (*doneOutput, error) {
		return done(deps.Factors.Reset(ctx, in.UserID))
	})
}

type factorsOfInput struct {
	UserID string `path:"userId" maxLength:"100" doc:"The user's id."`
}

func setFactor(ctx context.Context, deps Deps, in *mfaInput) (*mfaOutput, error) {
	if in.Body.Method == "none" {
		none := ""
		return &mfaOutput{Body: MFAAnswer{Method: &none}}, deps.Factors.Disable(ctx, in.Body.CurrentPassword)
	}
	offer, err := deps.Factors.OfferTOTP(ctx, in.Body.CurrentPassword)
	return &mfaOutput{Body: MFAAnswer{Secret: offer.Secret, QRImage: offer.Image}}, err
}

func proved(codes []string, err error) (*provedOutput, error) {
	if err != nil {
		return nil, err
	}
	return &provedOutput{Body: Proved{Success: true, RecoveryCodes: codes}}, nil
}
