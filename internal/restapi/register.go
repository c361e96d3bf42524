package restapi

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
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
	operation := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: op.Description,
		Tags: []string{op.Tag}, DefaultStatus: op.Status, Hidden: op.Hidden, Deprecated: op.Deprecated != nil,
		MaxBodyBytes:    maxBody + 1, // the library refuses a body of exactly the limit
		BodyReadTimeout: bodyReadTimeout,
		Security:        security(op.Policy),
		Extensions:      op.extensions(),
	}
	operation.Middlewares = huma.Middlewares{api.admit(op)}
	if op.repeatable() {
		operation.Parameters = append(operation.Parameters, keyParameter())
		if api.replays != nil {
			operation.Middlewares = append(operation.Middlewares, api.replay(maxBody))
		}
	}
	operation.Responses = api.errorResponses(op, reflect.TypeFor[In]())
	huma.Register(api.huma, operation, func(ctx context.Context, in *In) (*Out, error) {
		out, err := handler(ctx, in)
		if err != nil {
			problem := httpx.NewProblem(ctx, err)
			api.errors.Report(ctx, problem)
			return nil, headed(problem)
		}
		return out, nil
	})
	api.redocument(op)
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
		httpx.InfoFrom(r.Context()).Route = documented(op.Path)
		if op.Deprecated != nil {
			op.Deprecated.Set(w.Header())
		}
		err := op.admits(access.From(r.Context()))
		if err == nil {
			err = op.takes(r)
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

// takes lets the route, not the header, choose the parser: a body has a form that the operation takes, which is JSON unless
// it says otherwise, or it is refused.
func (op Operation) takes(r *http.Request) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return errs.New(errs.InvalidRequest, "Send the body uncompressed.").WithStatus(http.StatusUnsupportedMediaType)
	}
	if slices.ContainsFunc(op.Takes, func(m Media) bool { return m.Type == anything }) {
		return nil
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || !slices.Contains(op.forms(), kind) || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return errs.Newf(errs.InvalidRequest, "Send the body with Content-Type: %s.", strings.Join(op.forms(), " or ")).
			WithStatus(http.StatusUnsupportedMediaType)
	}
	return nil
}

// anything is the form of a body that the operation takes as it comes.
const anything = "*/*"

// forms lists the content types that the operation takes.
func (op Operation) forms() []string {
	if len(op.Takes) == 0 {
		return []string{"application/json"}
	}
	forms := make([]string, 0, len(op.Takes))
	for _, media := range op.Takes {
		forms = append(forms, media.Type)
	}
	return forms
}

// redocument writes the forms of bodies that the library does not know into the document.
func (a *API) redocument(op Operation) {
	item := a.huma.OpenAPI().Paths[op.Path]
	if item == nil { // hidden
		return
	}
	if path := documented(op.Path); path != op.Path {
		delete(a.huma.OpenAPI().Paths, op.Path)
		if known := a.huma.OpenAPI().Paths[path]; known != nil {
			_ = mergePath(a.huma.OpenAPI().Paths, path, item)
		} else {
			a.huma.OpenAPI().Paths[path] = item
		}
	}
	described := map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}[op.Method]
	described.Path = documented(op.Path)
	if len(op.Takes) > 0 {
		described.RequestBody = &huma.RequestBody{Required: true, Content: a.contents(op.Takes)}
	}
	if len(op.Gives) > 0 {
		described.Responses[strconv.Itoa(described.DefaultStatus)].Content = a.contents(op.Gives)
	}
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
