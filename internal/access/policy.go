package access

import "atelier/internal/errs"

// Policy says who may call an operation at all; what they may do with a resource is decided below the handler. There is
// deliberately no usable zero value: an operation without a policy is refused at registration.
type Policy string

// The policies.
const (
	// Public operations need no credential.
	Public Policy = "public"
	// SigningIn operations need a session, also one that still owes its second factor.
	SigningIn Policy = "signing-in"
	// Myself operations need a user or a visitor, also one whose session still owes its second factor.
	Myself Policy = "myself"
	// SignedIn operations need a user or an anonymous visitor.
	SignedIn Policy = "signed-in"
	// Accounts operations need a person's account in a session of its own: access tokens, API keys, service accounts and
	// visitors do not do.
	Accounts Policy = "account"
	// Callers operations need any caller that can have rights in a workspace: a user, a visitor or an API key.
	Callers Policy = "caller"
	// ByRules operations are open to whom the rules of the workspace allow, which may be everyone.
	ByRules Policy = "rules"
	// SuperAdmins is for platform administration.
	SuperAdmins Policy = "super-admin"
	// Operators is for super admins and for services that prove themselves with the internal key.
	Operators Policy = "operator"
	// InternalOnly is for services that prove themselves with the internal key.
	InternalOnly Policy = "internal"
)

// Known tells whether the policy is one of the above.
func (policy Policy) Known() bool {
	switch policy {
	case Public, SigningIn, Myself, SignedIn, Accounts, Callers, ByRules, SuperAdmins, Operators, InternalOnly:
		return true
	default:
		return false
	}
}

// Check tells whether the caller may call an operation with the policy: missing_token for nobody, permission_denied for
// somebody else, and a session that still owes its second factor is told so.
func (policy Policy) Check(p Principal) error {
	if policy == Public {
		return nil
	}
	if p.Kind == Nobody {
		switch {
		case p.Refused != nil:
			return p.Refused
		case policy == ByRules:
			return nil
		default:
			return MissingToken()
		}
	}
	if p.Pending && policy != SigningIn && policy != Myself {
		return errs.New(errs.InvalidCredentials, "The session waits for its second factor; send the code to POST /v2/login/mfa.").
			With("type", "MissingMFA")
	}
	if policy.admits(p) {
		return nil
	}
	return errs.New(errs.PermissionDenied, policy.refusal(p))
}

func (policy Policy) admits(p Principal) bool {
	person := p.Kind == User || p.Kind == Anonymous
	switch policy {
	case SigningIn:
		return person && p.Credential == BySession
	case SignedIn, Myself:
		return person
	case Accounts:
		return p.Kind == User && p.Credential == BySession && !p.IsService()
	case Callers, ByRules:
		return person || p.Kind == Key
	case SuperAdmins:
		return p.SuperAdmin
	case Operators:
		return p.SuperAdmin || p.Kind == Internal
	case InternalOnly:
		return p.Kind == Internal
	case Public:
		return true
	default:
		return false
	}
}

func (policy Policy) refusal(p Principal) string {
	switch {
	case policy == Accounts && p.Credential == ByAccessToken:
		return "An access token cannot do this; sign in and use the session."
	case policy == Accounts && p.Kind == Anonymous:
		return "A visitor cannot do this; sign in with an account."
	default:
		return "This operation is not open to you."
	}
}

// MissingToken is the answer to nobody where somebody is needed.
func MissingToken() *errs.Error {
	return errs.New(errs.MissingToken, "Send a token in the Authorization header, as Bearer <token>.")
}

// CheckScope refuses a token that was not made for the operation.
func CheckScope(scope Scope, p Principal) error {
	if p.HasScope(scope) {
		return nil
	}
	return errs.Newf(errs.InsufficientScope, "The token lacks the scope %s; ask for it when you sign in.", scope).With("scope", string(scope))
}
