package ident_test

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
	"testing/iotest"
	"time"

	"atelier/internal/ident"
)

func TestForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(ident.Source) string
		form string
	}{
		"workspace": {ident.Source.Workspace, `^[A-Za-z0-9_-]{7}$`},
		"file":      {ident.Source.File, `^[A-Za-z0-9_-]{21}$`},
		"user":      {ident.Source.User, `^[0-9a-f]{24}$`},
		"UUID":      {ident.Source.UUID, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		"timed":     {func(s ident.Source) string { return s.Timed(time.UnixMilli(0x0123456789ab)) }, `^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		"secret":    {ident.Source.Secret, `^[A-Za-z0-9_-]{43}$`},
	} {
		form := regexp.MustCompile(c.form)
		seen := map[string]bool{}
		for range 2000 {
			id := c.make(ident.Source{})
			if !form.MatchString(id) || seen[id] {
				t.Fatalf("%s: %q, seen before: %v", name, id, seen[id])
			}
			seen[id] = true
		}
	}
}

// Tests choose the random bytes; then the identifiers are always the same.
func TestFixedSource(t *testing.T) {
	t.Parallel()
	source := ident.Source{Random: bytes.NewReader(bytes.Repeat([]byte{0xff}, 16))}
	if id := source.UUID(); id != "ffffffff-ffff-4fff-bfff-ffffffffffff" {
		t.Error(id)
	}
	zero := ident.Source{Random: bytes.NewReader(make([]byte, 7))}
	if id := zero.Workspace(); id != "AAAAAAA" {
		t.Error(id)
	}
}

// A source that runs dry or fails never gives a guessable identifier.
func TestBrokenSource(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]ident.Source{
		"empty": {Random: bytes.NewReader(nil)}, "short": {Random: bytes.NewReader([]byte{1, 2, 3})}, "failing": {Random: iotest.ErrReader(errors.New("no"))},
	} {
		if one, two := source.Secret(), source.Secret(); one == two || one[:8] == "AAAAAAAA" || one[:4] == "AQID" {
			t.Errorf("%s: %s, %s", name, one, two)
		}
	}
}

// Every character of the alphabet is as likely as every other.
func TestNoBias(t *testing.T) {
	t.Parallel()
	const draws = 64_000
	counts := map[rune]int{}
	for range draws / 21 {
		for _, c := range (ident.Source{}).File() {
			counts[c]++
		}
	}
	const expected = draws / 64
	for c, n := range counts {
		if n < expected*7/10 || n > expected*13/10 { // ten standard deviations
			t.Errorf("%c came %d times, expected about %d", c, n, expected)
		}
	}
	if len(counts) != 64 {
		t.Errorf("%d characters are used", len(counts))
	}
}
