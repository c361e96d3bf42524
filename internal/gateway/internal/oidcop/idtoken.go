package oidcop

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"

	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/strictjson"
)

// makeIDToken tells the client who signed in and when. What else it may know of the person, it asks for.
func (p *Provider) makeIDToken(g grant, nonce string, access identity.Token) (string, error) {
	key := p.deps.Keys.Signing()
	if key == nil {
		return "", errs.New(errs.Unavailable, "There is no signing key yet; try again shortly.").WithRetryAfter(time.Second)
	}
	hash, err := oidc.ClaimHash(access.JWT, jose.SignatureAlgorithm(key.Algorithm))
	if err != nil {
		return "", err
	}
	now := p.now()
	payload, err := json.Marshal(&oidc.IDTokenClaims{
		TokenClaims: oidc.TokenClaims{
			Issuer: p.deps.Config.Issuer(), Subject: g.UserID, Audience: oidc.Audience{g.ClientID}, AuthorizedParty: g.ClientID,
			IssuedAt: oidc.FromTime(now), Expiration: oidc.FromTime(now.Add(idTokenLife)), AuthTime: oidc.FromTime(g.AuthTime), Nonce: nonce,
		},
		AccessTokenHash: hash, SessionID: g.SessionID,
	})
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// hint is what an ID token of ours says, whether or not it has expired.
type hint struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	ClientID string `json:"azp"`
}

// readHint reads an ID token that a client sends back. It proves nothing but that we once made it.
func (p *Provider) readHint(ctx context.Context, token string) (hint, bool) {
	const longest = 8 << 10
	var known hint
	if len(token) > longest {
		return known, false
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	})
	if err != nil || len(signed.Signatures) != 1 {
		return known, false
	}
	header := signed.Signatures[0].Protected
	key, ok := p.deps.Keys.Find(ctx, header.KeyID)
	if !ok || header.Algorithm != key.Algorithm {
		return known, false
	}
	payload, err := signed.Verify(key)
	if err != nil || strictjson.Unmarshal(payload, &known) != nil {
		return known, false
	}
	// access tokens are signed with the same keys, and have no azp
	return known, known.Issuer == p.deps.Config.Issuer() && known.Subject != "" && known.ClientID != ""
}
