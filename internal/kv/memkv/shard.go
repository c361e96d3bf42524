package memkv

import (
	"sync"

	"atelier/internal/kv"
)

// entry is a value and when it expires, in microseconds. The value is a string because nobody may change it.
type entry struct {
	value   string
	expires int64
}

// shard is one part of the store.
type shard struct {
	mu     sync.Mutex
	values table[entry]
	limits table[int64]
	// budget counts down to the next sweep, one for each write.
	budget int
}

// minBudget is the fewest writes between two sweeps.
const minBudget = 64

func (s *shard) get(key string, now int64) ([]byte, bool) {
	s.mu.Lock()
	e, ok := s.values.rows[key]
	s.mu.Unlock()
	if !ok || e.expires <= now {
		return nil, false
	}
	return []byte(e.value), true
}

// store puts the entry under key when the current value allows it.
func (s *shard) store(key string, e entry, now int64, when func(current string, present bool) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	current, ok := s.values.rows[key]
	if !when(current.value, ok && current.expires > now) {
		return false
	}
	s.sweep(now)
	s.values.put(key, e)
	return true
}

func (s *shard) take(key string, limit kv.Limit, now int64) (kv.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.limits.rows[key]
	next, decision, err := kv.GCRA(limit, stored, now)
	if err != nil || next == stored {
		return decision, err
	}
	s.sweep(now)
	s.limits.put(key, next)
	return decision, nil
}

// sweep is called by every write and does its work once in as many writes as it last left entries. Each write so pays
// for a constant share, and what is held stays below twice what lives, plus minBudget.
func (s *shard) sweep(now int64) {
	if s.budget > 0 {
		s.budget--
		return
	}
	s.values.sweep(func(e entry) bool { return e.expires <= now })
	s.limits.sweep(func(free int64) bool { return free <= now })
	s.budget = max(minBudget, len(s.values.rows)+len(s.limits.rows))
}

func (s *shard) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values.rows, key)
	delete(s.limits.rows, key)
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values, s.limits, s.budget = table[entry]{}, table[int64]{}, 0
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values.rows) + len(s.limits.rows)
}
