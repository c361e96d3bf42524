package gitcmd

import (
	"crypto/dsa" //nolint:staticcheck // to know one when it is seen
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	maxKey      = 16 << 10
	maxPassword = 4 << 10
	minRSABits  = 2048
)

const (
	errNotKey        = refusedError("This is not an SSH private key; paste the whole file, from -----BEGIN to -----END.")
	errLongKey       = refusedError("The key is longer than 16 KB; paste the private key only.")
	errPublicKey     = refusedError("This is a public key; the private key is needed, the file without .pub.")
	errPuTTY         = refusedError("This is a key of PuTTY; export it as an OpenSSH key.")
	errEncryptedKey  = refusedError("The key is protected by a passphrase, which nobody could type; use a key without one.")
	errWeakKey       = refusedError("Keys of this kind or length are not safe any more; use ssh-keygen -t ed25519.")
	errPassword      = refusedError("The password or token must be a single line of at most 4096 characters.")
	errKnownHosts    = refusedError("The host keys are written as in a known_hosts file: host, kind and key on each line.")
	errLongKnownHost = refusedError("The host keys are longer than 16 KB.")
)

// CheckSSHKey tells whether a text is a private key that can be used. The error is a sentence for the user and never
// holds a part of the key.
func CheckSSHKey(text string) error {
	_, err := parseKey(text)
	return err
}

// parseKey returns a private key that both an agent and a signer can be made of.
func parseKey(text string) (any, error) {
	if len(text) > maxKey {
		return nil, errLongKey
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if err := checkKeyForm(text); err != nil {
		return nil, err
	}
	key, err := ssh.ParseRawPrivateKey([]byte(text))
	if err != nil {
		if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
			return nil, errEncryptedKey
		}
		return nil, errNotKey
	}
	switch key := key.(type) {
	case *dsa.PrivateKey:
		return nil, errWeakKey
	case *rsa.PrivateKey:
		if key.N.BitLen() < minRSABits {
			return nil, errWeakKey
		}
		return key, nil
	case ed25519.PrivateKey:
		return &key, nil
	}
	if _, err := ssh.NewSignerFromKey(key); err != nil {
		return nil, errWeakKey // a curve that SSH does not know
	}
	return key, nil
}

// checkKeyForm insists that the text is one block and nothing else: what stands around it would mean something to
// programs that read the lines one by one.
func checkKeyForm(text string) error {
	switch {
	case strings.HasPrefix(text, "ssh-"), strings.HasPrefix(text, "ecdsa-"), strings.HasPrefix(text, "-----BEGIN PUBLIC KEY"), strings.HasPrefix(text, "---- BEGIN SSH2 PUBLIC"):
		return errPublicKey
	case strings.HasPrefix(text, "PuTTY-User-Key-File"):
		return errPuTTY
	case !strings.HasPrefix(text, "-----BEGIN "):
		return errNotKey
	}
	block, rest := pem.Decode([]byte(text + "\n"))
	switch {
	case block == nil || strings.TrimSpace(string(rest)) != "":
		return errNotKey
	case strings.Contains(block.Type, "ENCRYPTED") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return errEncryptedKey
	case block.Type == "DSA PRIVATE KEY":
		return errWeakKey
	case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return errNotKey
	}
	return nil
}

// CheckPassword tells whether a text can be a password or token. The error is a sentence for the user.
func CheckPassword(text string) error {
	if len(text) > maxPassword || strings.ContainsAny(text, "\r\n\x00") {
		return errPassword
	}
	return nil
}

// CheckKnownHosts tells whether a text is a list of host keys, each line as in a known_hosts file; the host may be left
// out. The error is a sentence for the user.
func CheckKnownHosts(text string) error {
	_, err := knownHosts(text, Address{Host: "host"})
	return err
}

// knownHosts returns the lines for ssh. A line that is only a key is one of the address.
func knownHosts(text string, a Address) (string, error) {
	if len(text) > maxKey {
		return "", errLongKnownHost
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line)); err == nil && isKeyKind(line) {
			line = a.alias() + " " + line
		}
		if _, _, _, _, _, err := ssh.ParseKnownHosts([]byte(line)); err != nil {
			return "", errKnownHosts
		}
		out.WriteString(line + "\n")
	}
	if out.Len() == 0 {
		return "", errKnownHosts
	}
	return out.String(), nil
}

func isKeyKind(line string) bool {
	return strings.HasPrefix(line, "ssh-") || strings.HasPrefix(line, "ecdsa-") || strings.HasPrefix(line, "sk-")
}
