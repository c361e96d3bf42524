package federation

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	maxToken   = 64 << 10
	maxSubject = 255
	// skew forgives a provider whose clock is ahead.
	skew = 5 * time.Minute
)

// wanted is what a token must be for, beside being of the provider and not expired.
type wanted struct {
	// audiences are ours: one of them must be in the token, and the party it was given to must be one of them.
	audiences []string
	// nonce ties the token to a sign-in; not looked at when empty.
	nonce string
	// access is the access token that came with it, or empty.
	access string
}

// person is what a verified token says of somebody.
type person struct {
	provider *provider
	subject  string
	claims   map[string]any
}

// verify checks a token of the provider and tells who it is about.
func (p *provider) verify(ctx context.Context, known *metadata, token string, want wanted) (person, error) {
	if len(token) > maxToken {
		return person{}, errors.New("the token is too long")
	}
	recorded := &recorder{keys: known.keys}
	verifier := oidc.NewVerifier(p.Issuer, recorded, &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: names(), Now: p.clock.Now})
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return person{}, errors.Join(err, recorded.err)
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return person{}, errors.New("the claims of the token cannot be read")
	}
	if err := p.checkClaims(verified, claims, want); err != nil {
		return person{}, err
	}
	return person{provider: p, subject: verified.Subject, claims: claims}, nil
}

// checkClaims makes the checks the library leaves to its caller.
func (p *provider) checkClaims(token *oidc.IDToken, claims map[string]any, want wanted) error {
	azp, hasParty := claims["azp"]
	party, _ := azp.(string)
	switch {
	case !slices.ContainsFunc(token.Audience, func(audience string) bool { return slices.Contains(want.audiences, audience) }):
		return errors.New("the token is meant for somebody else")
	case hasParty && !slices.Contains(want.audiences, party):
		return errors.New("the token was given to somebody else")
	case len(token.Audience) > 1 && !hasParty:
		return errors.New("the token has several audiences and does not say whom it was given to")
	case token.IssuedAt.After(p.clock.Now().Add(skew)):
		return errors.New("the token is from the future")
	case want.nonce != "" && subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(want.nonce)) != 1:
		return errors.New("the token is of another sign-in")
	case !validSubject(token.Subject):
		return errors.New("the token has no subject that can be used")
	}
	if want.access != "" && token.AccessTokenHash != "" {
		if err := token.VerifyAccessToken(want.access); err != nil {
			return fmt.Errorf("the access token is not the one of the ID token: %w", err)
		}
	}
	return nil
}

func validSubject(subject string) bool {
	if subject == "" || len(subject) > maxSubject || !utf8.ValidString(subject) {
		return false
	}
	for _, r := range subject {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

func names() []string {
	var all []string
	for _, algorithm := range algorithms() {
		all = append(all, string(algorithm))
	}
	return all
}

// recorder keeps the error of the keys, which the library turns into text.
type recorder struct {
	keys *keySet
	err  error
}

// VerifySignature implements oidc.KeySet.
func (r *recorder) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := r.keys.VerifySignature(ctx, token)
	r.err = err
	return payload, err
}

// unreadableKeys tells that a token could not be verified because the provider did not answer, not because it is wrong.
func unreadableKeys(err error) bool {
	_, unreadable := errors.AsType[keysError](err)
	return unreadable
}
