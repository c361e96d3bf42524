// Package shown writes errors the way automations and clients see them: a name, a message and details. What is not an error of
// the language, or of its caller, is told as one of the platform, and nothing of it is shown.
package shown

import (
	"context"
	"encoding/json"
	"errors"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
)

// Failure gives an error as one of the language.
func Failure(err error) *machine.Failure {
	if failure, ok := errors.AsType[*machine.Failure](err); ok {
		return failure
	}
	if refusal, ok := errors.AsType[*errs.Error](err); ok && refusal.Status() < serverErrors {
		show := refusal.Show()
		return (&machine.Failure{Name: nameOf(refusal), Message: refusal.Message, Details: show.Details}).Because(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return machine.Fail(machine.Timeout, "The automation took too long and was stopped; let it do less at a time.").Because(err)
	}
	return machine.Fail(machine.Broke, "Something went wrong on our side. Try again; quote the correlation id when you report it.").Because(err)
}

// serverErrors is the first status that tells of a fault of ours.
const serverErrors = 500

// nameOf is the name in the language of what a service refused.
func nameOf(refusal *errs.Error) string {
	switch refusal.Code {
	case errs.NotFound:
		return machine.ObjectNotFound
	case errs.PermissionDenied, errs.WorkspaceAccessDenied, errs.InsufficientScope, errs.OrgAccessDenied:
		return machine.Forbidden
	case errs.QuotaExceeded, errs.RateLimitExceeded, errs.ConcurrentRequestLimit:
		return machine.QuotaExceeded
	default:
		return machine.InvalidArguments
	}
}

// Object is {error, message, details} of a failure. Without details it has none.
func Object(failure *machine.Failure) *value.Object {
	object := machine.Payload("error", failure.Name, "message", failure.Message)
	if details := Details(failure); value.Exists(details) {
		object.Set("details", details)
	}
	return object
}

// Details gives the details of a failure as a value of the language; undefined when there are none.
func Details(failure *machine.Failure) any {
	switch details := failure.Details.(type) {
	case nil, value.Undefined:
		return value.Undefined{}
	case bool, float64, string, []any, *value.Object:
		return value.From(details)
	default:
		text, err := json.Marshal(details)
		if err != nil {
			return value.Undefined{}
		}
		decoded, err := value.Decode(string(text))
		if err != nil {
			return value.Undefined{}
		}
		return decoded
	}
}
