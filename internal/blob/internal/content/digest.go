// Package content is what the blob drivers share: the name of content, hashing it on the way in and checking it on the
// way out.
package content

import (
	"encoding/hex"
	"hash"
	"strings"
)

const (
	algorithm    = "sha256:"
	digestLength = 64
	shardLength  = 2
)

// Digest is a well-formed SHA-256 in lower-case hexadecimal. Only Parse, FromPath and Copy make one, so what reaches a
// file system or a server never contains anything else.
type Digest string

// Parse reads a blob's hash; anything but "sha256:" and 64 lower-case hexadecimal characters is refused.
func Parse(name string) (Digest, bool) {
	digits, ok := strings.CutPrefix(name, algorithm)
	if !ok || !isHex(digits, digestLength) {
		return "", false
	}
	return Digest(digits), true
}

// FromPath is the inverse of Path; names of anything else are refused.
func FromPath(path string) (Digest, bool) {
	shard, rest, ok := strings.Cut(path, "/")
	if !ok || !isHex(shard, shardLength) || !isHex(rest, digestLength-shardLength) {
		return "", false
	}
	return Digest(shard + rest), true
}

// Hash is the name the contract uses.
func (d Digest) Hash() string { return algorithm + string(d) }

// Hex is the bare digits.
func (d Digest) Hex() string { return string(d) }

// Shard is the folder of the content: its first two digits, so that no folder grows too large.
func (d Digest) Shard() string { return string(d[:shardLength]) }

// Path is where the content lives, the same in every driver: a folder can be copied to a bucket and back.
func (d Digest) Path() string { return d.Shard() + "/" + string(d[shardLength:]) }

func digestOf(h hash.Hash) Digest { return Digest(hex.EncodeToString(h.Sum(nil))) }

func isHex(s string, length int) bool {
	if len(s) != length {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
