package contexts

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

const changeDelete = "delete"

// refusedAt is how many times as large as it may be a context is refused.
const refusedAt = 10

// Change changes a context, and returns when that is kept.
func (s *scopes) Change(f *machine.Frame, change machine.Change) error {
	switch {
	case change.Root == rootConfig:
		return s.configure(f, change)
	case switches(change):
		return s.become(f.Context(), change.Root, change.Value)
	}
	k := s.key(change.Root)
	ends, err := s.lifetime(f.Context(), change.Root)
	if err != nil {
		return err
	}
	e := s.edit(k, ends, change.Apply)
	var saved *entry
	_, err = f.Once(func(ctx context.Context, tx *sqldb.Tx) (_ any, err error) {
		saved, err = s.save(ctx, tx, e)
		return nil, err
	})
	if err != nil {
		return err
	}
	s.saved(k, saved)
	if limit := s.store.deps.Settings.MaxSize[k.kind]; saved != nil && limit > 0 && saved.size > limit {
		f.Report(tooLarge(k.kind, saved.size, limit))
	}
	return nil
}

func tooLarge(root string, size, limit int) *machine.Failure {
	return machine.Fail(machine.QuotaExceeded, fmt.Sprintf("The context %s has %d bytes, more than the %d that it should have; keep less in it.", root, size, limit)).
		With(machine.Payload("context", root, "size", float64(size), "limit", float64(limit)))
}

// edit is a change of a context that is to be saved. What it makes of what is known of the context is computed before others wait
// for it: nobody else writes during a transaction.
type edit struct {
	key   key
	ends  time.Time
	apply func(any) (any, error)

	known *entry // nil when nothing is known, or nothing could be computed from it
	next  *entry
	text  string
}

func (s *scopes) edit(k key, ends time.Time, apply func(any) (any, error)) *edit {
	e := &edit{key: k, ends: ends, apply: apply}
	if known, ok := s.store.cache.get(k); ok {
		if next, text, err := s.compute(e, known); err == nil { // an error may come of what is not so any more
			e.known, e.next, e.text = known, next, text
		}
	}
	return e
}

// compute gives what a change makes of a context, and its text.
func (s *scopes) compute(e *edit, stored *entry) (*entry, string, error) {
	changed, err := e.apply(s.before(e.key, stored))
	if err != nil {
		return nil, "", err
	}
	object, text, err := encode(e.key.kind, changed, s.store.most(e.key.kind))
	return &entry{value: object, expires: expiry(e.ends), size: len(text)}, text, err
}

// save does a change to a context in a transaction, which may be tried more than once.
func (s *scopes) save(ctx context.Context, tx *sqldb.Tx, e *edit) (*entry, error) {
	stored, err := s.store.lock(ctx, tx, e.key, e.known)
	if err != nil {
		return nil, err
	}
	next, text := e.next, e.text
	if e.known == nil || stored.value != e.known.value || stored.expires != e.known.expires {
		if next, text, err = s.compute(e, stored); err != nil {
			return nil, err
		}
	}
	saved := *next
	saved.version = stored.version
	return &saved, s.store.write(ctx, tx, e.key, &saved, text)
}

// before is what a change begins with.
func (s *scopes) before(k key, stored *entry) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.store.deps.Clock.Now()
	fresh := stored.expires == 0 && stored.value.Len() == 0 // made by the lock, most likely
	if k.kind == rootRun && s.own != nil && (fresh || stored.gone(now)) {
		return s.own.value
	}
	if stored.gone(now) {
		return value.NewObject(0)
	}
	return stored.value
}

// saved remembers what a change has made. What was done in an earlier life of the run has to be read.
func (s *scopes) saved(k key, e *entry) {
	if e == nil {
		s.store.cache.forget(k)
		return
	}
	s.store.cache.changed(k, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check(k, s.store.deps.Clock.Now())
	if k.kind == rootRun {
		s.own = e
	}
}

// most is how large a context can be at all.
func (s *Store) most(root string) int {
	limit := s.deps.Settings.MaxSize[root]
	if limit <= 0 || limit > math.MaxInt/refusedAt {
		return math.MaxInt
	}
	return limit * refusedAt
}

// configure changes the configuration of where an automation belongs. The run sees it from here on; other runs see it when the
// new definition is taken over.
func (s *scopes) configure(f *machine.Frame, change machine.Change) error {
	if s.store.deps.Config == nil {
		return machine.Fail(machine.Configuration, "The configuration cannot be changed by automations here.")
	}
	home := f.Home()
	seen, err := change.Apply(s.config(home))
	if err != nil {
		return err
	}
	_, text, err := encode(rootConfig, seen, s.store.most(rootConfig))
	if err != nil {
		return err
	}
	_, err = f.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		_, err := s.store.deps.Config.SetConfig(ctx, tx, home.WorkspaceID, instances(home), change.Path, change.Apply)
		return nil, err
	})
	if err != nil {
		return err
	}
	s.reconfigured(home, change)
	if limit := s.store.deps.Settings.MaxSize[rootConfig]; limit > 0 && len(text) > limit {
		f.Report(tooLarge(rootConfig, len(text), limit))
	}
	return nil
}

// reconfigured shows the run its own change. It is applied to what is seen now: another branch may have changed something too.
func (s *scopes) reconfigured(home *machine.Home, change machine.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.configs[home]
	if !ok {
		seen = home.Config
		if home.Config == nil {
			seen = value.NewObject(0)
		}
	}
	if changed, err := change.Apply(seen); err == nil {
		if s.configs == nil {
			s.configs = map[*machine.Home]any{}
		}
		s.configs[home] = changed
	}
}

// instances are the slugs that lead from the workspace to an app instance.
func instances(home *machine.Home) []string {
	path := []string{}
	for h := home; h != nil && h.FullSlug != ""; h = h.Parent {
		path = append(path, h.Instance)
	}
	slices.Reverse(path)
	return path
}
