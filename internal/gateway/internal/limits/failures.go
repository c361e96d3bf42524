package limits

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"atelier/internal/httpx"
	"atelier/internal/kv"
)

// Credential is a kind of secret that can be guessed. Passwords have LoginAllowed.
type Credential string

// The kinds of secrets.
const (
	// Token is a bearer token of any form.
	Token Credential = "token"
	// Key is an API key.
	Key Credential = "key"
	// Code is a one-time code or token that was mailed or computed.
	Code Credential = "code"
)

// friendship is how long a network that used a right credential is told from strangers.
const friendship = 24 * time.Hour

// hintLength is how much of a key or an access token is its name: the letters in front and eight more.
const hintLength = 11

// Hint is the part of an API key or an access token under which wrong ones are counted. Guesses that share it are guesses
// at the same secret.
func Hint(secret string) string { return secret[:min(len(secret), hintLength)] }

// Blocked gives rate_limit_exceeded when too many wrong credentials came from the caller's network, or for the hint: an
// account, a Hint, or nothing. It looks only into the memory of this process; ask it before any work is done for a
// credential that is not known to be good.
func (l *Limits) Blocked(ctx context.Context, kind Credential, hint string) error {
	if l.deps.Config.DisableRateLimit {
		return nil
	}
	network := httpx.InfoFrom(ctx).Network()
	if err := l.blocked(failuresFrom(network)); err != nil || hint == "" {
		return err
	}
	return l.blocked(l.failuresOf(kind, hint, network))
}

// Failed counts a wrong credential. A right one never counts, and neither should one that is only too old.
func (l *Limits) Failed(ctx context.Context, kind Credential, hint string) {
	if l.deps.Config.DisableRateLimit {
		return
	}
	network := httpx.InfoFrom(ctx).Network()
	l.miss(ctx, failuresFrom(network), l.deps.Config.CredentialFailuresNet)
	if hint != "" {
		l.miss(ctx, l.failuresOf(kind, hint, network), l.deps.Config.CredentialFailures)
	}
}

// Passed notes that a credential was right. From then on the guesses of strangers at the same hint do not block the network
// it came from.
func (l *Limits) Passed(ctx context.Context, kind Credential, hint string) {
	if hint == "" || l.deps.Config.DisableRateLimit {
		return
	}
	l.friends.Set(doorOf(kind, hint)+"@"+httpx.InfoFrom(ctx).Network(), l.deps.Clock.Now().Add(friendship))
}

func failuresFrom(network string) string { return "failures:net:" + network }

// failuresOf is where failures at a hint are counted: strangers' together, those of a friendly network by themselves.
func (l *Limits) failuresOf(kind Credential, hint, network string) string {
	door := doorOf(kind, hint)
	own := door + "@" + network
	if until, ok := l.friends.GetIfPresent(own); ok && until.After(l.deps.Clock.Now()) {
		return own
	}
	return door
}

func doorOf(kind Credential, hint string) string {
	return "failures:" + string(kind) + ":" + digest(hint)
}

// miss counts a failure and notes until when there may be no other. What other instances count is heard of with the next
// failure here.
func (l *Limits) miss(ctx context.Context, key string, most int) {
	limit := perMinute(most)
	decision := l.take(ctx, key, limit)
	if wait := untilNext(limit, decision); wait > 0 {
		l.blocks.Set(key, l.deps.Clock.Now().Add(wait))
	}
}

// untilNext is how long it takes until the limit has a unit again.
func untilNext(limit kv.Limit, decision kv.Decision) time.Duration {
	if !decision.Allowed {
		return decision.RetryAfter
	}
	interval, burst, err := limit.Interval()
	if err != nil {
		return 0
	}
	return decision.ResetAfter - time.Duration(interval*(burst-1))*time.Microsecond
}

func (l *Limits) blocked(key string) error {
	until, ok := l.blocks.GetIfPresent(key)
	if !ok {
		return nil
	}
	if wait := until.Sub(l.deps.Clock.Now()); wait > 0 {
		return tooOften(wait)
	}
	return nil
}

// digest names a thing without telling it: stores hold neither addresses of people nor parts of secrets.
func digest(text string) string {
	const kept = 16
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:kept])
}
