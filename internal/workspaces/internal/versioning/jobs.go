package versioning

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
)

// jobsAtOnce is how many operations one process runs at a time, those that only look among them.
const jobsAtOnce = 16

// jobs are the operations that this process runs. They go on when whoever asked for them does not wait any more, and end
// with the process.
type jobs struct {
	mu      sync.Mutex
	ended   bool
	cancels map[*Job]context.CancelFunc
	looking int // how many requests look at a repository, without an operation
	wait    sync.WaitGroup
}

// Job is an operation that was started.
type Job struct {
	// ID is that of the operation.
	ID string

	done   chan struct{}
	result any
	err    error
}

// Wait waits for the job to end, at most for a while, and tells whether it has.
func (j *Job) Wait(ctx context.Context, most <-chan time.Time) (result any, ended bool, err error) {
	select {
	case <-j.done:
		return j.result, true, j.err
	case <-most:
		return nil, false, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// Done is closed when the job has ended.
func (j *Job) Done() <-chan struct{} { return j.done }

// Result is what the job gave, once Done is closed.
func (j *Job) Result() (any, error) { return j.result, j.err }

// Go runs something until it ends or the process does. What it does may go on when the caller's context ends.
func (v *Versioning) Go(ctx context.Context, id string, fn func(ctx context.Context) (any, error)) (*Job, error) {
	job := &Job{ID: id, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if err := v.jobs.add(job, cancel); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer v.jobs.remove(job)
		defer close(job.done)
		defer cancel()
		job.err = contained(func() (err error) {
			job.result, err = fn(ctx)
			return err
		})
		if job.err != nil && errs.CodeOf(job.err) == errs.Internal {
			v.Log.ErrorContext(ctx, "an operation failed", "operation", id, "error", job.err)
		}
	}()
	return job, nil
}

// contained makes an error of a panic: what one repository has must not end the process for everybody. An operation that ends
// so is rolled back when its lease is over.
func contained(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}

func (j *jobs) add(job *Job, cancel context.CancelFunc) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.room(); err != nil {
		return err
	}
	if j.cancels == nil {
		j.cancels = map[*Job]context.CancelFunc{}
	}
	j.cancels[job] = cancel
	j.wait.Add(1)
	return nil
}

// room refuses one more when there are too many. The caller holds the mutex.
func (j *jobs) room() error {
	const soon = 5 * time.Second
	switch {
	case j.ended:
		return errs.New(errs.Unavailable, "The service is stopping; try again in a moment.").WithRetryAfter(soon)
	case len(j.cancels)+j.looking >= jobsAtOnce:
		return errs.New(errs.ConcurrentRequestLimit, "Too many pushes and pulls run at the same time; try again in a moment.").WithRetryAfter(soon)
	default:
		return nil
	}
}

// Look gives a request a turn that runs git without an operation: it only asks, which costs as much. It ends with leave.
func (v *Versioning) Look() (leave func(), err error) {
	j := &v.jobs
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.room(); err != nil {
		return nil, err
	}
	j.looking++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.looking--
	}, nil
}

func (j *jobs) remove(job *Job) {
	j.mu.Lock()
	delete(j.cancels, job)
	j.mu.Unlock()
	j.wait.Done()
}

// Stop ends the operations of this process and waits for them: what is not done is rolled back.
func (v *Versioning) Stop() {
	v.jobs.mu.Lock()
	v.jobs.ended = true
	for _, cancel := range v.jobs.cancels {
		cancel()
	}
	v.jobs.mu.Unlock()
	v.jobs.wait.Wait()
}

// run is an operation that holds the lock of its workspace.
type run struct {
	op         *definitions.Operation
	repository repositories.Repository
	progress   *progress
	by         string
}

// start locks a workspace for an operation and runs it.
func (v *Versioning) start(ctx context.Context, w workspaces.Workspace, repository repositories.Repository, reason, over string, fn func(ctx context.Context, run *run) (any, error)) (*Job, error) {
	op, err := v.begin(ctx, w, repository, reason, over)
	if err != nil {
		return nil, err
	}
	job, err := v.Go(ctx, op.ID, func(ctx context.Context) (any, error) { return v.carryOut(ctx, op, repository, reason, fn) })
	if err != nil {
		return nil, errors.Join(err, op.Abandon(ctx, err))
	}
	return job, nil
}

func (v *Versioning) begin(ctx context.Context, w workspaces.Workspace, repository repositories.Repository, reason, over string) (*definitions.Operation, error) {
	op, err := v.Definitions.Begin(ctx, w.ID, definitions.Start{Reason: reason, RepositoryID: repository.ID, Over: over})
	failpoint.At("versioning.locked")
	return op, err
}

// names of operations as events say them.
func operationName(reason string) string {
	return map[string]string{Pushing: "push", Pulling: "pull", Resolving: "resolve"}[reason]
}

// carryOut runs an operation that has begun, and ends it.
func (v *Versioning) carryOut(ctx context.Context, op *definitions.Operation, repository repositories.Repository, reason string, fn func(ctx context.Context, run *run) (any, error)) (any, error) {
	r := &run{op: op, repository: repository, by: definitions.Author(ctx), progress: v.progress(op, operationName(reason), repository.ID, repository.Branch)}
	kept, stop := op.Keep(ctx)
	result, err := fn(kept, r)
	lost := context.Cause(kept)
	stop()
	if err == nil {
		return result, nil
	}
	if unknown := (*unknownError)(nil); errors.As(err, &unknown) {
		v.Log.WarnContext(ctx, "it is not known whether a push arrived; it is being found out", "workspace", op.Workspace.ID, "error", err)
		return nil, errs.New(errs.GatewayTimeout, "The repository did not answer any more. Whether the push arrived is being found out; the operation tells.").
			With("operationId", op.ID).Because(err)
	}
	if blocked := (*blockedError)(nil); errors.As(err, &blocked) {
		return nil, blocked.shown
	}
	switch {
	case ctx.Err() != nil:
		err = definitions.Interrupted()
	case lost != nil:
		err = lost // the lock went away under it
	}
	r.progress.failed(ctx, err)
	if released := op.Abandon(ctx, err); released != nil {
		v.Log.WarnContext(ctx, "the lock of an operation could not be released; it is when its lease ends", "error", released)
	}
	return nil, err
}

// blockedError says that the operation has ended by locking the workspace.
type blockedError struct{ shown *errs.Error }

// Error implements error.
func (e *blockedError) Error() string { return e.shown.Error() }
