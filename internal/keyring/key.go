package keyring

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// made is a new key, ready to be stored.
type made struct {
	kid, alg, jwk string
}

// newKey makes a key. RSA takes a good part of a second: never call it while somebody waits for an answer.
func (s Settings) newKey() (made, error) {
	private, err := s.generate()
	if err != nil {
		return made{}, fmt.Errorf("make a signing key: %w", err)
	}
	key := jose.JSONWebKey{Key: private, Algorithm: s.Alg, Use: "sig"}
	print, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return made{}, err
	}
	key.KeyID = named(print)
	text, err := json.Marshal(key)
	return made{kid: key.KeyID, alg: s.Alg, jwk: string(text)}, err
}

func (s Settings) generate() (crypto.Signer, error) {
	switch s.Alg {
	case "ES256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ES512":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "EdDSA":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	default:
		return rsa.GenerateKey(rand.Reader, s.Size)
	}
}

// fit tells whether a key is one that the settings would make.
func (s Settings) fit(e *entry) bool {
	if private, ok := e.private.Key.(*rsa.PrivateKey); ok && private.N.BitLen() != s.Size {
		return false
	}
	return e.private.Algorithm == s.Alg
}

// read makes a stored key usable: parsed, with its signer.
func (e *entry) read(text string) error {
	var key jose.JSONWebKey
	if err := json.Unmarshal([]byte(text), &key); err != nil || key.KeyID != e.kid || key.IsPublic() {
		return errors.New("a signing key in the database cannot be read") // without the reason: it may hold the key
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key},
		(&jose.SignerOptions{}).WithType("jwt"))
	if err != nil {
		return errors.New("a signing key in the database cannot be used")
	}
	e.private, e.public, e.signer = &key, key.Public(), signer
	return nil
}

// named is a key's id: its thumbprint, which never begins with a dash, so that a command line does not take it for a flag.
func named(print []byte) string {
	return strings.TrimLeft(base64.RawURLEncoding.EncodeToString(print), "-")
}
