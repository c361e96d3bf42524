package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
)

// claims are exactly those of specification 2.5.
type claims struct {
	SessionID string  `json:"svcSessionId"`
	ID        string  `json:"jti"`
	Subject   string  `json:"sub"`
	IssuedAt  float64 `json:"iat"`
	Expires   float64 `json:"exp"`
	Scope     string  `json:"scope"`
	ClientID  string  `json:"client_id"`
	Issuer    string  `json:"iss"`
	Audience  string  `json:"aud"`
	NotBefore float64 `json:"nbf,omitempty"` // never written, and honoured when somebody else with a key writes it
}

type tokenHash [sha256.Size]byte

type verifiedToken struct {
	id        string
	kid       string
	sessionID string
	subject   string
	scopes    []string
	expires   time.Time
}

const (
	maxToken = 8 << 10
	// leeway forgives clocks that are a little apart.
	leeway = 60 * time.Second
	// signInClient marks tokens that were made by signing in here, not by an OIDC client.
	signInClient = "atelier"
)

// errUnknownKey marks a token whose key is not, or no longer, one of ours.
var errUnknownKey = errors.New("unknown key")

// grant is what a token is made for.
type grant struct {
	id              string
	session         Session
	clientID        string
	scopes          []string
	issued, expires time.Time
}

// issue signs a token for a session.
func (i *Identity) issue(g grant) (string, error) {
	payload, err := json.Marshal(claims{
		SessionID: g.session.ID, ID: g.id, Subject: g.session.UserID,
		IssuedAt: float64(g.issued.Unix()), Expires: float64(g.expires.Unix()),
		Scope: strings.Join(g.scopes, " "), ClientID: g.clientID, Issuer: i.deps.Config.Issuer(), Audience: i.deps.Config.PublicURL(),
	})
	if err != nil {
		return "", err
	}
	return i.keys.Sign(payload)
}

// verify checks a token's signature and claims. What was verified once is remembered by the token's hash until it expires.
func (i *Identity) verify(ctx context.Context, token string) (verifiedToken, error) {
	if len(token) > maxToken {
		return verifiedToken{}, badToken("it is too long")
	}
	hash := tokenHash(sha256.Sum256([]byte(token)))
	known, ok := i.verified.GetIfPresent(hash)
	if !ok {
		if err := i.deps.Limits.Blocked(ctx, limits.Token, ""); err != nil {
			return verifiedToken{}, err
		}
		var err error
		if known, err = i.verifyNew(ctx, token); err != nil {
			if !errors.Is(err, errUnknownKey) { // old tokens of a revoked key are nobody's guesses
				i.deps.Limits.Failed(ctx, limits.Token, "")
			}
			return verifiedToken{}, err
		}
		i.verified.Set(hash, known)
	}
	if _, current := i.keys.Find(ctx, known.kid); !current {
		i.verified.Invalidate(hash)
		return verifiedToken{}, badToken("its key is no longer valid")
	}
	if i.deps.Revoked != nil && i.deps.Revoked(known.id) {
		return verifiedToken{}, badToken("it was revoked")
	}
	if i.deps.Clock.Now().After(known.expires.Add(leeway)) {
		return verifiedToken{}, errs.New(errs.TokenExpired, "The token has expired; sign in again.")
	}
	return known, nil
}

func badToken(why string) *errs.Error {
	return errs.New(errs.InvalidToken, "The token is not valid: "+why+". Sign in again.")
}

// verifyNew reads a token that was not seen before.
func (i *Identity) verifyNew(ctx context.Context, token string) (verifiedToken, error) {
	kid, payload, err := i.signed(ctx, token)
	if err != nil {
		return verifiedToken{}, err
	}
	return i.readClaims(kid, payload)
}

// signed gives what a token says when one of our keys has signed it. Who signed it, and how, is decided by the key with the id
// it names: nothing else of what it says about itself is believed.
func (i *Identity) signed(ctx context.Context, token string) (kid string, payload []byte, err error) {
	header, ok := readHeader(token)
	if !ok {
		return "", nil, badToken("it cannot be read")
	}
	key, ok := i.keys.Find(ctx, header.KeyID)
	if !ok {
		return "", nil, badToken("it is signed with an unknown key").Because(errUnknownKey)
	}
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(key.Algorithm)})
	if err != nil {
		return "", nil, badToken("its header is not acceptable")
	}
	if payload, err = parsed.Verify(key); err != nil {
		return "", nil, badToken("its signature does not fit")
	}
	return key.KeyID, payload, nil
}

func (i *Identity) readClaims(kid string, payload []byte) (verifiedToken, error) {
	var c claims
	if !readExactly(payload, &c, claimNames()) {
		return verifiedToken{}, badToken("its claims cannot be read")
	}
	now := float64(i.deps.Clock.Now().Unix())
	switch {
	case c.Issuer != i.deps.Config.Issuer() || c.Audience != i.deps.Config.PublicURL():
		return verifiedToken{}, badToken("it is meant for another installation")
	case c.Subject == "" || c.SessionID == "" || c.ID == "":
		return verifiedToken{}, badToken("a claim is missing")
	case c.Expires <= 0 || c.Expires > math.MaxInt32*2 || c.IssuedAt <= 0 || c.IssuedAt > now+leeway.Seconds() ||
		c.NotBefore < 0 || c.NotBefore > now+leeway.Seconds():
		return verifiedToken{}, badToken("its times are not acceptable")
	}
	return verifiedToken{
		kid: kid, id: c.ID, sessionID: c.SessionID, subject: c.Subject, scopes: strings.Fields(c.Scope), expires: time.Unix(int64(c.Expires), 0),
	}, nil
}
