package identity

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/sqldb"
)

// callClaims are those of the token that the runtime signs for one request of an automation to the platform. It speaks for who
// the automation runs for, and says which workspace it is of.
type callClaims struct {
	WorkspaceID   string `json:"workspaceId"`
	CorrelationID string `json:"correlationId"`
	// Depth is how many automations led to the request.
	Depth int `json:"depth,omitempty"`
	// Proven tells that the workspace wants to be known to whom it calls.
	Proven       bool    `json:"provenWorkspace,omitempty"`
	ID           string  `json:"jti"`
	IssuedAt     float64 `json:"iat"`
	Expires      float64 `json:"exp"`
	Issuer       string  `json:"iss"`
	Audience     string  `json:"aud"`
	Subject      string  `json:"sub,omitempty"`
	SessionID    string  `json:"svcSessionId,omitempty"`
	Scope        string  `json:"scope,omitempty"`
	KeyID        string  `json:"keyId,omitempty"`
	KeyWorkspace string  `json:"keyWorkspace,omitempty"`
}

// callNames are the claims that such a token may have.
func callNames() []string {
	return []string{"workspaceId", "correlationId", "depth", "provenWorkspace", "jti", "iat", "exp", "iss", "aud", "sub", "svcSessionId", "scope", "keyId", "keyWorkspace"}
}

const (
	// callLeeway forgives clocks of the processes of one installation; the tokens last for seconds.
	callLeeway = 5 * time.Second
	// longestCall is how long such a token may last at most, whoever signed it.
	longestCall = 5 * time.Minute
)

// IsCall tells whether a token claims to be that of an automation's request. Nothing of it is believed for that.
func IsCall(token string) bool {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, ok := strings.Cut(rest, ".")
	if !ok || len(token) > maxToken {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && bytes.Contains(text, []byte(`"workspaceId"`))
}

type ongoingKey struct{}

// Ongoing is a context in which tokens of requests that have begun are looked at again: that they have expired does not matter.
func Ongoing(ctx context.Context) context.Context { return context.WithValue(ctx, ongoingKey{}, true) }

// AuthenticateCall tells for whom an automation sends a request, and what the request is a part of. The token alone is never
// trusted: the session or the account behind it is looked at too. It gives nobody the power of a super admin: whoever opens a
// page of a workspace would lend it to the workspace.
func (i *Identity) AuthenticateCall(ctx context.Context, token string) (p access.Principal, correlationID string, err error) {
	if err := i.deps.Limits.Blocked(ctx, limits.Token, ""); err != nil {
		return p, "", err
	}
	c, err := i.readCall(ctx, token)
	if err != nil {
		if errs.CodeOf(err) == errs.InvalidToken && !errors.Is(err, errUnknownKey) {
			i.deps.Limits.Failed(ctx, limits.Token, "")
		}
		return p, "", err
	}
	if p, err = i.callerOf(ctx, c); err != nil {
		return access.Principal{}, "", err
	}
	p.SuperAdmin = false
	p.SourceWorkspace, p.SourceDepth = c.WorkspaceID, max(c.Depth, 0)
	if c.Proven {
		p.ProvenWorkspace = c.WorkspaceID
	}
	return p, c.CorrelationID, nil
}

// readCall checks the signature of a token and what it claims.
func (i *Identity) readCall(ctx context.Context, token string) (c callClaims, err error) {
	if len(token) > maxToken {
		return c, badToken("it is too long")
	}
	_, payload, err := i.signed(ctx, token)
	if err != nil {
		return c, err
	}
	if !readExactly(payload, &c, callNames()) {
		return c, badToken("its claims cannot be read")
	}
	now, leeway := float64(i.deps.Clock.Now().Unix()), callLeeway.Seconds()
	switch {
	case c.Issuer != i.deps.Config.Issuer() || c.Audience != i.deps.Config.PublicURL():
		return c, badToken("it is meant for another installation")
	case c.WorkspaceID == "" || c.ID == "":
		return c, badToken("a claim is missing")
	case c.IssuedAt <= 0 || c.IssuedAt > now+leeway || c.Expires <= c.IssuedAt || c.Expires-c.IssuedAt > longestCall.Seconds() || math.IsNaN(c.Expires):
		return c, badToken("its times are not acceptable")
	case now > c.Expires+leeway && ctx.Value(ongoingKey{}) == nil:
		return c, errs.New(errs.TokenExpired, "The token has expired; an automation gets one for each request.")
	}
	return c, nil
}

// callerOf gives who a token speaks for.
func (i *Identity) callerOf(ctx context.Context, c callClaims) (access.Principal, error) {
	switch {
	case c.KeyID != "": // whether the key still counts is asked with every right it has
		return access.Principal{Kind: access.Key, Credential: access.ByAPIKey, KeyID: c.KeyID, KeyWorkspace: c.KeyWorkspace}, nil
	case c.Subject == "":
		return access.Principal{}, nil
	}
	found, pending, err := i.subjectOf(ctx, c)
	if err != nil {
		return access.Principal{}, err
	}
	if found.ID != c.Subject {
		return access.Principal{}, badToken("its session has ended")
	}
	p := principalOf(found)
	p.Credential, p.SessionID, p.Scopes, p.Pending = access.BySession, c.SessionID, strings.Fields(c.Scope), pending
	if strings.HasPrefix(c.SessionID, TokenPrefix) {
		p.Credential = access.ByAccessToken
	}
	return p, nil
}

// subjectOf gives the account that a token is about, as long as its session goes on.
func (i *Identity) subjectOf(ctx context.Context, c callClaims) (u User, pending bool, err error) {
	if id, ok := strings.CutPrefix(c.SessionID, TokenPrefix); ok {
		var expires int64
		u, err = i.scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, t.expires_at
			FROM gw_access_tokens t JOIN gw_users u ON u.id = t.user_id WHERE t.id = $1 AND t.expires_at > $2`, id, sqldb.Millis(i.deps.Clock.Now())).Scan, &expires)
		return i.valid(u, err)
	}
	if c.SessionID == "" { // nobody waits for an answer: an event or a schedule started the automation
		u, err = i.userBy(ctx, i.deps.DB, "u.id", c.Subject)
		return i.valid(u, err)
	}
	state, err := i.session(ctx, c.SessionID)
	if err == nil && state.ended {
		err = badToken("its session has ended")
	}
	return state.user, state.pending(), err
}

// valid refuses an account that may not act.
func (i *Identity) valid(u User, err error) (User, bool, error) {
	missing := sqldb.IsNotFound(err) || errs.CodeOf(err) == errs.NotFound
	if err != nil && !missing {
		return u, false, err
	}
	if missing || u.Status != Validated || !u.ExpiresAt.IsZero() && i.deps.Clock.Now().After(u.ExpiresAt) {
		return u, false, badToken("its account cannot be used")
	}
	return u, false, nil
}
