package webhooks

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"atelier/internal/errs"
)

// The prefixes of keys, as Standard Webhooks writes them.
const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
)

// The sizes of secrets in bytes; made ones have the middle of the way.
const (
	minSecret  = 24
	maxSecret  = 64
	madeSecret = 32
	maxKeys    = 2
)

// content is what of a subscription is sealed.
type content struct {
	Keys    []signingKey      `json:"keys"`
	Headers map[string]string `json:"headers,omitempty"`
}

// signingKey is a key that signs, for ever or until a time in milliseconds.
type signingKey struct {
	Key   string `json:"key"`
	Until int64  `json:"until,omitempty"`
}

// errSealed tells that what is sealed cannot be opened.
var errSealed = errors.New("the signing keys of the subscription cannot be opened")

func place(id string) string { return "events/subscriptions/" + id }

// seal puts the content of a subscription into it, and shows what of it is no secret.
func (w *Webhooks) seal(s *Subscription, c content) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if s.sealed, err = w.Vault.Seal(place(s.ID), text); err != nil {
		return err
	}
	s.show(c, w.time())
	return nil
}

// open shows what of the sealed content is no secret. What cannot be opened is left out: the subscription can still be looked
// at, given new keys and deleted.
func (w *Webhooks) open(s *Subscription) error {
	text, err := w.Vault.Open(place(s.ID), s.sealed)
	if err != nil {
		return fmt.Errorf("%w: %w", errSealed, err)
	}
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("%w: %w", errSealed, err)
	}
	s.show(c, w.time())
	return nil
}

func (s *Subscription) show(c content, now time.Time) {
	s.content, s.Headers = &c, c.Headers
	s.PublicKeys, s.PreviousUntil = nil, time.Time{}
	for _, key := range c.live(now) {
		if key.Until != 0 {
			s.PreviousUntil = time.UnixMilli(key.Until).UTC()
		}
		if private, ok := privateKey(key.Key); ok {
			public, _ := private.Public().(ed25519.PublicKey)
			s.PublicKeys = append(s.PublicKeys, publicPrefix+base64.StdEncoding.EncodeToString(public))
		}
	}
}

// live are the keys that sign now, the newest first.
func (c content) live(now time.Time) []signingKey {
	return slices.DeleteFunc(slices.Clone(c.Keys), func(k signingKey) bool { return k.Until != 0 && k.Until <= now.UnixMilli() })
}

// secrets are the keys as they are shown to whoever has just made them.
func (c content) secrets() []string {
	shown := make([]string, 0, len(c.Keys))
	for _, key := range c.Keys {
		if strings.HasPrefix(key.Key, secretPrefix) {
			shown = append(shown, key.Key)
		}
	}
	return shown
}

// newKeys are the first keys of a subscription: those that its maker brings, or one that is made here.
func newKeys(signature string, given []string) ([]signingKey, error) {
	if len(given) == 0 {
		return []signingKey{{Key: newKey(signature)}}, nil
	}
	if signature == Ed25519 {
		return nil, errs.Invalid(errs.Field{Field: "secrets", Message: "with the signature ed25519 the key pair is made here; leave the secrets out"})
	}
	var wrong []errs.Field
	keys := make([]signingKey, 0, len(given))
	for i, secret := range given {
		if _, err := secretBytes(secret); err != nil {
			wrong = append(wrong, errs.Field{Field: fmt.Sprintf("secrets[%d]", i), Message: err.Error()})
		}
		keys = append(keys, signingKey{Key: secret})
	}
	if len(given) > maxKeys {
		wrong = append(wrong, errs.Field{Field: "secrets", Message: "give at most two secrets"})
	}
	if len(wrong) > 0 {
		return nil, errs.Invalid(wrong...)
	}
	return keys, nil
}

func newKey(signature string) string {
	if signature == Ed25519 {
		_, private, _ := ed25519.GenerateKey(rand.Reader) // never fails: the runtime stops the process instead
		return privatePrefix + base64.StdEncoding.EncodeToString(private)
	}
	secret := make([]byte, madeSecret)
	_, _ = rand.Read(secret) // never fails: the runtime stops the process instead
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// errSecret says how a secret is written; it never repeats what was given.
var errSecret = errors.New("write whsec_ and 24 to 64 random bytes in base64")

// secretBytes reads a secret of HMAC.
func secretBytes(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, errSecret
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(raw) < minSecret || len(raw) > maxSecret {
		return nil, errSecret
	}
	return raw, nil
}

// privateKey reads a private key of Ed25519; false when the text is none.
func privateKey(key string) (ed25519.PrivateKey, bool) {
	encoded, ok := strings.CutPrefix(key, privatePrefix)
	if !ok {
		return nil, false
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	return ed25519.PrivateKey(raw), err == nil && len(raw) == ed25519.PrivateKeySize
}
