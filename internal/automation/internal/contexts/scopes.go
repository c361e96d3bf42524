package contexts

import (
	"context"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// freshness is how long a run believes what it has read while other processes may change it.
const freshness = 200 * time.Millisecond

// scopes are the contexts of one run. Its branches use them at the same time.
type scopes struct {
	store *Store
	run   *machine.Run

	mu       sync.Mutex
	identity access.Principal
	// switched tells that the identity is not that of the caller any more.
	switched bool
	// checked is when the run last made sure of a context. Most runs use none: the maps are made when they are needed.
	checked map[key]time.Time
	// own is the run context as this run has last seen it: it does not expire while the run goes on.
	own *entry
	// person is what is known of the identity; nil until somebody asks.
	person *person
	// shown are the contexts with what is computed put over them.
	shown map[string]shown
	// configs are the configurations that the run has changed.
	configs map[*machine.Home]any
}

// shown is a context with what is computed, and what it was made of.
type shown struct {
	entry  *entry
	home   *machine.Home
	person *person
	value  *value.Object
}

// Has tells whether a name is that of a context.
func (s *scopes) Has(root string) bool {
	switch root {
	case rootRun, rootUser, rootSession, rootSocket, rootGlobal, rootConfig:
		return true
	default:
		return false
	}
}

// Identity is who acts now.
func (s *scopes) Identity() access.Principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

// Get gives a context with what is computed put over it.
func (s *scopes) Get(f *machine.Frame, root string) (any, error) {
	if root == rootConfig {
		return s.config(f.Home()), nil
	}
	ctx := f.Context()
	stored, err := s.current(ctx, s.key(root))
	if err != nil {
		return nil, err
	}
	switch root {
	case rootRun:
		return over(stored.value, s.computedRun(f), runNames()), nil
	case rootGlobal:
		return s.show(root, stored, f.Home(), nil), nil
	case rootUser, rootSession:
		who, err := s.who(ctx)
		if err != nil {
			return nil, err
		}
		return s.show(root, stored, nil, who), nil
	default:
		return stored.value, nil
	}
}

// current gives a context as it is stored, at most as old as it may be.
func (s *scopes) current(ctx context.Context, k key) (*entry, error) {
	now := s.store.deps.Clock.Now()
	known, ok := s.store.cache.get(k)
	if !ok || !s.store.deps.Alone && !s.believes(k, now) {
		var err error
		if known, err = s.store.read(ctx, k, known); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check(k, now)
	return s.alive(k, known, now), nil
}

// check notes that the run has made sure of a context. The scopes are locked.
func (s *scopes) check(k key, at time.Time) {
	if s.checked == nil {
		s.checked = map[key]time.Time{}
	}
	s.checked[k] = at
}

// believes tells whether the run has made sure of a context just now.
func (s *scopes) believes(k key, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.checked[k]
	return ok && now.Sub(at) < freshness
}

// alive gives an empty context in place of one that has expired; but the run context lasts as long as the run. The scopes are
// locked.
func (s *scopes) alive(k key, e *entry, now time.Time) *entry {
	switch {
	case !e.gone(now):
		if k.kind == rootRun {
			s.own = e
		}
		return e
	case k.kind == rootRun && s.own != nil:
		return s.own
	case e.version == 0:
		return e
	default:
		return &entry{value: value.NewObject(0), version: e.version, expires: e.expires}
	}
}

// show puts what is computed over a context. The same is not made twice: templates ask for one variable after the other.
func (s *scopes) show(root string, stored *entry, home *machine.Home, who *person) *value.Object {
	s.mu.Lock()
	made, ok := s.shown[root]
	s.mu.Unlock()
	if ok && made.entry == stored && made.home == home && made.person == who {
		return made.value
	}
	made = shown{entry: stored, home: home, person: who}
	switch root {
	case rootGlobal:
		made.value = over(stored.value, home.Global, nil)
	case rootUser:
		made.value = over(stored.value, who.user, userNames())
	default:
		made.value = over(stored.value, who.session, sessionNames())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil {
		s.shown = map[string]shown{}
	}
	s.shown[root] = made
	return made.value
}

// Prolong keeps the run context for longer.
func (s *scopes) Prolong(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.store.prolong(ctx, s.key(rootRun), s.store.deps.Clock.Now().Add(d+s.store.deps.Settings.Run))
}

var _ machine.Scopes = (*scopes)(nil)
