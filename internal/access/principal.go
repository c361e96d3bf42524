// Package access knows who is calling and what they may do. Every service asks it; it is the only place that decides.
package access

import (
	"context"
	"slices"
	"strings"
)

// Kind is a kind of caller.
type Kind string

// The kinds of callers. The empty kind is nobody: no credential was sent.
const (
	Nobody    Kind = ""
	User      Kind = "user"
	Anonymous Kind = "anonymous"
	Key       Kind = "key"
	Internal  Kind = "internal"
)

// Credential is how a caller proved who it is.
type Credential string

// The credentials.
const (
	ByNothing     Credential = ""
	BySession     Credential = "session"
	ByAccessToken Credential = "access-token"
	ByAPIKey      Credential = "api-key"
	ByInternalKey Credential = "internal-key"
)

// Principal is the authenticated caller of a request. The zero value is nobody.
type Principal struct {
	Kind       Kind       `json:"kind"`
	Credential Credential `json:"credential,omitempty"`
	UserID     string     `json:"userId,omitempty"`
	SessionID  string     `json:"sessionId,omitempty"`
	SuperAdmin bool       `json:"superAdmin,omitempty"`
	// Scopes bound what the credential may be used for, whatever the account may do.
	Scopes []string `json:"scopes,omitempty"`
	// Pending tells that the session still owes its second factor.
	Pending bool `json:"pending,omitempty"`
	// Cookie tells that the token came as a browser's cookie.
	Cookie bool `json:"cookie,omitempty"`
	// AuthData is what each sign-in provider says of the user: svc for local accounts, anonymous, or the slug of a
	// federated provider. Roles that are assigned automatically look at it.
	AuthData map[string]map[string]any `json:"authData,omitempty"`
	// KeyID and KeyWorkspace are set for API keys.
	KeyID        string `json:"keyId,omitempty"`
	KeyWorkspace string `json:"keyWorkspace,omitempty"`
	// SourceWorkspace is the workspace whose automation sends the request, SourceDepth how many automations led to it.
	// ProvenWorkspace is the same one when it wants to be known by it. Nobody else can claim them.
	SourceWorkspace string `json:"sourceWorkspace,omitempty"`
	SourceDepth     int    `json:"sourceDepth,omitempty"`
	ProvenWorkspace string `json:"provenWorkspace,omitempty"`
	// Refused is why a cookie that came with the request does not count. The caller is nobody then, and operations that
	// need somebody answer with it.
	Refused error `json:"-"`
}

// Key identifies the caller where limits, cursors and idempotency keys are bound to one.
func (p Principal) Key() string {
	switch {
	case p.UserID != "":
		return "user:" + p.UserID
	case p.KeyID != "":
		return "key:" + p.KeyID
	default:
		return "kind:" + string(p.Kind)
	}
}

// ServicePrefix begins the user ids of service accounts.
const ServicePrefix = "sa:"

// IsService tells that the caller is a machine with a service account.
func (p Principal) IsService() bool { return strings.HasPrefix(p.UserID, ServicePrefix) }

// HasScope tells whether the credential may be used for the scope. Keys and services have rules instead of scopes.
func (p Principal) HasScope(scope Scope) bool {
	return scope == NoScope || p.Kind == Key || p.Kind == Internal || p.Kind == Nobody || slices.Contains(p.Scopes, string(scope))
}

type principalKey struct{}

// With puts the caller into the context. Only the gateway, or the proof of the gateway, does so.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// As is With for whoever acts, who may be the caller of the context. Nobody needs no mention where nobody called.
func As(ctx context.Context, p Principal) context.Context {
	if p.Kind == Nobody && p.Refused == nil && p.SourceWorkspace == "" && ctx.Value(principalKey{}) == nil {
		return ctx
	}
	return With(ctx, p)
}

// From gives the caller; nobody when there is none.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// PlatformWorkspace is the id of the workspace that exists from the first start, home of platform-wide events.
const PlatformWorkspace = "platform"
