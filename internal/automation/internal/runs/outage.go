package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/sqldb"
)

// How often a run is begun that the database interrupts each time, and the longest pause in between: the first is troublePause, and
// each of them is twice as long as the one before.
const (
	maxInterruptions = 7
	longestPause     = 30 * time.Second
)

// persist does a run, again and again while the database keeps it from its end: an event starts its automations at least once, and
// what a run has done is not done again.
func (r *Runs) persist(ctx context.Context, j *job) {
	pause := troublePause
	for interruptions := 0; ; {
		err := r.execute(ctx, j, interruptions == maxInterruptions-1)
		if err == nil || ctx.Err() != nil || j.abandoned() {
			return
		}
		r.Log.WarnContext(ctx, "a run cannot go on; trying again", "workspace_id", j.workspaceID, "automation", j.automation, "error", err)
		wait := troublePause
		if _, interrupted := errors.AsType[*interruptedError](err); interrupted {
			interruptions++
			j.begun = true // from here on it may have a journal
			wait, pause = pause, min(2*pause, longestPause)
		}
		// The place is free meanwhile: nobody else has to wait for a run that rests.
		err = idler{r.pool, j, &outage{}}.Idle(ctx, func(ctx context.Context) error {
			r.pause(ctx, wait)
			return ctx.Err()
		})
		if err != nil || j.abandoned() {
			return
		}
	}
}

// interruptedError is why a run that had begun is to be begun anew.
type interruptedError struct{ error }

func (e *interruptedError) Unwrap() error { return e.error }

// passes tells that the database failed in a way that does not lie in what it was asked.
func passes(err error) bool {
	switch sqldb.KindOf(err) {
	case sqldb.KindRetry, sqldb.KindFull, sqldb.KindIO, sqldb.KindUnavailable:
		return true
	case sqldb.KindOther, sqldb.KindUnique, sqldb.KindForeignKey, sqldb.KindCheck:
	}
	return false
}

// outage is what one life of a run has seen of failures of the database.
type outage struct {
	// last tells that the run is not begun anew after this life.
	last bool

	mu    sync.Mutex
	cause error
}

// notice keeps a failure of the database, and makes it one that no automation can catch: what it would do instead would be done
// beside what the next life of the run does. Other errors stay as they are.
func (o *outage) notice(err error) error {
	if o.last || !passes(err) {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cause = err
	return machine.FailureOf(err).Finally()
}

// interrupts tells that this life of the run ends because of the database: what became of the run is told by the next one.
func (o *outage) interrupts() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cause != nil
}

// verdict is why the run has to be begun anew, given what it failed with; nil when it is over.
func (o *outage) verdict(failure error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.last:
		return nil
	case o.cause != nil:
		return &interruptedError{fmt.Errorf("the database interrupted it: %w", o.cause)}
	case passes(failure):
		return &interruptedError{fmt.Errorf("the database interrupted it: %w", failure)}
	default:
		return nil
	}
}

// watched are the variables of a durable run.
type watched struct {
	machine.Scopes
	outage *outage
}

// Get gives the value of a context.
func (w watched) Get(f *machine.Frame, root string) (any, error) {
	v, err := w.Scopes.Get(f, root)
	return v, w.outage.notice(err)
}

// Change changes a context.
func (w watched) Change(f *machine.Frame, change machine.Change) error {
	return w.outage.notice(w.Scopes.Change(f, change))
}

// Prolong keeps the run context for longer.
func (w watched) Prolong(ctx context.Context, d time.Duration) error {
	return w.outage.notice(w.Scopes.Prolong(ctx, d))
}
