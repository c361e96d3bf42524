// Package errs is the vocabulary of failures: a code the client can match on, a message that says what to do, details,
// and a cause that is logged and never shown.
package errs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is a failure with a code. The cause is for the log only.
type Error struct {
	Code    Code
	Message string
	Details map[string]any
	// Fields lists what is wrong with the input, for validation failures.
	Fields []Field
	// RetryAfter, when set, tells the client how long to wait.
	RetryAfter time.Duration

	status int
	cause  error
}

// Field names one wrong input and says what is expected of it.
type Field struct {
	Field   string `json:"field" doc:"Where: a dotted path into the body, or the name of a parameter."`
	Message string `json:"message" doc:"What is wrong and what is allowed."`
}

// New returns an error with a code and a message for the client.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Newf is New with formatting.
func Newf(code Code, format string, args ...any) *Error {
	return New(code, fmt.Sprintf(format, args...))
}

// Invalid returns a validation failure naming the wrong fields.
func Invalid(fields ...Field) *Error {
	return &Error{Code: ValidationFailed, Message: "The input is not valid; details.errors names each field.", Fields: fields}
}

// Parameter returns the failure of one query, path or header parameter.
func Parameter(name, message string) *Error {
	e := Newf(InvalidParameter, "%s: %s", name, message)
	e.Fields = []Field{{Field: name, Message: message}}
	return e
}

// Missing says that a resource does not exist.
func Missing(kind, id string) *Error {
	return New(NotFound, "It does not exist, or not any more.").With("subjectType", kind).With("id", id)
}

// Wrap hides a foreign error behind an internal fault: the client sees the code, the log sees the cause.
func Wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// With adds one detail and returns the error.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any, 2)
	}
	e.Details[key] = value
	return e
}

// WithStatus keeps the code but answers with a more precise HTTP status, such as 405 or 415 for invalid_request.
func (e *Error) WithStatus(status int) *Error {
	e.status = status
	return e
}

// WithRetryAfter tells the client when to try again.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Because records the cause for the log.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error implements error; it includes the cause and is meant for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return string(e.Code) + ": " + e.Message + ": " + e.cause.Error()
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// Status is the HTTP status of the error.
func (e *Error) Status() int {
	if e.status != 0 {
		return e.status
	}
	return StatusOf(e.Code)
}

// StatusOf is the HTTP status of a code.
func StatusOf(code Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

var statuses = Statuses()

// From gives the error to show for err: itself when it is ours, a timeout for a passed deadline, otherwise an internal
// fault that hides its cause.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return New(GatewayTimeout, "The request took too long and was stopped; try again, or ask for less at once.").Because(err)
	case errors.Is(err, context.Canceled):
		return New(Unavailable, "The request was cancelled before it was finished.").Because(err)
	default:
		return New(Internal, "Something went wrong on our side. Quote the correlation id when you report it.").Because(err)
	}
}

// CodeOf is the code of an error, internal_error for a foreign one.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return From(err).Code
}
