// Package tokens signs the tokens with which automations ask something of the platform: for whom they run for, and as their
// workspace. They last for seconds, and the gateway takes them for workspaces, pages, files and apps only.
package tokens

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
)

const (
	// fetchLife is how long the token of one request lasts.
	fetchLife = 10 * time.Second
	// authLife is how long one lasts that an automation asks for: it may do something before it sends its request.
	authLife = time.Minute
)

// Signer signs what a token says; the keyring does.
type Signer interface {
	Sign(payload []byte) (string, error)
}

// Deps is what a mint needs.
type Deps struct {
	Keys  Signer
	Clock clock.Clock
	IDs   ident.Source
	// Issuer and Audience are those of all tokens of the installation.
	Issuer, Audience string
}

// Mint makes tokens.
type Mint struct{ deps Deps }

// New returns a mint.
func New(deps Deps) *Mint { return &Mint{deps: deps} }

// claims are what a token says. The gateway accepts no others.
type claims struct {
	WorkspaceID   string `json:"workspaceId"`
	CorrelationID string `json:"correlationId"`
	Depth         int    `json:"depth,omitempty"`
	Proven        bool   `json:"provenWorkspace,omitempty"`
	ID            string `json:"jti"`
	IssuedAt      int64  `json:"iat"`
	Expires       int64  `json:"exp"`
	Issuer        string `json:"iss"`
	Audience      string `json:"aud"`
	Subject       string `json:"sub,omitempty"`
	SessionID     string `json:"svcSessionId,omitempty"`
	Scope         string `json:"scope,omitempty"`
	KeyID         string `json:"keyId,omitempty"`
	KeyWorkspace  string `json:"keyWorkspace,omitempty"`
}

// Call is what a token is made for.
type Call struct {
	// Caller is whom it speaks for; WorkspaceID is the workspace that it comes from, and Proven whether that wants to be known by
	// it.
	Caller      access.Principal
	WorkspaceID string
	Proven      bool
	// CorrelationID and Depth are those of the run that goes on with it.
	CorrelationID string
	Depth         int
	Life          time.Duration
}

// Sign makes a token.
func (m *Mint) Sign(call Call) (string, error) {
	now := m.deps.Clock.Now()
	c := claims{
		WorkspaceID: call.WorkspaceID, CorrelationID: call.CorrelationID, Depth: call.Depth, Proven: call.Proven, ID: m.deps.IDs.UUID(),
		IssuedAt: now.Unix(), Expires: now.Add(call.Life).Unix(), Issuer: m.deps.Issuer, Audience: m.deps.Audience,
	}
	switch p := call.Caller; p.Kind {
	case access.User, access.Anonymous:
		c.Subject, c.SessionID, c.Scope = p.UserID, p.SessionID, strings.Join(scopes(p), " ")
	case access.Key:
		c.KeyID, c.KeyWorkspace = p.KeyID, p.KeyWorkspace
	default: // nobody, or the platform itself: neither has rights to lend
	}
	payload, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	return m.deps.Keys.Sign(payload)
}

// scopes are what a token may be used for: as much as the credential of the caller, but nothing that is about the account. Whom
// an event made an automation run for has shown no credential, and what it may do is bound by its rights alone.
func scopes(p access.Principal) []string {
	given := p.Scopes
	if p.Credential == access.ByNothing && len(given) == 0 {
		given = access.Scopes()
	}
	return slices.DeleteFunc(slices.Clone(given), func(scope string) bool { return scope == string(access.Account) || scope == string(access.Settings) })
}

// Token is that of one request of an automation. It speaks for who started the run, whoever acts now.
func (m *Mint) Token(f *machine.Frame) (string, error) {
	return m.sign(f, Call{WorkspaceID: f.Run().Root.WorkspaceID, Life: fetchLife})
}

// ForwardToken is Token as the workspace that has called this one and was proven; as this one when none has.
func (m *Mint) ForwardToken(f *machine.Frame) (string, error) {
	calling := f.Run().AuthenticatedWorkspaceID
	if calling == "" {
		return m.Token(f)
	}
	return m.sign(f, Call{WorkspaceID: calling, Proven: true, Life: fetchLife})
}

// KeyToken is that of one request which acts with an API key instead of who started the run.
func (m *Mint) KeyToken(f *machine.Frame, key access.Principal) (string, error) {
	run := f.Run()
	token, err := m.Sign(Call{Caller: key, WorkspaceID: run.Root.WorkspaceID, CorrelationID: run.CorrelationID, Depth: f.Depth(), Life: fetchLife})
	if err != nil {
		return "", machine.Fail(machine.Broke, "The token for the platform could not be made; try again.").Because(err)
	}
	f.Hide(token)
	return token, nil
}

// sign makes a token for a frame. It is not to be seen in events.
func (m *Mint) sign(f *machine.Frame, call Call) (string, error) {
	run := f.Run()
	call.Caller, call.CorrelationID, call.Depth = run.Caller, run.CorrelationID, f.Depth()
	token, err := m.Sign(call)
	if err != nil {
		return "", machine.Fail(machine.Broke, "The token for the platform could not be made; try again.").Because(err)
	}
	f.Hide(token)
	return token, nil
}

// Instruction is auth: it gives the automation a token for a request to the platform. With workspace, who is called knows which
// workspace calls.
func (m *Mint) Instruction() machine.Instruction {
	return machine.Simple(func(f *machine.Frame, parameters *value.Object) (any, error) {
		token, err := m.sign(f, Call{WorkspaceID: f.Run().Root.WorkspaceID, Proven: value.Truthy(parameters.Get("workspace")), Life: authLife})
		if err != nil {
			return nil, err
		}
		return machine.Payload("jwt", token), nil
	})
}
