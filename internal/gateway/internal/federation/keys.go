package federation

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"atelier/internal/clock"
)

const (
	// keysLife is how long keys are believed before they are read again, so that a withdrawn one does not live on.
	keysLife = 10 * time.Minute
	// keysGrace is how much longer they are believed while they cannot be read.
	keysGrace = 50 * time.Minute
	// keysPause keeps tokens with unknown keys from becoming a load on the provider.
	keysPause = time.Second
	maxKeys   = 100

	leastModulus, mostModulus = 2048, 8192
)

// algorithms are the signatures that are accepted, whatever a provider says it uses: none of them can be made with what is
// public, and none is "none".
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}
}

// errSignature says that no key of the provider fits.
var errSignature = errors.New("the signature fits no key of the provider")

// keysError says that the keys of the provider could not be read, so that nothing can be verified.
type keysError struct{ cause error }

// Error implements error.
func (e keysError) Error() string { return "read the provider's keys: " + e.cause.Error() }

// Unwrap gives the cause.
func (e keysError) Unwrap() error { return e.cause }

// keySet is the public keys of a provider. Unlike the library's it forgets keys the provider withdrew, reads them in the
// goroutine of a caller, and bounds how often.
type keySet struct {
	url    string
	client *http.Client
	clock  clock.Clock

	asking singleflight.Group
	known  atomic.Pointer[knownKeys]
	tried  atomic.Pointer[time.Time] // when they were last asked for
}

type knownKeys struct {
	keys   []jose.JSONWebKey
	readAt time.Time
}

func newKeySet(url string, client *http.Client, clk clock.Clock) *keySet {
	return &keySet{url: url, client: client, clock: clk}
}

// VerifySignature gives the payload of a token that the provider signed. It implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errSignature
	}
	known, err := k.current(ctx)
	if err != nil {
		return nil, err
	}
	if payload, ok := verifyWith(known.keys, signed); ok {
		return payload, nil
	}
	if fresh, err := k.newer(ctx, known); err == nil {
		if payload, ok := verifyWith(fresh.keys, signed); ok {
			return payload, nil
		}
	}
	return nil, errSignature
}

func verifyWith(keys []jose.JSONWebKey, signed *jose.JSONWebSignature) ([]byte, bool) {
	header := signed.Signatures[0].Protected
	for _, key := range keys {
		if header.KeyID != "" && header.KeyID != key.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// current gives keys that are believed now.
func (k *keySet) current(ctx context.Context) (*knownKeys, error) {
	known := k.known.Load()
	age := time.Duration(0)
	if known != nil {
		if age = k.clock.Now().Sub(known.readAt); age < keysLife {
			return known, nil
		}
	}
	fresh, err := k.newer(ctx, known)
	if err != nil && known != nil && age < keysLife+keysGrace {
		return known, nil
	}
	return fresh, err
}

// newer reads the keys once for all who wait, unless somebody did so a moment ago. It is not cut short when one of them leaves.
func (k *keySet) newer(ctx context.Context, have *knownKeys) (*knownKeys, error) {
	result, err, _ := k.asking.Do("", func() (any, error) {
		if latest := k.known.Load(); latest != have {
			return latest, nil
		}
		now := k.clock.Now()
		if tried := k.tried.Load(); tried != nil && now.Sub(*tried) < keysPause {
			return nil, keysError{errors.New("they were asked for a moment ago")}
		}
		k.tried.Store(&now)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		keys, err := k.read(ctx)
		if err != nil {
			return nil, keysError{err}
		}
		fresh := &knownKeys{keys: keys, readAt: k.clock.Now()}
		k.known.Store(fresh)
		return fresh, nil
	})
	fresh, _ := result.(*knownKeys)
	return fresh, err
}

func (k *keySet) read(ctx context.Context) ([]jose.JSONWebKey, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, application/jwk-set+json")
	resp, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return parseKeys(content)
}

// parseKeys takes the keys that can sign for us. Others may stand beside them: providers publish keys for encryption and of
// new kinds.
func parseKeys(content []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(content, &set); err != nil {
		return nil, errors.New("they are not a JSON Web Key Set")
	}
	if len(set.Keys) > maxKeys {
		return nil, errors.New("there are too many of them")
	}
	var usable []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil && canSign(key) {
			usable = append(usable, key)
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("none of them can be used")
	}
	return usable, nil
}

func canSign(key jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" || !key.Valid() {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return public.N.BitLen() >= leastModulus && public.N.BitLen() <= mostModulus
	case *ecdsa.PublicKey:
		return public.Curve.Params().Name == "P-256"
	case ed25519.PublicKey:
		return true
	default:
		return false // also private and shared keys, which nobody should publish
	}
}
