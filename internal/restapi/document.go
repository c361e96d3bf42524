package restapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// Error is the body of every error under /v2.
type Error struct {
	Error   string        `json:"error" doc:"The code; match on it." example:"resource_not_found"`
	Message string        `json:"message" doc:"What happened and what to do, for people; it may change."`
	Details *ErrorDetails `json:"details,omitempty" doc:"More about this error."`
}

// ErrorDetails is the open part of an error.
type ErrorDetails struct {
	_      struct{}     `json:"-" additionalProperties:"true"`
	Errors []errs.Field `json:"errors,omitempty" doc:"For invalid input: each wrong field."`
}

var errorType = reflect.TypeFor[Error]() //nolint:gochecknoglobals // a type, not state

// errorResponses documents, by status, every code the operation can return.
func (a *API) errorResponses(op Operation, in reflect.Type) map[string]*huma.Response {
	byStatus := make(map[int][]string)
	add := func(status int, code errs.Code) {
		if !slices.Contains(byStatus[status], string(code)) {
			byStatus[status] = append(byStatus[status], string(code))
		}
	}
	for _, code := range errorCodes(op) {
		add(errs.StatusOf(code), code)
	}
	if hasBody(op.Method) {
		add(http.StatusUnsupportedMediaType, errs.InvalidRequest)
		add(http.StatusRequestTimeout, errs.InvalidRequest)
	}
	if takesIfMatch(in) {
		add(http.StatusPreconditionFailed, errs.Conflict)
	}
	responses := make(map[string]*huma.Response, len(byStatus))
	for status, names := range byStatus {
		sort.Strings(names)
		responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status) + ": " + strings.Join(names, ", ") + ".",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: a.errorSchema(op, status)}},
			Extensions:  map[string]any{"x-error-codes": names},
		}
	}
	return responses
}

// errorCodes are the operation's own codes and those every operation like it has.
func errorCodes(op Operation) []errs.Code {
	codes := append(slices.Clone(op.Errors), errs.InvalidRequest, errs.InvalidParameter, errs.RateLimitExceeded,
		errs.Internal, errs.Database, errs.Unavailable, errs.GatewayTimeout)
	if op.Policy != access.Public {
		codes = append(codes, errs.MissingToken, errs.PermissionDenied)
	}
	if op.Scope != access.NoScope {
		codes = append(codes, errs.InsufficientScope)
	}
	codes = append(codes, errs.InvalidToken, errs.TokenExpired, errs.InvalidCredentials) // a bad credential is refused everywhere
	if hasBody(op.Method) {
		codes = append(codes, errs.ValidationFailed, errs.PayloadTooLarge)
		if !op.Once && op.Method != http.MethodPut {
			codes = append(codes, errs.Conflict)
		}
	}
	return codes
}

func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func takesIfMatch(in reflect.Type) bool {
	for _, field := range reflect.VisibleFields(in) {
		if field.Tag.Get("header") == "If-Match" {
			return true
		}
	}
	return false
}

// errorSchema is that of errors, or of the body that the operation has for the status as well.
func (a *API) errorSchema(op Operation, status int) *huma.Schema {
	registry := a.huma.OpenAPI().Components.Schemas
	schema := registry.Schema(errorType, true, "Error")
	if other, ok := op.Also[status]; ok {
		return &huma.Schema{AnyOf: []*huma.Schema{registry.Schema(reflect.TypeOf(other), true, ""), schema}}
	}
	return schema
}

// Document merges the APIs into one OpenAPI document.
func Document(version, serverURL string, apis ...*API) (*huma.OpenAPI, error) {
	merged := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Atelier", Version: version,
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			Description: "The API of an Atelier installation. Paths under /v2 are stable. The same operations under /v3 are beta: " +
				"they may change without notice, and their errors are nested. Every response carries x-correlation-id. " +
				"Ask for problem details with Accept: application/problem+json.",
		},
		Paths:      map[string]*huma.PathItem{},
		Components: &huma.Components{SecuritySchemes: securitySchemes(), Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)},
	}
	if serverURL != "" {
		merged.Servers = []*huma.Server{{URL: serverURL}}
	}
	for _, api := range apis {
		doc := api.huma.OpenAPI()
		for path, item := range doc.Paths {
			if err := mergePath(merged.Paths, path, item); err != nil {
				return nil, err
			}
		}
		for name, schema := range doc.Components.Schemas.Map() {
			known, ok := merged.Components.Schemas.Map()[name]
			if ok && !reflect.DeepEqual(known.Properties, schema.Properties) && !sameSchema(known, schema) {
				return nil, fmt.Errorf("two services describe %s differently", name)
			}
			merged.Components.Schemas.Map()[name] = schema
		}
		merged.Tags = append(merged.Tags, doc.Tags...)
	}
	openResponses(merged)
	return merged, nil
}

func sameSchema(a, b *huma.Schema) bool {
	left, err1 := a.MarshalJSON()
	right, err2 := b.MarshalJSON()
	return err1 == nil && err2 == nil && string(left) == string(right)
}

// mergePath joins the methods that different services serve on one path.
func mergePath(paths map[string]*huma.PathItem, path string, item *huma.PathItem) error {
	path = strings.TrimSuffix(path, "{$}") // the router's way to say exactly this path
	have, ok := paths[path]
	if !ok {
		paths[path] = item
		return nil
	}
	for _, method := range []struct{ into, from **huma.Operation }{
		{&have.Get, &item.Get}, {&have.Post, &item.Post}, {&have.Put, &item.Put}, {&have.Patch, &item.Patch}, {&have.Delete, &item.Delete},
	} {
		if *method.from == nil {
			continue
		}
		if *method.into != nil {
			return fmt.Errorf("two services serve the same method of %s", path)
		}
		*method.into = *method.from
	}
	return nil
}
