package kv

import (
	"errors"
	"time"
)

// MaxKey is the longest key in bytes. PostgreSQL cannot index much more, so every driver refuses it alike.
const MaxKey = 1024

var (
	// ErrKey says that a key is empty or longer than MaxKey.
	ErrKey = errors.New("kv: a key has 1 to 1024 bytes")
	// ErrLifetime says that a value was to be kept for no time at all.
	ErrLifetime = errors.New("kv: a lifetime must be positive")
)

// CheckKeys gives ErrKey when a key is not one. Drivers call it before they do anything.
func CheckKeys(keys ...string) error {
	for _, key := range keys {
		if key == "" || len(key) > MaxKey {
			return ErrKey
		}
	}
	return nil
}

// CheckWrite gives ErrKey or ErrLifetime when a value cannot be kept under key for ttl.
func CheckWrite(key string, ttl time.Duration) error {
	if ttl <= 0 {
		return ErrLifetime
	}
	return CheckKeys(key)
}

// RoundUp is a lifetime in whole units, never shorter than the one asked for.
func RoundUp(ttl, unit time.Duration) int64 { return ceilDiv(int64(ttl), int64(unit)) }

// ceilDiv divides positive numbers and rounds up.
func ceilDiv(n, by int64) int64 {
	quotient := n / by
	if n%by > 0 {
		quotient++
	}
	return quotient
}
