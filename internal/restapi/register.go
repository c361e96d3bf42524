package restapi

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// Register adds an operation. In is a struct of parameters and a Body; Out a struct of response headers and a Body. The
// handler may return any error; its code decides the answer. A mistake in op is a mistake in the program, so it panics.
func Register[In, Out any](api *API, op Operation, handler func(ctx context.Context, in *In) (*Out, error)) {
	if !op.Policy.Known() || op.ID == "" {
		panic(fmt.Sprintf("restapi: operation %s %s has no id or no policy", op.Method, op.Path)) //nolint:forbidigo // caught by any test
	}
	api.operations = append(api.operations, op)
	maxBody := api.cfg.MaxBody
	if op.MaxBody > 0 {
		maxBody = op.MaxBody
	}
	documented := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: op.Description,
		Tags: []string{op.Tag}, DefaultStatus: op.Status, Hidden: op.Hidden, Deprecated: op.Deprecated != nil,
		MaxBodyBytes:    maxBody + 1, // the library refuses a body of exactly the limit
		BodyReadTimeout: bodyReadTimeout,
		Security:        security(op.Policy),
		Extensions:      op.extensions(),
	}
	documented.Middlewares = huma.Middlewares{api.admit(op)}
	if op.repeatable() {
		documented.Parameters = append(documented.Parameters, keyParameter())
		if api.replays != nil {
			documented.Middlewares = append(documented.Middlewares, api.replay(maxBody))
		}
	}
	documented.Responses = api.errorResponses(op, reflect.TypeFor[In]())
	huma.Register(api.huma, documented, func(ctx context.Context, in *In) (*Out, error) {
		out, err := handler(ctx, in)
		if err != nil {
			problem := httpx.NewProblem(ctx, err)
			api.errors.Report(ctx, problem)
			return nil, headed(problem)
		}
		return out, nil
	})
}

// extensions tell readers of the document who may call the operation, and with which tokens.
func (op Operation) extensions() map[string]any {
	said := map[string]any{"x-policy": string(op.Policy)}
	if op.Scope != access.NoScope {
		said["x-scope"] = string(op.Scope)
	}
	return said
}

// headed carries the error's own response headers through the library.
func headed(problem *httpx.Problem) error {
	headers := http.Header{}
	problem.Prepare(headers)
	if len(headers) == 0 {
		return problem
	}
	return huma.ErrorWithHeaders(problem, headers)
}

func security(policy access.Policy) []map[string][]string {
	switch policy {
	case access.Public:
		return []map[string][]string{}
	case access.SignedIn, access.SigningIn, access.Myself, access.Accounts, access.SuperAdmins:
		return []map[string][]string{{"bearer": {}}, {"cookie": {}}}
	case access.Callers, access.Operators:
		return []map[string][]string{{"bearer": {}}, {"cookie": {}}, {"apiKey": {}}}
	case access.ByRules:
		return []map[string][]string{{"bearer": {}}, {"cookie": {}}, {"apiKey": {}}, {}}
	case access.InternalOnly:
		return []map[string][]string{{"apiKey": {}}}
	default:
		return nil
	}
}

// admit checks what can be checked before the body is read: the caller, the content type, repeated parameters.
func (a *API) admit(op Operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		httpx.InfoFrom(r.Context()).Route = op.Path
		if op.Deprecated != nil {
			op.Deprecated.Set(w.Header())
		}
		err := op.admits(access.From(r.Context()))
		if err == nil {
			err = checkContent(r)
		}
		if err == nil && !op.Repeated {
			err = checkRepeated(r.URL.RawQuery)
		}
		if err != nil {
			a.errors.Write(w, r, err)
			return
		}
		next(ctx)
	}
}

// checkContent lets the route, not the header, choose the parser: a body is JSON or it is refused.
func checkContent(r *http.Request) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return errs.New(errs.InvalidRequest, "Send the body uncompressed.").WithStatus(http.StatusUnsupportedMediaType)
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return errs.New(errs.InvalidRequest, "Send the body as JSON with Content-Type: application/json.").
			WithStatus(http.StatusUnsupportedMediaType)
	}
	return nil
}

// checkRepeated refuses a parameter given twice, or as an array: two readers could each believe another one.
func checkRepeated(query string) error {
	if query == "" {
		return nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return errs.New(errs.InvalidParameter, "The query is not properly encoded.")
	}
	for name, given := range values {
		if len(given) > 1 || strings.ContainsAny(name, "[]") {
			return errs.Parameter(shorten(name), "give it once, as one value")
		}
	}
	return nil
}
