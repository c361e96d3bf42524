package factors

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

const keySize = 32

// vault encrypts what must be read again and hashes what need not be. Its keys are not in the database, so a copy of the
// database alone is worth nothing.
type vault struct {
	sealer cipher.AEAD
	pepper []byte
}

func newVault(internalKey string) (*vault, error) {
	key, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "atelier second factors: secrets", keySize)
	if err != nil {
		return nil, err
	}
	pepper, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "atelier second factors: recovery codes", keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	sealer, err := cipher.NewGCM(block)
	return &vault{sealer: sealer, pepper: pepper}, err
}

// seal encrypts a text for an owner: moved to another one, it cannot be opened.
func (v *vault) seal(owner, text string) string {
	nonce := make([]byte, v.sealer.NonceSize())
	_, _ = rand.Read(nonce) // never fails: the runtime stops the process instead
	return base64.RawStdEncoding.EncodeToString(v.sealer.Seal(nonce, nonce, []byte(text), []byte(owner)))
}

var errSealed = errors.New("a stored second factor cannot be opened: was the internal key changed?")

func (v *vault) open(owner, sealed string) (string, error) {
	data, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || len(data) < v.sealer.NonceSize() {
		return "", errSealed
	}
	nonce, rest := data[:v.sealer.NonceSize()], data[v.sealer.NonceSize():]
	text, err := v.sealer.Open(nil, nonce, rest, []byte(owner))
	if err != nil {
		return "", errSealed
	}
	return string(text), nil
}

// hash is how a recovery code of an owner is stored.
func (v *vault) hash(owner, code string) string {
	mac := hmac.New(sha256.New, v.pepper)
	mac.Write([]byte(owner + " " + code))
	return hex.EncodeToString(mac.Sum(nil))
}
