package rotation_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

const (
	// lifetime is how long a token is sure to be valid: a little less than ACCESS_TOKENS_MAX_AGE.
	lifetime = 55 * time.Second
	// refusedWithin is how soon after its revocation a key must be refused everywhere.
	refusedWithin = 5 * time.Second
)

// token is one that a gateway gave out.
type token struct {
	text, kid string
	issued    time.Time
}

// revocation is when a key was revoked: somewhere between the two times.
type revocation struct{ began, ended time.Time }

// ledger knows every token, and what has to become of it.
type ledger struct {
	mu       sync.Mutex
	tokens   []token
	signed   map[string]int // how many tokens each key signed
	revoked  map[string]revocation
	accepted int
	refused  int
	slowest  time.Duration // after its revocation a key was last accepted
	faults   []string
}

func newLedger() *ledger {
	return &ledger{signed: map[string]int{}, revoked: map[string]revocation{}}
}

func (l *ledger) add(text string, issued time.Time) (token, error) {
	kid, err := kidOf(text)
	if err != nil {
		return token{}, err
	}
	made := token{text: text, kid: kid, issued: issued}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = append(l.tokens, made)
	l.signed[kid]++
	return made, nil
}

func kidOf(text string) (string, error) {
	head, _, _ := strings.Cut(text, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return "", err
	}
	var header struct{ KID string }
	err = json.Unmarshal(decoded, &header)
	return header.KID, err
}

// pick gives a token that has not ended: mostly a recent one, for those meet keys that are new.
func (l *ledger) pick(now time.Time) (token, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.tokens) > 0 && now.Sub(l.tokens[0].issued) > lifetime {
		l.tokens = l.tokens[1:]
	}
	if len(l.tokens) == 0 {
		return token{}, false
	}
	const recent = 20
	from := 0
	if rand.IntN(2) == 0 {
		from = max(0, len(l.tokens)-recent)
	}
	return l.tokens[from+rand.IntN(len(l.tokens)-from)], true
}

func (l *ledger) revoking(kid string, r revocation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revoked[kid] = r
}

// judge compares an answer with what the token deserves. While its key is being revoked, both are right.
func (l *ledger) judge(t token, sent time.Time, status int, code string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, revoked := l.revoked[t.kid]
	switch {
	case err != nil:
		l.fault("%v", err)
	case status == 200:
		l.accepted++
		if revoked && !r.ended.IsZero() && sent.After(r.ended) {
			l.slowest = max(l.slowest, sent.Sub(r.ended))
			if sent.Sub(r.ended) > refusedWithin {
				l.fault("a token of a key that was revoked %v ago was accepted", sent.Sub(r.ended))
			}
		}
	case status == 401 && code == "invalid_token" && revoked:
		l.refused++
	default:
		l.fault("a token of key %s, %v old, was answered with %d %s", t.kid, sent.Sub(t.issued), status, code)
	}
}

func (l *ledger) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}
