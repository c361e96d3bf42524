package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"atelier/internal/errs"
	"atelier/test/timing/welch"
)

// lookup is a way to ask for a secret.
type lookup struct {
	name string
	// known are the secrets that exist; guesses share a prefix with one of them, or nothing but the letters in front.
	known []string
	front int
	// prepare makes a guess ready, so that only the asking is measured. It fails when the guess was not refused.
	prepare func(secret string) (ask func(), refused func() bool)
}

const (
	// kept is how much of a secret a guess with a right prefix has: all but the last six letters, so that none comes twice.
	kept = 40
	// batch is how many guesses are made ready at once. Garbage is collected in between and at no other time.
	batch = 500
	// warming is how many guesses are asked before any counts.
	warming = 4 * batch
	// cropped is the share of measurements that count: the slowest tell of interruptions.
	cropped = 0.99
)

var errAnswered = errors.New("a guess was not refused as one")

// lookups are the lookups of the product.
func (h *house) lookups(ctx context.Context) []lookup {
	return []lookup{
		{name: "API key, access.Keys.Find", known: h.apiKeys, front: len("ak_"), prepare: func(secret string) (func(), func() bool) {
			var err error
			return func() { _, err = h.keys.Find(ctx, h.db, secret) }, func() bool { return errs.CodeOf(err) == errs.InvalidCredentials }
		}},
		{name: "API key, through the gateway", known: h.apiKeys, front: len("ak_"), prepare: h.request(ctx, "X-Svc-Api-Key", "")},
		{name: "access token, through the gateway", known: h.tokens, front: len("at:"), prepare: h.request(ctx, "Authorization", "Bearer ")},
	}
}

// request asks the gateway for the account of a secret.
func (h *house) request(ctx context.Context, header, scheme string) func(secret string) (func(), func() bool) {
	return func(secret string) (func(), func() bool) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v2/me", http.NoBody)
		if err != nil {
			return func() {}, func() bool { return false }
		}
		r.Header.Set(header, scheme+secret)
		w := &answer{header: http.Header{}}
		return func() { h.door.ServeHTTP(w, r) }, func() bool { return w.status == http.StatusUnauthorized }
	}
}

// leak compares letter by letter and stops at the first that differs, as no lookup may.
func (h *house) leak() lookup {
	return lookup{name: "control: letter by letter", known: h.apiKeys, front: len("ak_"), prepare: func(secret string) (func(), func() bool) {
		found := false
		return func() {
			for _, known := range h.apiKeys {
				same := 0
				for same < len(known) && known[same] == secret[same] {
					same++
				}
				found = found || same == len(known)
			}
		}, func() bool { return !found }
	}}
}

// measure asks for as many guesses of each kind, in random order, and compares how long they took.
func measure(ctx context.Context, l lookup, samples int, seed uint64) (Result, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	m := &measurement{lookup: l, random: rand.New(rand.NewPCG(seed, seed))}
	for asked := 0; asked < warming; asked += batch {
		if err := m.round(batch / 2); err != nil {
			return Result{}, err
		}
	}
	m.took = [2][]float64{}
	for left := samples; left > 0; left -= batch / 2 {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if err := m.round(min(left, batch/2)); err != nil {
			return Result{}, err
		}
	}
	cut := welch.Cut(cropped, m.took[0], m.took[1])
	random, prefix := welch.Below(cut, m.took[0]), welch.Below(cut, m.took[1])
	return Result{
		Name: l.name, T: welch.T(prefix, random), Prefix: prefix, Random: random, Visible: told * welch.Error(prefix, random),
	}, nil
}

// measurement is one lookup being measured.
type measurement struct {
	lookup

	random *rand.Rand
	// took is how long guesses took: the random ones, and those with a right prefix.
	took [2][]float64
}

// guess is one question, ready to be asked.
type guess struct {
	kind    int
	ask     func()
	refused func() bool
}

// round asks a number of guesses of each kind.
func (m *measurement) round(each int) error {
	guesses := make([]guess, 0, 2*each)
	for i := range 2 * each {
		kind := i % 2
		ask, refused := m.prepare(m.secret(kind))
		guesses = append(guesses, guess{kind: kind, ask: ask, refused: refused})
	}
	m.random.Shuffle(len(guesses), func(i, j int) { guesses[i], guesses[j] = guesses[j], guesses[i] })
	runtime.GC()
	for i := range guesses {
		began := time.Now()
		guesses[i].ask()
		took := time.Since(began)
		m.took[guesses[i].kind] = append(m.took[guesses[i].kind], float64(took.Nanoseconds()))
	}
	for i := range guesses {
		if !guesses[i].refused() {
			return errAnswered
		}
	}
	return nil
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// secret makes a guess. Both kinds are made in the same way and copied, so that they lie alike in memory.
func (m *measurement) secret(kind int) string {
	text := []byte(m.known[m.random.IntN(len(m.known))])
	from := [2]int{m.front, kept}[kind]
	for i := from; i < len(text); i++ {
		text[i] = letters[m.random.IntN(len(letters))]
	}
	return string(text)
}
