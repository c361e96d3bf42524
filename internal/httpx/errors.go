package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"

	"atelier/internal/errs"
)

// Problem is an error ready to be written in the shape the client expects.
type Problem struct {
	err   *errs.Error
	whole error // as it came, with everything that was wrapped around err; for the log
	info  *Info
}

// NewProblem prepares err for the request of ctx.
func NewProblem(ctx context.Context, err error) *Problem {
	return &Problem{err: errs.From(err), whole: err, info: InfoFrom(ctx)}
}

// Error implements error, for logs: what was being done when it happened, and why.
func (p *Problem) Error() string {
	shown, whole := p.err.Error(), p.whole.Error()
	switch {
	case strings.Contains(whole, shown):
		return whole
	case strings.Contains(shown, whole):
		return shown
	default:
		return whole + ": " + shown
	}
}

// Unwrap gives the error underneath.
func (p *Problem) Unwrap() error { return p.err }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.err.Status() }

// ContentType replaces the negotiated content type.
func (p *Problem) ContentType(string) string {
	if p.info.Shape == ShapeProblem {
		return "application/problem+json"
	}
	return "application/json"
}

type nestedError struct {
	Error nestedBody `json:"error"`
}

type nestedBody struct {
	Code      errs.Code      `json:"code"`
	Message   string         `json:"message"`
	RequestID string         `json:"requestId"`
	Details   map[string]any `json:"details,omitempty"`
}

type problemDetails struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail"`
	Instance string         `json:"instance"`
	Code     errs.Code      `json:"code"`
	Details  map[string]any `json:"details,omitempty"`
}

// MarshalJSON writes the shape of the request.
func (p *Problem) MarshalJSON() ([]byte, error) {
	details := p.err.AllDetails()
	switch p.info.Shape {
	case ShapeNested:
		return json.Marshal(nestedError{nestedBody{
			Code: p.err.Code, Message: p.err.Message, RequestID: p.info.CorrelationID, Details: details,
		}})
	case ShapeProblem:
		return json.Marshal(problemDetails{
			Type: "about:blank", Title: http.StatusText(p.GetStatus()), Status: p.GetStatus(), Detail: p.err.Message,
			Instance: "urn:uuid:" + p.info.CorrelationID, Code: p.err.Code, Details: details,
		})
	case ShapeFlat:
	}
	return json.Marshal(p.err.Show())
}

// Prepare sets the response headers that go with the error.
func (p *Problem) Prepare(h http.Header) {
	if p.err.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.err.RetryAfter.Seconds()))))
	}
	if p.GetStatus() == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
}

// Errors writes errors and logs those that are our own fault.
type Errors struct {
	Log *slog.Logger
}

// Write answers the request with err.
func (e Errors) Write(w http.ResponseWriter, r *http.Request, err error) {
	problem := NewProblem(r.Context(), err)
	e.Report(r.Context(), problem)
	problem.Prepare(w.Header())
	body, marshalErr := json.Marshal(problem)
	if marshalErr != nil { // its details
		e.Log.ErrorContext(r.Context(), "an error could not be written", "correlation_id", problem.info.CorrelationID, "error", marshalErr)
		problem = NewProblem(r.Context(), errs.New(problem.err.Code, problem.err.Message).WithStatus(problem.GetStatus()))
		body, _ = json.Marshal(problem)
	}
	w.Header().Set("Content-Type", problem.ContentType(""))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(problem.GetStatus())
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// Report logs a fault of ours with its cause, under the request's correlation id. What the client did wrong is not logged
// as an error, it is in the access log; nor is a request that its client gave up.
func (e Errors) Report(ctx context.Context, problem *Problem) {
	if problem.GetStatus() < http.StatusInternalServerError || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	e.Log.ErrorContext(ctx, "request failed", "correlation_id", problem.info.CorrelationID, "code", problem.err.Code,
		"error", problem.Error())
}

// WantsProblem tells that the client asked for problem details.
func WantsProblem(h http.Header) bool {
	for _, accept := range h["Accept"] {
		for kind := range strings.SplitSeq(accept, ",") {
			name, params, _ := strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(name), "application/problem+json") && !refusesKind(params) {
				return true
			}
		}
	}
	return false
}

// refusesKind tells that a media type is listed to say that it is not wanted: with a weight of zero.
func refusesKind(params string) bool {
	weight, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q=")
	return ok && strings.Trim(weight, "0.") == ""
}

// BodyError is what to answer when a request's body cannot be read: it came too late, or it broke off.
func BodyError(cause error) *errs.Error {
	if errors.Is(cause, os.ErrDeadlineExceeded) {
		return errs.New(errs.InvalidRequest, "The body did not arrive in time.").WithStatus(http.StatusRequestTimeout)
	}
	return errs.New(errs.InvalidRequest, "The body could not be read to its end.")
}

// Failed logs a failure that no client hears of.
func (e Errors) Failed(ctx context.Context, doing string, err error) {
	e.Log.ErrorContext(ctx, "background work failed", "correlation_id", InfoFrom(ctx).CorrelationID, "doing", doing, "error", err.Error())
}
