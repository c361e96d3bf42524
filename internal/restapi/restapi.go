// Package restapi is how an endpoint is written: Go types in, Go types out, the specification's errors, and an OpenAPI
// document that cannot drift from the code. A service has one API; an operation is one Register call.
package restapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/sqldb"
)

// Config is what an API needs.
type Config struct {
	// Service is the name operators know, such as workspaces.
	Service string
	Log     *slog.Logger
	Clock   clock.Clock
	// DB keeps the idempotency records; nil when the API is only described, not served.
	DB *sqldb.DB
	// MaxBody is the largest JSON body.
	MaxBody int64
}

// API is the operations of one service.
type API struct {
	cfg        Config
	huma       huma.API
	mux        *http.ServeMux
	errors     httpx.Errors
	replays    *replays
	operations []Operation
}

// New returns an API without operations.
func New(cfg Config) *API {
	installRules()
	doc := huma.DefaultConfig("Atelier", "2")
	doc.CreateHooks, doc.Transformers = nil, nil
	doc.OpenAPIPath, doc.DocsPath, doc.SchemasPath = "", "", ""
	doc.Formats = map[string]huma.Format{"application/json": strictFormat(), "application/problem+json": strictFormat()}
	doc.DefaultFormat = "application/json"
	doc.Components.SecuritySchemes = securitySchemes()
	mux := http.NewServeMux()
	api := &API{cfg: cfg, mux: mux, errors: httpx.Errors{Log: cfg.Log}}
	if cfg.DB != nil {
		api.replays = &replays{db: cfg.DB, clock: cfg.Clock}
	}
	api.huma = jsonOnly{humago.New(mux, doc)}
	mux.HandleFunc("/", api.unrouted)
	return api
}

// jsonOnly answers in JSON whatever the client says it accepts. The library would choose by the Accept header, whose reading
// panics on some values, and label ordinary answers as problem details.
type jsonOnly struct{ huma.API }

// Negotiate implements huma.API.
func (jsonOnly) Negotiate(string) (string, error) { return "application/json", nil }

// Handler serves the operations.
func (a *API) Handler() http.Handler { return a.mux }

// Handle mounts a plain handler as an operation that the OpenAPI document leaves out: pages, files and protocols that
// describe themselves. Who may call it is checked as for any other; reading its input is left to the handler.
func (a *API) Handle(op Operation, handler http.Handler) {
	if !op.Policy.Known() || op.ID == "" {
		panic(fmt.Sprintf("restapi: %s %s has no id or no policy", op.Method, op.Path)) //nolint:forbidigo // caught by any test
	}
	op.Hidden = true
	a.operations = append(a.operations, op)
	a.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) {
		httpx.InfoFrom(r.Context()).Route = op.Path
		if err := op.admits(access.From(r.Context())); err != nil {
			a.errors.Write(w, r, err)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// admits tells whether the caller may call the operation at all, with the credential it sent.
func (op Operation) admits(p access.Principal) error {
	if err := op.Policy.Check(p); err != nil {
		return err
	}
	return access.CheckScope(op.Scope, p)
}

// Operations lists what was registered.
func (a *API) Operations() []Operation { return a.operations }

// Errors writes errors for handlers mounted with Handle.
func (a *API) Errors() httpx.Errors { return a.errors }

// NotFound answers that there is nothing at the address.
func (a *API) NotFound(w http.ResponseWriter, r *http.Request) {
	a.errors.Write(w, r, errs.New(errs.NotFound, "There is nothing at this address. The API is described at /docs."))
}

// unrouted answers what no operation matches: 405 with the methods that would, or 404.
func (a *API) unrouted(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		probe := r.Clone(r.Context())
		probe.Method = method
		if _, pattern := a.mux.Handler(probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		a.errors.Write(w, r, errs.Newf(errs.InvalidRequest, "This method is not allowed here; allowed: %s.", strings.Join(allowed, ", ")).
			WithStatus(http.StatusMethodNotAllowed))
		return
	}
	a.NotFound(w, r)
}

// Operation describes one endpoint.
type Operation struct {
	// ID names the operation for generated clients.
	ID string
	// Method and Path route it; the path has the form /v2/things/{thingId}.
	Method, Path string
	// Tag groups it in the documentation.
	Tag                  string
	Summary, Description string
	// Policy says who may call it; there is no default.
	Policy access.Policy
	// Scope is what a token must have been made for; empty when every token does.
	Scope access.Scope
	// Errors are the codes it returns besides those every operation can.
	Errors []errs.Code
	// Status is the success status; 200 when zero.
	Status int
	// MaxBody replaces the API's limit.
	MaxBody int64
	// Once marks an operation whose answer must never be kept for an Idempotency-Key, because it holds a secret or streams.
	Once bool
	// Repeated allows query parameters to be given several times.
	Repeated bool
	// Deprecated announces the operation's end.
	Deprecated *httpx.Deprecation
	// Takes and Gives are the forms of the request's and the answer's body when they are not JSON alone.
	Takes, Gives []Media
	// Query documents the query parameters of an operation that reads its input itself.
	Query []Param
	// Also documents statuses besides Status that answer with a body of their own instead of an error, by a value of its type.
	Also map[int]any
	// Hidden leaves it out of the document: it is for other services, not for clients.
	Hidden bool
}

// bodyReadTimeout bounds how long a client may take to send a body, or the next part of an upload.
const bodyReadTimeout = 30 * time.Second

var installOnce sync.Once //nolint:gochecknoglobals // guards the one assignment of the library's package variables

// installRules replaces the library's error constructors and makes it strict. These are package variables, so it happens
// before anything is registered.
func installRules() {
	installOnce.Do(func() {
		huma.NewError = func(status int, message string, causes ...error) huma.StatusError {
			return newProblem(nil, status, message, causes)
		}
		huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, causes ...error) huma.StatusError {
			return newProblem(ctx, status, message, causes)
		}
		huma.ValidateStrictCasing = true // a field has one spelling; its other cases are unknown fields
	})
}

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "The JWT of a session, or an access token (at:...)."},
		"cookie": {Type: "apiKey", In: "cookie", Name: "access-token", Description: "The JWT of a session in a browser. Writes also need the header x-svc-csrf-token, which GET /v2/me answers with."},
		"apiKey": {Type: "apiKey", In: "header", Name: "x-svc-api-key", Description: "An API key of a workspace; for operators, the internal key of the installation."},
	}
}
