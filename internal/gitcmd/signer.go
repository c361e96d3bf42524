package gitcmd

import (
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Signer signs commits with an SSH key, the way git does with gpg.format=ssh.
type Signer struct{ key ssh.Signer }

// ParseSigner reads a private key. The error is a sentence for the user and never holds a part of the key.
func ParseSigner(text string) (*Signer, error) {
	key, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, errNotKey
	}
	return &Signer{key: signer}, nil
}

// PublicKey is the key that checks the signatures, as a line of authorized_keys: kind and key.
func (s *Signer) PublicKey() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.key.PublicKey())))
}

const (
	signatureMagic = "SSHSIG"
	namespace      = "git"
	hashName       = "sha512"
	armourWidth    = 70
)

// sign makes an armoured SSHSIG. It is the same for the same text: no kind of key gets randomness for it.
func (s *Signer) sign(text []byte) (string, error) {
	digest := sha512.Sum512(text)
	signed := struct{ Namespace, Reserved, Hash, Digest string }{namespace, "", hashName, string(digest[:])}
	signature, err := s.signData(append([]byte(signatureMagic), ssh.Marshal(signed)...))
	if err != nil {
		return "", err
	}
	blob := struct {
		Version                                         uint32
		Key, Namespace, Reserved, Hash, SignatureOfData string
	}{1, string(s.key.PublicKey().Marshal()), namespace, "", hashName, string(ssh.Marshal(signature))}
	return armour(append([]byte(signatureMagic), ssh.Marshal(blob)...)), nil
}

func (s *Signer) signData(text []byte) (*ssh.Signature, error) {
	signer, ok := s.key.(ssh.AlgorithmSigner)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	algorithm := s.key.PublicKey().Type()
	if algorithm == ssh.KeyAlgoRSA {
		algorithm = ssh.KeyAlgoRSASHA512
	}
	signature, err := signer.SignWithAlgorithm(nil, text, algorithm)
	if err != nil {
		return nil, errors.New("the key cannot sign")
	}
	return signature, nil
}

func armour(blob []byte) string {
	text := base64.StdEncoding.EncodeToString(blob)
	var out strings.Builder
	out.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for len(text) > 0 {
		width := min(armourWidth, len(text))
		fmt.Fprintln(&out, text[:width])
		text = text[width:]
	}
	out.WriteString("-----END SSH SIGNATURE-----\n")
	return out.String()
}
