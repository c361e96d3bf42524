package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"atelier/internal/errs"
	"atelier/internal/strictjson"
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
}

type tokenHash [sha256.Size]byte

type verifiedToken struct {
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
	// defaultScope is what a signed-in user's token may do.
	defaultScope = "events:write events:read webhooks pages:read files:write files:read"
	// signInClient marks tokens that were made by signing in here, not by an OIDC client.
	signInClient = "atelier"
)

func newSigner(key *jose.JSONWebKey) (jose.Signer, error) {
	return jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key},
		(&jose.SignerOptions{}).WithType("jwt"))
}

// issue signs a token for a session.
func (i *Identity) issue(session session) (string, error) {
	signer, err := newSigner(i.keys.signing())
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	payload, err := json.Marshal(claims{
		SessionID: session.id, ID: i.deps.IDs.UUID(), Subject: session.userID,
		IssuedAt: float64(session.created.Unix()), Expires: float64(session.expires.Unix()),
		Scope: defaultScope, ClientID: signInClient, Issuer: i.deps.Config.Issuer(), Audience: i.deps.Config.PublicURL(),
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed.CompactSerialize()
}

// verify checks a token's signature and claims. What was verified once is remembered by the token's hash until it expires.
func (i *Identity) verify(ctx context.Context, token string) (verifiedToken, error) {
	if len(token) > maxToken {
		return verifiedToken{}, badToken("it is too long")
	}
	hash := tokenHash(sha256.Sum256([]byte(token)))
	known, ok := i.verified.GetIfPresent(hash)
	if !ok {
		var err error
		if known, err = i.verifyNew(ctx, token); err != nil {
			return verifiedToken{}, err
		}
		i.verified.Set(hash, known)
	}
	if _, current := i.keys.find(ctx, known.kid); !current {
		i.verified.Invalidate(hash)
		return verifiedToken{}, badToken("its key is no longer valid")
	}
	if i.deps.Clock.Now().After(known.expires.Add(leeway)) {
		return verifiedToken{}, errs.New(errs.TokenExpired, "The token has expired; sign in again.")
	}
	return known, nil
}

func badToken(why string) *errs.Error {
	return errs.New(errs.InvalidToken, "The token is not valid: "+why+". Sign in again.")
}

func (i *Identity) verifyNew(ctx context.Context, token string) (verifiedToken, error) {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	})
	if err != nil || len(signed.Signatures) != 1 {
		return verifiedToken{}, badToken("it cannot be read")
	}
	header := signed.Signatures[0].Protected
	key, ok := i.keys.find(ctx, header.KeyID)
	if !ok {
		return verifiedToken{}, badToken("it is signed with an unknown key")
	}
	if header.Algorithm != key.Algorithm || header.JSONWebKey != nil || len(header.ExtraHeaders) > 1 || !isJWT(header.ExtraHeaders) {
		return verifiedToken{}, badToken("its header is not acceptable")
	}
	payload, err := signed.Verify(key.Public())
	if err != nil {
		return verifiedToken{}, badToken("its signature does not fit")
	}
	return i.readClaims(key.KeyID, payload)
}

// isJWT accepts the one header parameter we write ourselves besides alg and kid.
func isJWT(extra map[jose.HeaderKey]any) bool {
	typ, _ := extra[jose.HeaderType].(string)
	return strings.EqualFold(typ, "jwt")
}

func (i *Identity) readClaims(kid string, payload []byte) (verifiedToken, error) {
	var c claims
	if err := strictjson.Unmarshal(payload, &c); err != nil {
		return verifiedToken{}, badToken("its claims cannot be read")
	}
	now := float64(i.deps.Clock.Now().Unix())
	switch {
	case c.Issuer != i.deps.Config.Issuer() || c.Audience != i.deps.Config.PublicURL():
		return verifiedToken{}, badToken("it is meant for another installation")
	case c.Subject == "" || c.SessionID == "" || c.ID == "":
		return verifiedToken{}, badToken("a claim is missing")
	case c.Expires <= 0 || c.Expires > math.MaxInt32*2 || c.IssuedAt <= 0 || c.IssuedAt > now+leeway.Seconds():
		return verifiedToken{}, badToken("its times are not acceptable")
	}
	return verifiedToken{
		kid: kid, sessionID: c.SessionID, subject: c.Subject, scopes: strings.Fields(c.Scope), expires: time.Unix(int64(c.Expires), 0),
	}, nil
}
