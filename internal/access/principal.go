// Package access knows who is calling and what they may do. Every service asks it; it is the only place that decides.
package access

import (
	"context"

	"atelier/internal/errs"
)

// Kind is a kind of caller.
type Kind string

// The kinds of callers. The empty kind is nobody: no credential was sent.
const (
	Nobody    Kind = ""
	User      Kind = "user"
	Anonymous Kind = "anonymous"
	Internal  Kind = "internal"
)

// Principal is the authenticated caller of a request. The zero value is nobody.
type Principal struct {
	Kind       Kind     `json:"kind"`
	UserID     string   `json:"userId,omitempty"`
	SessionID  string   `json:"sessionId,omitempty"`
	SuperAdmin bool     `json:"superAdmin,omitempty"`
	Scopes     []string `json:"scopes,omitempty"`
}

// Key identifies the caller where limits, cursors and idempotency keys are bound to one.
func (p Principal) Key() string {
	if p.UserID != "" {
		return "user:" + p.UserID
	}
	return "kind:" + string(p.Kind)
}

// Target is how grants name the caller.
func (p Principal) Target() string { return "user:" + p.UserID }

type principalKey struct{}

// With puts the caller into the context. Only the gateway, or the proof of the gateway, does so.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From gives the caller; nobody when there is none.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// Policy says who may call an operation at all; what they may do with a resource is decided below the handler. There is
// deliberately no usable zero value: an operation without a policy is refused at registration.
type Policy string

// The policies.
const (
	// Public operations need no credential.
	Public Policy = "public"
	// SignedIn operations need a user or an anonymous session.
	SignedIn Policy = "signed-in"
	// SuperAdmins is for platform administration.
	SuperAdmins Policy = "super-admin"
	// Operators is for super admins and for services that prove themselves with the internal key.
	Operators Policy = "operator"
	// InternalOnly is for services that prove themselves with the internal key.
	InternalOnly Policy = "internal"
)

// Check tells whether the caller may call an operation with the policy: missing_token for nobody, permission_denied for
// somebody else.
func (policy Policy) Check(p Principal) error {
	if policy == Public {
		return nil
	}
	if p.Kind == Nobody {
		return errs.New(errs.MissingToken, "Send a token in the Authorization header, as Bearer <token>.")
	}
	switch {
	case policy == SignedIn && (p.Kind == User || p.Kind == Anonymous):
		return nil
	case policy == SuperAdmins && p.SuperAdmin:
		return nil
	case policy == Operators && (p.SuperAdmin || p.Kind == Internal):
		return nil
	case policy == InternalOnly && p.Kind == Internal:
		return nil
	default:
		return errs.New(errs.PermissionDenied, "This operation is not open to you.")
	}
}

// Known tells whether the policy is one of the above.
func (policy Policy) Known() bool {
	switch policy {
	case Public, SignedIn, SuperAdmins, Operators, InternalOnly:
		return true
	default:
		return false
	}
}

// PlatformWorkspace is the id of the workspace that exists from the first start, home of platform-wide events.
const PlatformWorkspace = "platform"
