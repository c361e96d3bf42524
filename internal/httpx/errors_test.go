package httpx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// write answers a request of the given shape with err, and gives what was logged.
func write(t *testing.T, shape httpx.Shape, err error) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log bytes.Buffer
	w := httptest.NewRecorder()
	ctx := httpx.WithInfo(t.Context(), &httpx.Info{CorrelationID: "the-id", Shape: shape})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	httpx.Errors{Log: slog.New(slog.NewJSONHandler(&log, nil))}.Write(w, r, err)
	return w, log.String()
}

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	err := errs.Invalid(errs.Field{Field: "name", Message: "it is required"}).With("more", 1).WithRetryAfter(1500 * time.Millisecond)
	const details = `{"errors":[{"field":"name","message":"it is required"}],"more":1,"retryAfter":1.5}`
	for shape, want := range map[httpx.Shape]string{
		httpx.ShapeFlat:   `{"error":"validation_failed","message":"` + err.Message + `","details":` + details + `}`,
		httpx.ShapeNested: `{"error":{"code":"validation_failed","message":"` + err.Message + `","requestId":"the-id","details":` + details + `}}`,
		httpx.ShapeProblem: `{"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"` + err.Message +
			`","instance":"urn:uuid:the-id","code":"validation_failed","details":` + details + `}`,
	} {
		got, log := write(t, shape, err)
		if got.Body.String() != want || got.Code != http.StatusUnprocessableEntity || got.Header().Get("Retry-After") != "2" || log != "" {
			t.Errorf("%s: %d %s\nlogged %s", shape, got.Code, got.Body, log)
		}
	}
	if err.Details["errors"] != nil {
		t.Error("writing changed the error")
	}
}

// What is our fault is hidden and logged with everything that was wrapped around it; what is the client's is neither.
func TestCausesAreLoggedNotShown(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.1:5432: SELECT secret")
	for name, c := range map[string]struct {
		err    error
		status int
		logged string
	}{
		"foreign":          {cause, 500, cause.Error()},
		"foreign, wrapped": {fmt.Errorf("store events: %w", cause), 500, "store events: " + cause.Error()},
		"ours":             {errs.New(errs.Database, "It failed.").Because(cause), 500, cause.Error()},
		"ours, wrapped":    {fmt.Errorf("store events: %w", errs.New(errs.Unavailable, "Later.").Because(cause)), 503, "store events: "},
		"deadline":         {fmt.Errorf("wait: %w", context.DeadlineExceeded), 504, "wait: "},
		"client's":         {errs.New(errs.NotFound, "Nothing there.").Because(cause), 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, log := write(t, httpx.ShapeFlat, c.err)
			if got.Code != c.status || strings.Contains(got.Body.String(), "SELECT") || strings.Contains(got.Body.String(), "store events") {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if c.logged == "" && log != "" || !strings.Contains(log, c.logged) || c.logged != "" && !strings.Contains(log, "the-id") {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// A client that has left is not a fault of ours.
func TestCancelledRequestIsNotLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	httpx.Errors{Log: slog.New(slog.NewJSONHandler(&log, nil))}.Write(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), ctx.Err())
	if log.Len() > 0 || w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d, logged %s", w.Code, log.String())
	}
}

// An error whose details cannot be written is still an error.
func TestUnwritableDetails(t *testing.T) {
	t.Parallel()
	got, log := write(t, httpx.ShapeFlat, errs.New(errs.Conflict, "x").With("f", func() {}))
	if got.Code != http.StatusConflict || got.Body.String() != `{"error":"resource_conflict","message":"x"}` || !strings.Contains(log, "could not be written") {
		t.Errorf("%s\nlogged %s", got.Body, log)
	}
}
