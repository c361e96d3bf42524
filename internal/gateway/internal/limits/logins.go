package limits

import (
	"context"
	"fmt"
	"strings"
	"time"

	"atelier/internal/httpx"
	"atelier/internal/kv"
)

// An account has one door for strangers and one for each network from which somebody signed in to it before. Attempts,
// failures and locks belong to a door, so that strangers cannot lock the owner out.
const (
	// lockAfter failures in a row within lockWindow lock a door for lockFor.
	lockAfter  = 10
	lockWindow = 15 * time.Minute
	lockFor    = 15 * time.Minute
	// knownFor is how long a network is remembered after a sign-in.
	knownFor = 30 * 24 * time.Hour
)

// LoginAllowed tells whether a sign-in to the account may be tried: rate_limit_exceeded when there were too many attempts or
// wrong passwords for the account or from the network. The account is what was typed; whether it exists makes no difference.
// Ask before the password is hashed.
func (l *Limits) LoginAllowed(ctx context.Context, account string) error {
	if l.deps.Config.DisableRateLimit {
		return nil
	}
	network := httpx.InfoFrom(ctx).Network()
	if err := l.blocked(failuresFrom(network)); err != nil {
		return err
	}
	// The network comes first: a flood from one place must not reach the store of the others.
	if err := l.spend(ctx, "limit:login:net:"+network, perMinute(l.deps.Config.RateLimitLoginAddress)); err != nil {
		return err
	}
	door := l.door(ctx, account, network)
	if err := l.blocked(failuresAt(door)); err != nil {
		return err
	}
	if err := l.locked(ctx, door); err != nil {
		return err
	}
	return l.spend(ctx, "limit:login:"+door, perMinute(l.deps.Config.RateLimitLogin))
}

// LoginFailed counts a wrong password, or a wrong second factor.
func (l *Limits) LoginFailed(ctx context.Context, account string) {
	if l.deps.Config.DisableRateLimit {
		return
	}
	network := httpx.InfoFrom(ctx).Network()
	door := l.door(ctx, account, network)
	l.miss(ctx, failuresFrom(network), l.deps.Config.CredentialFailuresNet)
	l.miss(ctx, failuresAt(door), l.deps.Config.CredentialFailures)
	now := l.deps.Clock.Now()
	_ = l.store.update(ctx, lockOf(door), func(old []byte) ([]byte, time.Duration) { // its failure is logged there
		return parseLock(old).failed(now)
	})
}

// LoginSucceeded forgets the failures at the door that was used and remembers the network.
func (l *Limits) LoginSucceeded(ctx context.Context, account string) {
	if l.deps.Config.DisableRateLimit {
		return
	}
	network := httpx.InfoFrom(ctx).Network()
	_ = l.store.remove(ctx, lockOf(l.door(ctx, account, network))) // its failure is logged there
	_ = l.store.set(ctx, "known:"+ownDoor(account, network), []byte{'1'}, knownFor)
}

// ResetAllowed tells whether a new password may be asked for: so many times a minute from one network, and as many times an
// hour for one account, whose owner gets a mail each time.
func (l *Limits) ResetAllowed(ctx context.Context, account string) error {
	if l.deps.Config.DisableRateLimit {
		return nil
	}
	network, most := httpx.InfoFrom(ctx).Network(), l.deps.Config.RateLimitReset
	if err := l.spend(ctx, "limit:reset:net:"+network, perMinute(most)); err != nil {
		return err
	}
	return l.spend(ctx, "limit:reset:"+l.door(ctx, account, network), kv.Limit{Count: most, Period: time.Hour})
}

// door is the one the caller stands at. A store that fails makes everybody a stranger.
func (l *Limits) door(ctx context.Context, account, network string) string {
	own := ownDoor(account, network)
	if value, err := l.store.get(ctx, "known:"+own); err == nil && value != nil {
		return own
	}
	return accountDigest(account)
}

func ownDoor(account, network string) string { return accountDigest(account) + "@" + digest(network) }

func accountDigest(account string) string { return digest(strings.ToLower(strings.TrimSpace(account))) }

func failuresAt(door string) string { return "failures:login:" + door }

func lockOf(door string) string { return "lock:" + door }

func (l *Limits) locked(ctx context.Context, door string) error {
	value, err := l.store.get(ctx, lockOf(door))
	if err != nil {
		return nil //nolint:nilerr // a store that fails refuses nobody
	}
	if wait := parseLock(value).lockedFor(l.deps.Clock.Now()); wait > 0 {
		return tooOften(wait)
	}
	return nil
}

// lock is what is stored of the failures at a door; times are in milliseconds.
type lock struct {
	failures     int
	since, until int64
}

const lockFormat = "%d %d %d"

func parseLock(text []byte) lock {
	var l lock
	if _, err := fmt.Sscanf(string(text), lockFormat, &l.failures, &l.since, &l.until); err != nil {
		return lock{}
	}
	return l
}

// lockedFor is how long the door stays locked.
func (l lock) lockedFor(now time.Time) time.Duration { return time.UnixMilli(l.until).Sub(now) }

// failed counts one failure; the result is what to store, and for how long. A door that is locked stays as it is; one that
// was starts anew.
func (l lock) failed(now time.Time) (text []byte, ttl time.Duration) {
	if l.lockedFor(now) > 0 {
		return nil, 0
	}
	left := lockWindow - now.Sub(time.UnixMilli(l.since))
	if left <= 0 || l.until > 0 {
		l, left = lock{since: now.UnixMilli()}, lockWindow
	}
	if l.failures++; l.failures >= lockAfter {
		l.until, left = now.Add(lockFor).UnixMilli(), lockFor
	}
	return fmt.Appendf(nil, lockFormat, l.failures, l.since, l.until), left
}
