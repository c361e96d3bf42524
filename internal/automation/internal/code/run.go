package code

import (
	"context"
	"errors"
	"fmt"
	"time"

	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// Failed is the name of the failure of code that threw an error, or whose process died.
const Failed = "CustomCodeError"

// Call is something to be run.
type Call struct {
	// WorkspaceID is the workspace that runs it. Owner tells apart the apps in it, which share neither process nor cache.
	WorkspaceID, Owner string
	// Functions are the definitions, by name.
	Functions *value.Object
	// Function is called; without one Code is run, on its own.
	Function, Code string
	Parameters     *value.Object
}

// Answer is what a call gave back.
type Answer struct {
	Result any
	Logs   []string
	// Duration is how long the code ran.
	Duration time.Duration
}

// Run does a call. Its errors are failures of the language, or of ctx.
func (c *Code) Run(ctx context.Context, call Call) (Answer, error) {
	if call.Function != "" {
		if err := find(call.Functions, call.Function); err != nil {
			return Answer{}, err
		}
	}
	parameters, err := c.parametersOf(call)
	if err != nil {
		return Answer{}, err
	}
	p, err := c.acquire(ctx, call.WorkspaceID, call.Owner)
	if err != nil {
		return Answer{}, notStarted(err)
	}
	response, body, err := c.exchange(ctx, p, call, parameters)
	c.release(p, err == nil)
	if err != nil {
		return Answer{}, c.died(ctx, call, err)
	}
	answer := Answer{Logs: response.Logs, Duration: time.Duration(response.Duration * float64(time.Millisecond))}
	if response.Error != nil {
		return answer, c.failure(call, response)
	}
	answer.Result, err = decode(call, body)
	return answer, err
}

func (c *Code) parametersOf(call Call) (string, error) {
	parameters := call.Parameters
	if parameters == nil {
		parameters = value.NewObject(0)
	}
	text, ok := value.JSON(parameters, "", c.limits.Request-len(call.Code))
	if !ok {
		return "", machine.Fail(machine.InvalidArguments, fmt.Sprintf("The parameters and the code are larger than %s: hand over less.", size(c.limits.Request))).
			With(map[string]any{"limit": c.limits.Request})
	}
	return text, nil
}

// exchange has a worker do the call. An error means that the worker cannot be used any more.
func (c *Code) exchange(ctx context.Context, p *process, call Call, parameters string) (wire.Response, []byte, error) {
	p.calls++
	share, began := c.deps.Turns.Of(call.WorkspaceID), c.deps.Clock.Now()
	request := wire.Request{
		ID: p.calls, Function: call.Function, Code: call.Code, Now: began.UnixMilli(), Limit: c.limits.Time.Milliseconds(),
		Low: share.Heavy(),
	}
	if err := p.teach(call.Functions, c.limits.Request-len(call.Code)-len(parameters), &request); err != nil {
		return wire.Response{}, nil, err
	}
	var response wire.Response
	body, err := c.guard(ctx, p, c.limits.Time+killAfter, share, func() ([]byte, error) {
		if err := wire.Write(p.in, request, []byte(parameters)); err != nil {
			return nil, errors.Join(errGone, err)
		}
		return wire.Read(p.reader, c.limits.Output+logRoom, &response)
	})
	took := c.deps.Clock.Now().Sub(began)
	p.worked += took
	if !request.Low {
		share.Used(min(took, wire.Patience)) // the rest is counted in turns
	}
	if err != nil {
		return response, nil, err
	}
	if response.ID != request.ID {
		return response, nil, fmt.Errorf("%w: it answers another call", wire.ErrFrame)
	}
	return response, body, nil
}

// teach puts the functions into a request when the worker has others.
func (p *process) teach(functions *value.Object, limit int, request *wire.Request) error {
	if p.library != nil && p.library.from == functions {
		return nil
	}
	l, err := newLibrary(functions)
	if err != nil {
		return err
	}
	if l.size > limit {
		return machine.Fail(machine.Configuration, fmt.Sprintf("The functions are larger than %s together: define less of them.", size(limit)))
	}
	if p.library == nil || p.library.sum != l.sum {
		request.Replace, request.Functions = true, l.functions
	}
	p.library = l
	return nil
}

// decode reads a result. It comes from code that nobody trusts.
func decode(call Call, body []byte) (any, error) {
	if len(body) == 0 {
		return value.Undefined{}, nil
	}
	result, err := value.Decode(string(body))
	if err != nil {
		return nil, machine.Fail(Failed, what(call)+" gave a result that cannot be read; it may be nested too deep.").Because(err)
	}
	return result, nil
}

// what names a call in a message.
func what(call Call) string {
	if call.Function == "" {
		return "The code"
	}
	return fmt.Sprintf("The function %q", call.Function)
}

// failure is what a worker said of a call that has no result.
func (c *Code) failure(call Call, response wire.Response) *machine.Failure {
	e := response.Error
	details := map[string]any{"logs": response.Logs}
	if call.Function != "" {
		details["function"] = call.Function
	}
	switch e.Kind {
	case wire.KindTimeout:
		return c.late(call).With(details)
	case wire.KindMemory:
		return machine.Fail(Failed, fmt.Sprintf("%s needs more than %s of memory: work on less at a time.", what(call), size(int(c.limits.Heap)))).With(details)
	case wire.KindOutput:
		return machine.Fail(Failed, fmt.Sprintf("%s gave a result larger than %s: return less.", what(call), size(c.limits.Output))).With(details)
	case wire.KindStuck:
		return machine.Fail(Failed, what(call)+" waits for a promise that nothing can fulfil.").With(details)
	default:
		details["name"], details["message"] = e.Name, e.Message
		if e.Stack != "" {
			details["stack"] = e.Stack
		}
		message := e.Message
		if e.Name != "" {
			message = e.Name + ": " + message
		}
		return machine.Fail(Failed, fmt.Sprintf("%s failed: %s", what(call), message)).With(details)
	}
}

func (c *Code) late(call Call) *machine.Failure {
	return machine.Fail(machine.Timeout, fmt.Sprintf("%s took longer than %s and was ended: do less in one call.", what(call), c.limits.Time))
}

// died is what is said of a call whose worker was killed or broke off.
func (c *Code) died(ctx context.Context, call Call, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errDeadline):
		return c.late(call)
	case isFailure(err):
		return err
	default:
		return machine.Fail(Failed, what(call)+" brought its process down, as code does that needs too much memory. Other runs are not affected.").Because(err)
	}
}

// notStarted is what is said when there is no process for a call.
func notStarted(err error) error {
	if isFailure(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return machine.Fail(Failed, "Custom code cannot be run at this moment. Try again later.").Because(err)
}

func isFailure(err error) bool {
	_, ok := errors.AsType[*machine.Failure](err)
	return ok
}

// size shows a number of bytes.
func size(bytes int) string {
	const megabyte = 1 << 20
	if bytes%megabyte == 0 {
		return fmt.Sprintf("%d MB", bytes/megabyte)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
