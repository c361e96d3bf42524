package keyring

import (
	"time"

	"github.com/go-jose/go-jose/v4"
)

// entry is a key with its times.
type entry struct {
	kid                              string
	created, signs, rotates, expires time.Time

	private *jose.JSONWebKey
	public  jose.JSONWebKey
	signer  jose.Signer
}

// keySet is the keys as they were at one look, in the order in which they sign. It does not change.
type keySet struct {
	look    int64
	entries []*entry
	byID    map[string]*entry
	// followed are the ids that some key names as the one before it.
	followed map[string]bool
}

// newest is the key that the next one follows: the last one that none follows yet.
func (s *keySet) newest() *entry {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if e := s.entries[i]; !s.followed[e.kid] {
			return e
		}
	}
	return nil
}

// signing is the key that signs now. When keys were taken away and nobody's turn it is, the next one begins early, or the
// last one goes on.
func (s *keySet) signing(now time.Time) *entry {
	for i := len(s.entries) - 1; i >= 0; i-- {
		e := s.entries[i]
		switch {
		case e.signs.After(now):
		case e.rotates.After(now) || i == len(s.entries)-1:
			return e
		default:
			return s.entries[i+1]
		}
	}
	if len(s.entries) > 0 {
		return s.entries[0]
	}
	return nil
}

// next is the key that signs after the one that signs now; nil when it is not made yet.
func (s *keySet) next(now time.Time) *entry {
	current := s.signing(now)
	for i, e := range s.entries {
		if e == current && i+1 < len(s.entries) {
			return s.entries[i+1]
		}
	}
	return nil
}

// over tells that no token of the key can be valid any more.
func (e *entry) over(now time.Time) bool { return now.After(e.expires.Add(grace)) }
