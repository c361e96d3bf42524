// Package waits lets runs wait for events. What is waited for stands in a table: whoever reads the log fulfils it, whichever instance
// waits, and a run that is begun anew finds what it has waited for.
package waits

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// Deps is what waits need.
type Deps struct {
	DB    *sqldb.DB
	Bus   bus.Log
	Clock clock.Clock
	Log   *slog.Logger
	// Alone tells that no other instance reads the log: then nobody has to look at the table again and again.
	Alone bool
	// Most is how many waits of one workspace may be open: 10,000 when it is zero.
	Most int
}

// Store is the waits of all runs.
type Store struct {
	Deps

	mu    sync.Mutex
	local map[string]chan struct{} // who waits here, by id
}

// New returns the waits. They are fulfilled across instances while Run runs.
func New(deps Deps) *Store {
	const most = 10_000
	if deps.Most <= 0 {
		deps.Most = most
	}
	return &Store{Deps: deps, local: map[string]chan struct{}{}}
}

// Wait is what a run waits for.
type Wait struct {
	// ID is the same when the run is begun anew. RunID is empty for a run that is not.
	ID, RunID, WorkspaceID string
	Wanted                 Wanted
	// Since is the place in the log that it begins after.
	Since   bus.Position
	Timeout time.Duration
}

// The states of a wait.
const (
	pending   = "pending"
	fulfilled = "fulfilled"
	expired   = "expired"
)

// Head is the newest place in the log of a workspace.
func (s *Store) Head(ctx context.Context, workspaceID string) (bus.Position, error) {
	return s.Bus.Wait(ctx, bus.PartitionOf(workspaceID), -1) // every partition has a head that is later than that
}

// register makes a channel that gets something when the wait may be over.
func (s *Store) register(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.local[id]
	if !ok {
		c = make(chan struct{}, 1)
		s.local[id] = c
	}
	return c
}

func (s *Store) unregister(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.local, id)
}

// Told wakes those who wait here for something that was fulfilled. It is called after the commit.
func (s *Store) Told(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if c, ok := s.local[id]; ok {
			select {
			case c <- struct{}{}:
			default: // it was told already
			}
		}
	}
}

// waitingHere are the ids of those who wait in this process.
func (s *Store) waitingHere() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.local))
	for id := range s.local {
		ids = append(ids, id)
	}
	return ids
}

const (
	// How often the table is looked at for what other instances fulfilled: a process that is alone fulfils all by itself, and
	// looks only lest something was forgotten.
	look, lookAlone = 250 * time.Millisecond, 5 * time.Second
	// sweepEvery is how often waits are removed that nobody comes back for, orphaned how long after their end.
	sweepEvery, orphaned = 10 * time.Minute, time.Hour
)

// Run looks for what other instances fulfilled until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	every := look
	if s.Alone {
		every = lookAlone
	}
	swept := s.Clock.Now()
	for {
		timer := s.Clock.NewTimer(every)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		if err := s.lookAround(ctx); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "what automations wait for cannot be read; trying again", "error", err)
		}
		if now := s.Clock.Now(); now.Sub(swept) >= sweepEvery {
			swept = now
			if err := s.sweep(ctx, now); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "waits that nobody comes back for could not be removed; trying again later", "error", err)
			}
		}
	}
}

// lookAround wakes those whose wait is over.
func (s *Store) lookAround(ctx context.Context) error {
	const atOnce = 200
	ids := s.waitingHere()
	for len(ids) > 0 {
		some := ids[:min(len(ids), atOnce)]
		ids = ids[len(some):]
		over, err := s.over(ctx, some)
		if err != nil {
			return err
		}
		s.Told(over...)
	}
	return nil
}
