package crypto

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // for systems that ask for it; automations choose
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strings"

	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
)

// The encodings of bytes.
const (
	asHex       = "hex"
	asBase64    = "base64"
	asBase64URL = "base64url"
)

// digestEncodings are those of digests, the default first.
func digestEncodings() []string { return []string{asHex, asBase64, asBase64URL} }

func encode(encoding string, data []byte) string {
	switch encoding {
	case asBase64:
		return base64.StdEncoding.EncodeToString(data)
	case asBase64URL:
		return base64.RawURLEncoding.EncodeToString(data)
	default:
		return hex.EncodeToString(data)
	}
}

// newHash makes one of the hashes that OneOf has let through.
func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case "sha512":
		return sha512.New()
	case "sha384":
		return sha512.New384()
	case "sha1":
		return sha1.New() //nolint:gosec // as above
	case "md5":
		return md5.New() //nolint:gosec // as above
	default:
		return sha256.New()
	}
}

// HMAC is {data, key, algorithm, encoding}: the signature of a text.
func HMAC(parameters *value.Object) (any, error) {
	p := params.Read("crypto.hmac", parameters)
	data, key := p.Data("data", maxData), p.Text("key", maxKey)
	algorithm := p.OneOf("algorithm", "sha256", "sha512", "sha384", "sha1", "md5")
	encoding := p.OneOf("encoding", digestEncodings()...)
	if err := p.Err(); err != nil {
		return nil, err
	}
	mac := hmac.New(func() hash.Hash { return newHash(algorithm) }, []byte(key))
	_, _ = mac.Write([]byte(data))
	return encode(encoding, mac.Sum(nil)), nil
}

// Base64Encode is {data, urlSafe}. What is safe in addresses has no padding.
func Base64Encode(parameters *value.Object) (any, error) {
	p := params.Read("crypto.base64Encode", parameters)
	data, urlSafe := p.Data("data", maxData), p.Bool("urlSafe", false)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if urlSafe {
		return encode(asBase64URL, []byte(data)), nil
	}
	return encode(asBase64, []byte(data)), nil
}

// Base64Decode is {data}. It reads both alphabets, with or without padding and line breaks. What is no text in the result is
// replaced by the mark for it, because values are texts.
func Base64Decode(parameters *value.Object) (any, error) {
	p := params.Read("crypto.base64Decode", parameters)
	data := p.Text("data", maxData/3*4)
	_ = p.Bool("urlSafe", false)
	if err := p.Err(); err != nil {
		return nil, err
	}
	plain := strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "", " ", "", "\t", "").Replace(data)
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
	if err != nil {
		p.Refuse("data", "is not valid base64")
		return nil, p.Err()
	}
	return string([]rune(string(decoded))), nil // every byte that is no text becomes a mark of its own
}

// RandomBytes is {length, encoding}: it gives what draws the bytes.
func RandomBytes(parameters *value.Object) (draw func() string, err error) {
	p := params.Read("crypto.randomBytes", parameters)
	const usual = 32
	length := p.Int("length", usual, 1, maxRandom)
	encoding := p.OneOf("encoding", asBase64URL, asHex, asBase64)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return func() string {
		data := make([]byte, length)
		_, _ = rand.Read(data) // never fails: the process stops instead
		return encode(encoding, data)
	}, nil
}
