package machinetest

import (
	"context"
	"maps"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/bus"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Recorder keeps the technical events of runs.
type Recorder struct {
	mu      sync.Mutex
	records []bus.Record
}

// Record implements machine.Recorder.
func (r *Recorder) Record(_ context.Context, records ...bus.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, records...)
	return nil
}

// Of gives the events of a type, in order.
func (r *Recorder) Of(eventType string) []bus.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []bus.Record
	for _, record := range r.records {
		if record.Type == eventType {
			found = append(found, record)
		}
	}
	return found
}

// Scopes are contexts in memory: run, user, session, socket and global. What is computed for them is not there.
type Scopes struct {
	mu       sync.Mutex
	values   map[string]any
	identity access.Principal
	// Changes are the changes that were made, as kind and root.
	Changes []string
}

// NewScopes makes empty contexts.
func NewScopes() *Scopes {
	s := &Scopes{values: map[string]any{}, identity: access.Principal{Kind: access.User, UserID: "user-1", SessionID: "session-1"}}
	for _, root := range []string{"run", "user", "session", "socket", "global"} {
		s.values[root] = value.NewObject(0)
	}
	return s
}

// Get implements machine.Scopes.
func (s *Scopes) Get(_ *machine.Frame, root string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[root], nil
}

// Has implements machine.Scopes.
func (s *Scopes) Has(root string) bool {
	switch root {
	case "run", "user", "session", "socket", "global":
		return true
	default:
		return false
	}
}

// Change implements machine.Scopes.
func (s *Scopes) Change(_ *machine.Frame, change machine.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := change.Apply(s.values[change.Root])
	if err != nil {
		return err
	}
	s.values[change.Root] = v
	s.Changes = append(s.Changes, change.Kind+" "+change.Root)
	return nil
}

// Identity implements machine.Scopes.
func (s *Scopes) Identity() access.Principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

// Become makes somebody else act.
func (s *Scopes) Become(p access.Principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity = p
}

// Prolong implements machine.Scopes.
func (s *Scopes) Prolong(context.Context, time.Duration) error { return nil }

// Journal remembers effects in memory. There is no database: effects get no transaction.
type Journal struct {
	mu   sync.Mutex
	done map[string]any
	// Survives makes the run one that is begun anew.
	Survives bool
}

// NewJournal makes an empty journal.
func NewJournal() *Journal { return &Journal{done: map[string]any{}} }

// Once implements machine.Journal. A run that is begun anew does what it has noted no second time.
func (j *Journal) Once(ctx context.Context, place string, do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (any, error) {
	j.mu.Lock()
	noted, ok := j.done[place]
	j.mu.Unlock()
	if ok && j.Survives {
		return noted, nil
	}
	v, err := do(ctx, nil)
	if err == nil {
		j.mu.Lock()
		j.done[place] = v
		j.mu.Unlock()
	}
	return v, err
}

// Places gives the effects that are noted, by their places.
func (j *Journal) Places() map[string]any {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.done)
}

// Durable implements machine.Journal.
func (j *Journal) Durable() bool { return j.Survives }

// RunID implements machine.Journal.
func (j *Journal) RunID() string {
	if j.Survives {
		return "run-1"
	}
	return ""
}

var (
	_ machine.Scopes   = (*Scopes)(nil)
	_ machine.Journal  = (*Journal)(nil)
	_ machine.Recorder = (*Recorder)(nil)
)
