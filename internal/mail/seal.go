package mail

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// seal keeps what mails say from whoever reads the database.
type seal struct {
	aead cipher.AEAD
}

func newSeal(internalKey string) (*seal, error) {
	key, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "mail outbox", sha256.Size)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &seal{aead: aead}, err
}

// close gives the text to store for a message; it opens only under the message's own id.
func (s *seal) close(m Message) (string, error) {
	plain, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(m.ID))), nil
}

func (s *seal) open(id, text string) (m Message, err error) {
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return m, err
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(plain, &m)
}
