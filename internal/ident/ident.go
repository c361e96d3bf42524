// Package ident makes identifiers and secrets. All of them come from the operating system's random source.
package ident

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"time"
)

// Source makes identifiers. The zero value reads crypto/rand; tests give it a fixed reader.
type Source struct {
	Random io.Reader
}

// Workspace returns a workspace id: seven characters of [A-Za-z0-9_-].
func (s Source) Workspace() string { return s.nano(7) }

// File returns a file id: twenty-one characters of [A-Za-z0-9_-].
func (s Source) File() string { return s.nano(21) }

// User returns a user id: twenty-four hexadecimal characters.
func (s Source) User() string { return hex.EncodeToString(s.bytes(12)) }

// UUID returns a random (version 4) UUID.
func (s Source) UUID() string {
	return uuid(s.bytes(16), 4)
}

// Timed returns a UUID of version 7: those of one time stand together in an index, which many events of one request need.
func (s Source) Timed(at time.Time) string {
	b := s.bytes(16)
	var millis [8]byte
	binary.BigEndian.PutUint64(millis[:], uint64(at.UnixMilli()))
	copy(b, millis[2:])
	return uuid(b, 7)
}

func uuid(b []byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:8], b[0:4])
	out[8] = '-'
	hex.Encode(out[9:13], b[4:6])
	out[13] = '-'
	hex.Encode(out[14:18], b[6:8])
	out[18] = '-'
	hex.Encode(out[19:23], b[8:10])
	out[23] = '-'
	hex.Encode(out[24:36], b[10:16])
	return string(out[:])
}

// Secret returns 256 random bits as URL-safe text.
func (s Source) Secret() string { return base64.RawURLEncoding.EncodeToString(s.bytes(32)) }

func (s Source) nano(n int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	b := s.bytes(n)
	for i := range b {
		b[i] = alphabet[b[i]&63]
	}
	return string(b)
}

func (s Source) bytes(n int) []byte {
	b := make([]byte, n)
	if s.Random == nil {
		_, _ = rand.Read(b) // never fails: the runtime stops the process instead
		return b
	}
	if _, err := io.ReadFull(s.Random, b); err != nil {
		_, _ = rand.Read(b)
	}
	return b
}
