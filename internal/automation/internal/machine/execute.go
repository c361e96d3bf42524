package machine

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"atelier/internal/access"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/httpx"
	"atelier/internal/latectx"
)

// Execute runs an automation as the beginning of a run, and returns when it has ended. Its technical events are recorded.
func (m *Machine) Execute(ctx context.Context, run *Run, automation *Automation, payload *value.Object) Result {
	if automation == nil || automation.Disabled {
		return Result{Output: value.Undefined{}, Err: Fail(ObjectNotFound, "Automation not found")}
	}
	ctx, cancel := latectx.WithCancel(ctx)
	defer cancel()
	f := m.frame(ctx, run, automation, payload)
	f.stint = m.Turns.Of(run.Root.WorkspaceID).Begin(ctx)
	defer f.stint.End()
	result := f.execute()
	if result.Err != nil {
		f.failedTrigger(result.Err)
		result.Err = FailureOf(result.Err)
	}
	if run.Answer != nil {
		run.Answer(result)
	}
	f.stint.End()
	f.root.beside.Wait()
	return result
}

func (m *Machine) frame(ctx context.Context, run *Run, automation *Automation, payload *value.Object) *Frame {
	if payload == nil {
		payload = value.NewObject(0)
	}
	made := &struct { // one piece of memory: every run needs all of it
		frame      Frame
		invocation invocation
		root       root
	}{}
	made.frame.invocation = &made.invocation
	made.invocation = invocation{
		machine: m, run: run, root: &made.root, automation: automation, payload: payload, ctx: m.context(ctx, run), depth: run.Depth + 1,
		trigger: trigger{kind: run.Trigger.Type, value: run.Trigger.Value, id: run.Trigger.ID},
	}
	return &made.frame
}

// Frame gives a frame in which single steps can be done, as in the first automation of a run. Nothing is recorded of it.
func (m *Machine) Frame(ctx context.Context, run *Run, automation *Automation, payload *value.Object) *Frame {
	f := m.frame(ctx, run, automation, payload)
	f.started, f.locals = m.Clock.Now(), newVariables(f.payload)
	return f
}

// context carries who calls and by which request.
func (m *Machine) context(ctx context.Context, run *Run) context.Context {
	return access.As(httpx.Onward(ctx, run.CorrelationID, run.IP), run.Caller)
}

// execute runs the automation of the frame, and records what became of it.
func (f *Frame) execute() (result Result) {
	f.started = f.machine.Clock.Now()
	end := f.span()
	f.locals = newVariables(f.payload)
	err := f.guarded(func() (err error) {
		if err = f.enter(); err == nil {
			result.Output, err = f.perform()
		}
		return err
	})
	if settled := f.settle(); err == nil {
		err = settled
	}
	result.Err = err
	result = f.finish(result)
	f.unmake() // what the output took
	f.release(f.locals)
	end(result.Err)
	return result
}

// enter sees whether the automation may run.
func (f *Frame) enter() error {
	a := f.automation
	if limit := f.machine.Limits.depth(); f.depth > limit+1 {
		return Fail(TooManyCalls, "Reached maximum number of nested calls").With(Payload("limit", float64(limit)))
	}
	if a.Broken != nil {
		return a.Broken
	}
	if a.Arguments != nil {
		for secret := range a.Arguments.Secrets(f.payload) {
			f.Hide(secret)
		}
	}
	if err := f.allowed(); err != nil {
		return err
	}
	if a.Arguments != nil {
		if err := a.Arguments.Check(f.payload); err != nil {
			return err
		}
	}
	if err := f.hold(); err != nil {
		return err
	}
	return f.Throttle(ThrottleAutomations, 1)
}

// hold pays for the payload.
func (f *Frame) hold() error {
	n, ok := weigh(f.payload, f.machine.Limits.memory())
	if !ok {
		return heavy()
	}
	f.locals.mu.Lock()
	defer f.locals.mu.Unlock()
	return f.charge(f.locals, n)
}

// perform does what the automation does, and gives its output.
func (f *Frame) perform() (any, error) {
	if f.automation.Native != nil {
		return f.automation.Native(f, f.payload)
	}
	if f.automation.Body != nil {
		if err := f.automation.Body(f); err != nil {
			return nil, err
		}
	}
	return f.output()
}

// output computes what the automation gives back. What gives nothing gives an object without keys.
func (f *Frame) output() (any, error) {
	if f.automation.Output == nil {
		return value.NewObject(0), nil
	}
	return f.automation.Output(f)
}

// finish makes the result of what the automation ended with, and records it. A break that is meant for it is its end; one of all
// the run goes on to the callers.
func (f *Frame) finish(result Result) Result {
	scope, leaves := Leaves(result.Err)
	leaving := result.Err
	if leaves {
		result = f.left(result.Err)
	}
	if result.Err != nil {
		result.Output = value.Undefined{}
		if _, below := errors.AsType[*failedCallError](result.Err); !below {
			result.Err = &failedCallError{error: result.Err, frame: f}
		}
	}
	f.executed(result)
	if scope == ScopeAll && f.nested && result.Err == nil {
		result.Err = leaving
	}
	return result
}

// left is the result of an automation that was left early: its output is still computed, unless the break brought one.
func (f *Frame) left(err error) Result {
	result := Result{Broken: true}
	if b, ok := errors.AsType[*breaking](err); ok && b.output != any(value.Undefined{}) {
		result.Output = b.output
		return result
	}
	result.Err = f.guarded(func() (err error) {
		result.Output, err = f.output()
		return err
	})
	return result
}

// failedCallError is the failure of an automation, with the one that failed: those that called it fail as well, but it was not them.
type failedCallError struct {
	error
	frame *Frame
}

func (e *failedCallError) Unwrap() error { return e.error }

// span begins the span of the automation.
func (f *Frame) span() func(error) {
	if f.machine.Tracer == nil {
		return func(error) {}
	}
	var span trace.Span
	f.ctx, span = f.machine.Tracer.Start(f.ctx, "automation "+f.automation.FullSlug(), trace.WithAttributes(
		attribute.String("workspace.id", f.run.Root.WorkspaceID), attribute.String("automation.slug", f.automation.FullSlug()),
		attribute.String("trigger.type", f.trigger.kind), attribute.Int("automation.depth", f.depth),
		attribute.String("correlation.id", f.run.CorrelationID)))
	return func(err error) {
		if _, leaves := Leaves(err); err != nil && !leaves {
			span.SetStatus(codes.Error, FailureOf(err).Name)
		}
		span.End()
	}
}
