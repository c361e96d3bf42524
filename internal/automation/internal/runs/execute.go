package runs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/recorder"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
)

const (
	// maxAttempts is how often a run is begun anew whose process died.
	maxAttempts = 5
	// suspect is after how many of them it may be what kills the process: then it runs without another such one beside it, so
	// that only the one that does it is blamed.
	suspect = 2
	// troublePause is what lies between attempts to begin a run while the database does not answer.
	troublePause = time.Second
)

// do does a run that this instance has, and hands it over to be removed, unless it goes on elsewhere.
func (r *Runs) do(ctx context.Context, j *job) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !j.begin(cancel) {
		return
	}
	defer r.rescue(ctx, j)
	if j.deaths > 0 && !r.again(ctx, j) {
		return
	}
	if j.attempts >= suspect {
		select {
		case r.careful <- struct{}{}:
			defer func() { <-r.careful }()
		case <-ctx.Done():
			return
		}
	}
	r.persist(ctx, j)
}

// rescue hands a run over to be removed. What panics in it is its failure, not that of the process.
func (r *Runs) rescue(ctx context.Context, j *job) {
	if problem := recover(); problem != nil {
		r.Log.ErrorContext(ctx, "a run panicked", "workspace_id", j.workspaceID, "automation", j.automation, "panic", fmt.Sprint(problem), "stack", string(debug.Stack()))
	}
	if errors.Is(context.Cause(ctx), errHandedOver) || j.abandoned() {
		return // it goes on elsewhere
	}
	failpoint.At("runs.done")
	r.finish <- j
}

// again notes that a run is begun whose process died, and tells whether it may be.
func (r *Runs) again(ctx context.Context, j *job) bool {
	if j.attempts >= maxAttempts {
		r.report(ctx, j, machine.Fail(machine.Broke, "The process ended each time this automation ran, and it is not begun again. Look at what it loads or computes.").
			With(map[string]any{"automation": j.automation, "attempts": j.attempts}))
		return false
	}
	for {
		mine, err := r.countAttempt(ctx, j)
		switch {
		case err == nil && mine:
			j.attempts++
			return true
		case err == nil:
			j.abandon()
			return false
		case !r.pause(ctx, troublePause):
			return false
		}
	}
}

