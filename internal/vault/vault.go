// Package vault encrypts what must be read again, so that a copy of the database alone is worth nothing. Every value has a
// data key of its own, which a master key wraps: for another master key only the wrapped data key is written anew.
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
)

// Vault seals and opens values. It may be used by several goroutines.
type Vault struct {
	current string
	masters map[string]cipher.AEAD
}

// Sealed is an encrypted value as it is stored.
type Sealed struct {
	// KeyID names the master key. Key is the data key as that wraps it, and Data the value; both in base64.
	KeyID, Key, Data string
}

// What keeps a value from being opened.
var (
	// ErrUnknownKey is that its master key is not among those of the vault.
	ErrUnknownKey = errors.New("the master key of a sealed value is not configured")
	// ErrDamaged is that it was changed or moved, or that its master key has another value now.
	ErrDamaged = errors.New("a sealed value cannot be opened: it was changed or moved, or its master key is not the one it was")
)

// New returns a vault that seals with the first key and opens with all of them. Ids must differ.
func New(keys ...MasterKey) (*Vault, error) {
	if len(keys) == 0 {
		return nil, errors.New("a vault needs a master key")
	}
	v := &Vault{current: keys[0].ID, masters: make(map[string]cipher.AEAD, len(keys))}
	for _, key := range keys {
		if _, taken := v.masters[key.ID]; taken {
			return nil, fmt.Errorf("two master keys have the id %q", key.ID)
		}
		master, err := newCipher(key.Key[:])
		if err != nil {
			return nil, err
		}
		v.masters[key.ID] = master
	}
	return v, nil
}

// newCipher is AES-256-GCM that puts a random nonce before what it seals.
func newCipher(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Current is the id of the master key that new values are sealed with.
func (v *Vault) Current() string { return v.current }

// Seal encrypts a value for a place, such as workspaces/{id}/secrets/{name}: moved to another one, it cannot be opened.
func (v *Vault) Seal(place string, plain []byte) (Sealed, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails: the runtime stops the process instead
	sealer, err := newCipher(key)
	if err != nil {
		return Sealed{}, err
	}
	return Sealed{KeyID: v.current, Key: v.wrap(key), Data: encode(sealer.Seal(nil, nil, plain, bindData(place)))}, nil
}

// Open decrypts a value at its place. ErrUnknownKey and ErrDamaged say why it cannot.
func (v *Vault) Open(place string, s Sealed) ([]byte, error) {
	key, err := v.unwrap(s)
	if err != nil {
		return nil, err
	}
	opener, err := newCipher(key)
	if err != nil {
		return nil, err
	}
	data, err := decode(s.Data)
	if err != nil {
		return nil, damaged(s)
	}
	plain, err := opener.Open(nil, nil, data, bindData(place))
	if err != nil {
		return nil, damaged(s)
	}
	return plain, nil
}

// Rewrap gives the value under the current master key, and whether it was under another one. Its data stays as it is.
func (v *Vault) Rewrap(s Sealed) (Sealed, bool, error) {
	key, err := v.unwrap(s) // also of the current key, so that one that was replaced under the same id is noticed
	if err != nil || s.KeyID == v.current {
		return s, false, err
	}
	return Sealed{KeyID: v.current, Key: v.wrap(key), Data: s.Data}, true, nil
}

func (v *Vault) wrap(key []byte) string {
	return encode(v.masters[v.current].Seal(nil, nil, key, bindKey(v.current)))
}

func (v *Vault) unwrap(s Sealed) ([]byte, error) {
	master, known := v.masters[s.KeyID]
	if !known {
		return nil, fmt.Errorf("%w: %q", ErrUnknownKey, s.KeyID)
	}
	wrapped, err := decode(s.Key)
	if err != nil {
		return nil, damaged(s)
	}
	key, err := master.Open(nil, nil, wrapped, bindKey(s.KeyID))
	if err != nil || len(key) != keySize {
		return nil, damaged(s)
	}
	return key, nil
}

func damaged(s Sealed) error { return fmt.Errorf("%w (%q)", ErrDamaged, s.KeyID) }

// bindKey and bindData are what a wrapped key and a value are bound to; neither passes for the other.
func bindKey(id string) []byte     { return []byte("data key under " + id) }
func bindData(place string) []byte { return []byte("value at " + place) }

func encode(data []byte) string { return base64.RawStdEncoding.EncodeToString(data) }

func decode(text string) ([]byte, error) { return base64.RawStdEncoding.Strict().DecodeString(text) }
