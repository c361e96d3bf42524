package rest

import (
	"errors"
	"net/http"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/errs"
)

// refused is a failure of the language as an operation that is no endpoint tells it.
func refused(err error) error {
	failure, ok := errors.AsType[*machine.Failure](err)
	if !ok {
		return err
	}
	code := errs.InvalidRequest
	switch failure.Name {
	case machine.ObjectNotFound:
		code = errs.NotFound
	case machine.Forbidden, machine.Suspended:
		code = errs.PermissionDenied
	case machine.InvalidUpload:
		code = errs.PayloadTooLarge
	case machine.QuotaExceeded:
		code = errs.QuotaExceeded
	case machine.Timeout:
		code = errs.GatewayTimeout
	}
	said := errs.New(code, failure.Message).With("type", failure.Name).Because(err)
	if code == errs.InvalidRequest {
		said = said.WithStatus(http.StatusBadRequest)
	}
	if failure.Details != nil {
		said = said.With("details", failure.Details)
	}
	return said
}
