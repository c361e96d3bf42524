package restapi

import (
	"context"
	"net/http"
	"os"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// problem is the library's view of an error: written by httpx, described here.
type problem struct{ *httpx.Problem }

// Schema documents the flat shape of /v2.
func (problem) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(errorType, true, "Error")
}

// newProblem translates what the library found wrong with a request into our codes.
func newProblem(hctx huma.Context, status int, message string, causes []error) huma.StatusError {
	ctx := context.Background()
	if hctx != nil {
		ctx = hctx.Context()
	}
	failure := translate(status, message, causes)
	if failure.Code == errs.PayloadTooLarge && hctx != nil {
		failure = failure.With("limit", hctx.Operation().MaxBodyBytes-1)
	}
	return problem{httpx.NewProblem(ctx, failure)}
}

func translate(status int, message string, causes []error) *errs.Error {
	switch status {
	case http.StatusUnprocessableEntity:
		return invalid(causes)
	case http.StatusRequestEntityTooLarge:
		return errs.New(errs.PayloadTooLarge, "The body is too large.")
	case http.StatusRequestTimeout:
		return httpx.BodyError(os.ErrDeadlineExceeded)
	case http.StatusBadRequest:
		return errs.New(errs.InvalidRequest, unreadable(message, causes))
	case http.StatusInternalServerError:
		if strings.Contains(message, "read request body") {
			return httpx.BodyError(nil)
		}
		return errs.New(errs.Internal, "Something went wrong on our side. Quote the correlation id when you report it.")
	default:
		return errs.New(errs.InvalidRequest, sentence(message)).WithStatus(status)
	}
}

func unreadable(message string, causes []error) string {
	for _, cause := range causes {
		if detail, ok := cause.(*huma.ErrorDetail); ok { //nolint:errorlint // the library hands over exactly this type
			return "The body is not acceptable JSON: " + detail.Message + "."
		}
	}
	return sentence(message)
}

func sentence(message string) string {
	if message == "" {
		return "The request cannot be served."
	}
	return strings.ToUpper(message[:1]) + message[1:] + "."
}

// maxFields is how many wrong fields an answer names: a body can have very many.
const maxFields = 100

// invalid sorts failures of parameters (400) from failures of the body (422).
func invalid(causes []error) *errs.Error {
	var fields []errs.Field
	parameters, missing := true, true
	for _, cause := range causes {
		detail, ok := cause.(*huma.ErrorDetail) //nolint:errorlint // the library hands over exactly this type
		if !ok {
			continue
		}
		place, _, _ := strings.Cut(detail.Location, ".")
		parameters = parameters && place != "body"
		missing = missing && strings.HasPrefix(detail.Message, "required ")
		if len(fields) < maxFields {
			fields = append(fields, fieldOf(detail))
		}
	}
	failure := errs.Invalid(fields...)
	switch {
	case len(fields) == 0 || !parameters:
		return failure
	case missing:
		failure.Code, failure.Message = errs.MissingParameter, "A required parameter is missing: "+fields[0].Field+"."
	default:
		failure.Code, failure.Message = errs.InvalidParameter, "A parameter has an invalid value: "+fields[0].Field+": "+fields[0].Message+"."
	}
	return failure
}

// fieldOf names the wrong field. The library says of a missing one only where it is missing, and of one that does not fit
// its type only that it is in the body; both name it in the message.
func fieldOf(detail *huma.ErrorDetail) errs.Field {
	_, path, _ := strings.Cut(detail.Location, ".")
	if strings.HasPrefix(detail.Location, "body[") {
		path = strings.TrimPrefix(detail.Location, "body")
	}
	message := detail.Message
	if rest, ok := strings.CutPrefix(message, "expected required property "); ok {
		name, _, _ := strings.Cut(rest, " ")
		path, message = join(path, name), "it is required"
	}
	if rest, ok := strings.CutPrefix(message, misfitAt); ok {
		path, message, _ = strings.Cut(rest, ": ")
	}
	return errs.Field{Field: shorten(path), Message: message}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// shorten keeps a name that the client chose from making the answer as large as the request.
func shorten(name string) string {
	const longest = 200
	if len(name) <= longest {
		return name
	}
	return strings.ToValidUTF8(name[:longest], "") + "…"
}
