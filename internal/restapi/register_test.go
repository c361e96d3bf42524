package restapi_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
)

type textBody struct {
	Text string `json:"text" maxLength:"20"`
	Size int    `json:"size,omitempty"`
}

type textInput struct{ Body textBody }

type textOutput struct{ Body textBody }

func echo(_ context.Context, in *textInput) (*textOutput, error) {
	return &textOutput{Body: in.Body}, nil
}

func operation(method, path string) restapi.Operation {
	return restapi.Operation{ID: strings.ToLower(method) + strings.ReplaceAll(path, "/", "-"), Method: method, Path: path, Policy: access.SignedIn}
}

// An error that a handler did not foresee shows nothing of itself; the log has it under the request's id.
func TestForeignErrorIsHidden(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	restapi.Register(b.API, operation(http.MethodGet, "/fail"), func(context.Context, *struct{}) (*textOutput, error) {
		return nil, fmt.Errorf("read the shelf: %w", errors.New("pq: relation ws_secret does not exist at /srv/db.go:12"))
	})
	got := b.serve(t, call{method: http.MethodGet, path: "/fail"}).want(t, http.StatusInternalServerError, "internal_error")
	if text := got.Body.String(); strings.Contains(text, "pq") || strings.Contains(text, "shelf") || strings.Contains(text, ".go") {
		t.Errorf("the answer shows the cause: %s", text)
	}
	for _, part := range []string{correlationID, "read the shelf", "ws_secret", `"level":"ERROR"`} {
		if !strings.Contains(b.log.String(), part) {
			t.Errorf("the log lacks %q: %s", part, b.log)
		}
	}
}

// An error's own headers reach the client through the library.
func TestErrorHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	restapi.Register(b.API, operation(http.MethodGet, "/busy"), func(context.Context, *struct{}) (*textOutput, error) {
		return nil, errs.New(errs.RateLimitExceeded, "Wait.").WithRetryAfter(2500 * time.Millisecond)
	})
	got := b.serve(t, call{method: http.MethodGet, path: "/busy"}).want(t, http.StatusTooManyRequests, "rate_limit_exceeded")
	if got.Header().Get("Retry-After") != "3" || got.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%v", got.Header())
	}
	if b.log.String() != "" {
		t.Errorf("logged: %s", b.log)
	}
}

// An answer that cannot be written is a panic for the front to deal with, not half an answer.
func TestUnwritableAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	type number struct{ Body float64 }
	restapi.Register(b.API, operation(http.MethodGet, "/nan"), func(context.Context, *struct{}) (*number, error) {
		return &number{Body: math.NaN()}, nil
	})
	defer func() {
		if recover() == nil {
			t.Error("it was written")
		}
	}()
	b.serve(t, call{method: http.MethodGet, path: "/nan"})
}

// Who may not call an operation is told before anything of the request is read.
func TestPolicyComesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	op := operation(http.MethodPost, "/admin")
	op.Policy = access.SuperAdmins
	restapi.Register(b.API, op, echo)
	b.serve(t, call{method: http.MethodPost, path: "/admin?a=1&a=2", body: `{`}).want(t, http.StatusForbidden, "permission_denied")
	b.serve(t, call{method: http.MethodPost, path: "/admin?a=1&a=2", body: `{`, who: access.Principal{Kind: access.User, SuperAdmin: true}}).
		want(t, http.StatusBadRequest, "invalid_parameter")
}

// A value that its schema lets pass and that still does not fit its type is the client's mistake, told without our types.
func TestMisfits(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	restapi.Register(b.API, operation(http.MethodPost, "/echo"), echo)
	for _, size := range []string{"1.0", "1e2", "1e400", "-1e400", "123456789012345678901234567890"} {
		got := b.serve(t, call{method: http.MethodPost, path: "/echo", body: `{"text":"a","size":` + size + `}`}).
			want(t, http.StatusUnprocessableEntity, "validation_failed")
		if text := got.Body.String(); !strings.Contains(text, `{"field":"size",`) || strings.Contains(text, "json") || strings.Contains(text, "of type") {
			t.Errorf("%s: %s", size, text)
		}
	}
}

// Query parameters: given once, unless the operation says otherwise.
func TestRepeatedParameters(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	type input struct {
		A []string `query:"a,explode"`
	}
	handler := func(_ context.Context, in *input) (*textOutput, error) {
		return &textOutput{Body: textBody{Text: strings.Join(in.A, "+")}}, nil
	}
	once, often := operation(http.MethodGet, "/once"), operation(http.MethodGet, "/often")
	often.Repeated = true
	restapi.Register(b.API, once, handler)
	restapi.Register(b.API, often, handler)
	b.serve(t, call{method: http.MethodGet, path: "/once?a=1&a=2"}).want(t, http.StatusBadRequest, "invalid_parameter")
	if got := b.serve(t, call{method: http.MethodGet, path: "/often?a=1&a=2"}); !strings.Contains(got.Body.String(), "1+2") {
		t.Errorf("%s", got.Body)
	}
}

// A deprecated operation announces its end with every answer, also with a refusal.
func TestDeprecatedOperation(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	op := operation(http.MethodPost, "/old")
	op.Deprecated = &httpx.Deprecation{Since: time.Unix(1000, 0), Sunset: time.Unix(2000, 0), Notice: "Use /new."}
	restapi.Register(b.API, op, echo)
	for _, body := range []string{`{"text":"a"}`, `{`, `{}`} {
		h := b.serve(t, call{method: http.MethodPost, path: "/old", body: body}).Header()
		if h.Get("Deprecation") != "@1000" || h.Get("X-Svc-Api-Deprecation") != "Use /new." || h.Get("Sunset") != "Thu, 01 Jan 1970 00:33:20 GMT" {
			t.Errorf("%s: %v", body, h)
		}
	}
}

// An operation without a policy or an id cannot be registered.
func TestOperationNeedsPolicy(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]restapi.Operation{
		"no policy":      {ID: "x", Method: http.MethodGet, Path: "/x"},
		"unknown policy": {ID: "x", Method: http.MethodGet, Path: "/x", Policy: "everyone"},
		"no id":          {Method: http.MethodGet, Path: "/x", Policy: access.Public},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered", name)
				}
			}()
			restapi.Register(newBench(nil).API, op, echo)
		}()
	}
}
