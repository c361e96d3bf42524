package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
)

// unreadable makes a failure of what package expr says of a text.
func unreadable(err error, source string) error {
	if broken, ok := errors.AsType[*expr.SyntaxError](err); ok {
		return Fail(InvalidExpression, broken.Error()).With(Payload("expression", broken.Source))
	}
	if broken, ok := errors.AsType[*expr.EvalError](err); ok {
		return Fail(InvalidExpression, broken.Error()).With(Payload("expression", source))
	}
	if broken, ok := errors.AsType[*expr.PathError](err); ok {
		return Fail(InvalidVariable, broken.Error()).With(Payload("fullVariable", broken.Path))
	}
	return err
}

// FailureOf gives the failure that an error is for automations and clients. What is not known shows nothing of itself.
func FailureOf(err error) *Failure {
	if failure, ok := errors.AsType[*Failure](err); ok {
		return failure
	}
	if known, ok := errors.AsType[*errs.Error](err); ok && known.Code != errs.Internal && known.Code != errs.Database {
		return Fail(nameOf(known.Code), known.Message).With(known.AllDetails()).Because(err)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Fail(Timeout, "The run took too long and was stopped; make it do less, or split it by events").Because(err)
	case errors.Is(err, context.Canceled):
		return Fail(Broke, "The run was stopped before its end").Because(err)
	default:
		return Fail(Broke, "Something went wrong on the platform; try again, and tell its operator when it stays").Because(err)
	}
}

// nameOf gives the name that automations know a kernel's code by.
func nameOf(code errs.Code) string {
	switch code {
	case errs.PermissionDenied, errs.MissingToken, errs.WorkspaceAccessDenied, errs.OrgAccessDenied, errs.InsufficientScope:
		return Forbidden
	case errs.NotFound:
		return ObjectNotFound
	case errs.QuotaExceeded:
		return QuotaExceeded
	case errs.GatewayTimeout:
		return Timeout
	default:
		return Broke
	}
}

// Value is the failure as automations see it: $error.
func (e *Failure) Value() *value.Object {
	return Payload("name", e.Name, "error", e.Name, "message", e.Message, "details", plain(e.Details))
}

// plain makes a value of the details of a failure, whatever they are made of.
func plain(details any) any {
	switch details := details.(type) {
	case nil:
		return value.Undefined{}
	case value.Undefined, bool, float64, string, []any, *value.Object:
		return details
	}
	text, err := json.Marshal(details)
	if err != nil {
		return value.Undefined{}
	}
	v, err := value.Decode(string(text))
	if err != nil {
		return value.Undefined{}
	}
	return v
}

// recovered makes a failure of a panic: a mistake of the platform must end one run, not all of them.
func (f *Frame) recovered(panicked any) error {
	err := fmt.Errorf("panic: %v", panicked)
	f.machine.Log.ErrorContext(f.ctx, "an automation panicked", "workspace", f.run.Root.WorkspaceID, "automation", f.automation.FullSlug(),
		"place", f.Place(), "error", err, "stack", stack())
	return FailureOf(err)
}