// countAttempt notes that a run is begun anew; false when it is another instance's by now.
func (r *Runs) countAttempt(ctx context.Context, j *job) (mine bool, err error) {
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE runs SET attempts = attempts + 1 WHERE id = $1 AND owner = $2`, j.id, j.owner)
		mine = n == 1
		return err
	})
	return mine, err
}

// execute begins a run and does it to its end. An error tells that it could not begin, or was interrupted, and that it may go on
// later; last tells that it is not tried again when it is interrupted.
func (r *Runs) execute(ctx context.Context, j *job, last bool) error {
	event, err := r.cause(ctx, j)
	if sqldb.IsNotFound(err) {
		r.report(ctx, j, machine.Fail(machine.ObjectNotFound, "The event that starts this automation was removed before it could run.").
			With(map[string]any{"automation": j.automation, "event": j.position.ID()}))
		return nil
	}
	if err != nil {
		return err
	}
	read, err := envelope.Read(event)
	if err != nil {
		r.Log.ErrorContext(ctx, "the event of a run cannot be read", "workspace_id", j.workspaceID, "error", err)
		return nil
	}
	model, err := r.Models.Of(ctx, j.workspaceID)
	if err != nil {
		return r.withoutModel(ctx, j, err)
	}
	automation, ok := r.allowed(ctx, j, model, event.Type)
	if !ok {
		return nil
	}
	payload, err := payloadOf(event)
	if err != nil {
		r.report(ctx, j, machine.Fail(machine.InvalidEvent, "The event that starts this automation is nested too deep.").With(map[string]any{"event": read.ID}))
		return nil
	}
	caller, err := r.caller(ctx, read.Source)
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, r.Settings.Timeout)
	defer cancel()
	seen := &outage{last: last}
	timed = recorder.While(waits.WithIdler(timed, idler{r.pool, j, seen}), func() bool {
		return !j.abandoned() && !errors.Is(context.Cause(ctx), errHandedOver) && !seen.interrupts()
	})
	timed, run := r.begin(timed, beginning(j, model, read, caller), &journal{db: r.DB, job: j, lost: j.abandon, outage: seen})
	run.Scopes = watched{run.Scopes, seen}
	failpoint.At("runs.begun")
	result := r.Engine.Execute(timed, run, automation, payload)
	if result.Err != nil {
		r.Log.DebugContext(ctx, "a run failed", "workspace_id", j.workspaceID, "automation", j.automation, "error", result.Err)
	}
	return seen.verdict(result.Err)
}

// withoutModel decides what becomes of a run whose workspace cannot be loaded.
func (r *Runs) withoutModel(ctx context.Context, j *job, err error) error {
	if errs.CodeOf(err) == errs.NotFound {
		return nil // the workspace is gone
	}
	if passing(err) {
		return err
	}
	r.Log.ErrorContext(ctx, "a workspace cannot be loaded; its run is given up", "workspace_id", j.workspaceID, "automation", j.automation, "error", err)
	r.report(ctx, j, machine.Fail(machine.Configuration, "The workspace cannot be loaded, so that the automation did not run.").With(map[string]any{"automation": j.automation}))
	return nil
}

// allowed gives the automation, unless it, or its workspace, may not run any more.
func (r *Runs) allowed(ctx context.Context, j *job, model Model, eventType string) (*machine.Automation, bool) {
	switch {
	case model.Suspended:
		r.report(ctx, j, machine.Fail(machine.Suspended, "The workspace is suspended, so that the automation did not run.").With(map[string]any{"automation": j.automation}))
		return nil, false
	case model.Deleted && eventType != deletedType:
		return nil, false
	}
	automation, ok := model.Find(j.automation)
	return automation, ok && !automation.Disabled // one that was deleted since has nothing to say
}

// passing tells that the same may succeed later.
func passing(err error) bool {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	case sqldb.KindOf(err) != sqldb.KindOther:
		return true
	}
	code := errs.CodeOf(err)
	return code == errs.Unavailable || code == errs.Database
}

// payloadOf is what automations see of the event that starts them.
func payloadOf(event bus.Event) (*value.Object, error) {
	v, err := waits.Value(event)
	if err != nil {
		return nil, err
	}
	return machine.Payload("id", v.Get("id"), "source", v.Get("source"), "payload", v.Get("payload")), nil
}

// beginning is what is known of the run of an event.
func beginning(j *job, model Model, event envelope.Event, caller access.Principal) Beginning {
	source := event.Source
	b := Beginning{
		Root: model.Root, Trigger: catalogue.Trigger{Type: byEvent, Value: event.Type, ID: event.ID},
		Hops: source.Hops, CorrelationID: source.CorrelationID, Caller: caller, SocketID: source.SocketID, IP: source.IP,
	}
	if b.CorrelationID == "" {
		b.CorrelationID = j.id // the same when it is begun anew
	}
	if source.AutomationDepth != nil {
		b.Depth = *source.AutomationDepth
	}
	if j.kind == bySchedule {
		b.Trigger = catalogue.Trigger{Type: bySchedule, Value: j.cron, ID: event.ID}
	}
	return b
}

// caller is who acts: whoever the event comes from, without the rights that only a person who is there has.
func (r *Runs) caller(ctx context.Context, source envelope.Source) (access.Principal, error) {
	if source.UserID == "" && source.SessionID == "" {
		return access.Principal{}, nil
	}
	p, err := r.People.Principal(ctx, source.UserID, source.SessionID)
	if err != nil {
		if errs.CodeOf(err) != errs.NotFound {
			return p, err
		}
		p = access.Principal{Kind: access.Anonymous, UserID: source.UserID} // an account that is gone, or a visitor
	}
	p.SuperAdmin, p.SessionID = false, source.SessionID
	return p, nil
}
