package js

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // users need it for checksums that others made
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // users need it for checksums that others made
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"hash"
	"strings"
)

// Limits of what cannot be interrupted once it runs: about a second of work at most.
const (
	mostRandom     = 1 << 20
	mostIterations = 1_000_000
	mostKey        = 1024
)

// digest finds a hash by the name that it has in Node.
func digest(name string) (func() hash.Hash, error) {
	switch strings.ReplaceAll(strings.ToLower(name), "-", "") {
	case "md5":
		return md5.New, nil
	case "sha1":
		return sha1.New, nil
	case "sha224":
		return sha256.New224, nil
	case "sha256":
		return sha256.New, nil
	case "sha384":
		return sha512.New384, nil
	case "sha512":
		return sha512.New, nil
	default:
		return nil, unavailable("hash", name)
	}
}

func hashOf(_ *VM, a arguments) (any, error) {
	newHash, err := digest(a.text(0))
	if err != nil {
		return nil, err
	}
	h := newHash()
	_, _ = h.Write(a.bytes(1)) // a hash never fails
	return binary(h.Sum(nil)), a.err()
}

func hmacOf(_ *VM, a arguments) (any, error) {
	newHash, err := digest(a.text(0))
	if err != nil {
		return nil, err
	}
	h := hmac.New(newHash, a.bytes(1))
	_, _ = h.Write(a.bytes(2)) // a hash never fails
	return binary(h.Sum(nil)), a.err()
}

func pbkdf2Of(_ *VM, a arguments) (any, error) {
	newHash, err := digest(a.text(0))
	if err != nil {
		return nil, err
	}
	iterations, length := a.number(3, mostIterations), a.number(4, mostKey)
	if err := a.err(); err != nil || iterations == 0 || length == 0 {
		return nil, errArguments
	}
	key, err := pbkdf2.Key(newHash, string(a.bytes(1)), a.bytes(2), iterations, length)
	if err != nil {
		return nil, err
	}
	return binary(key), a.err()
}

func random(_ *VM, a arguments) (any, error) {
	data := make([]byte, a.number(0, mostRandom))
	_, _ = rand.Read(data) // it never fails
	return binary(data), a.err()
}

func equal(_ *VM, a arguments) (any, error) {
	return subtle.ConstantTimeCompare(a.bytes(0), a.bytes(1)) == 1, a.err()
}
