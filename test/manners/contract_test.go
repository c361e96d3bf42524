package manners_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"atelier/internal/app/apptest"
	"atelier/internal/errs"
)

// contract is the served OpenAPI document.
type contract struct{ doc *openapi3.T }

func loadContract(t *testing.T, d *door) contract {
	t.Helper()
	served := d.anyone(t).Get("/openapi.json").Want(http.StatusOK)
	doc, err := openapi3.NewLoader().LoadFromData(served.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater(), openapi3.AllowExtraSiblingFields("patternDescription")); err != nil {
		t.Fatal(err)
	}
	return contract{doc}
}

// broken tells how an answer differs from the document: its status is listed, its content type and body are as described.
func (c contract) broken(method, path string, got *apptest.Response) error {
	item := c.doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return errors.New("it is not in the document")
	}
	operation := item.GetOperation(method)
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: &http.Request{Method: method, URL: &url.URL{Path: path}, Header: http.Header{}},
			Route:   &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: method, Operation: operation},
		},
		Status: got.Status, Header: got.Header, Body: io.NopCloser(bytes.NewReader(got.Body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
}

// The check itself finds answers that are not as described.
func contractIsChecked(t *testing.T, d *door) {
	t.Helper()
	c := loadContract(t, d)
	for name, change := range map[string]func(*apptest.Response){
		"a missing field":      func(r *apptest.Response) { r.Body = []byte(`{"status":"ok","name":"Atelier"}`) },
		"a wrong type":         func(r *apptest.Response) { r.Body = []byte(`{"status":"ok","name":"Atelier","version":1}`) },
		"a value not listed":   func(r *apptest.Response) { r.Body = []byte(`{"status":"so-so","name":"Atelier","version":"1"}`) },
		"a status not listed":  func(r *apptest.Response) { r.Status = http.StatusTeapot },
		"another content type": func(r *apptest.Response) { r.Header.Set("Content-Type", "text/plain") },
	} {
		got := d.anyone(t).Get("/").Want(http.StatusOK)
		change(got)
		if c.broken(http.MethodGet, "/", got) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// Every answer of a tour through the API is as the served document describes it; so are its errors.
func contractIsKept(t *testing.T, d *door) {
	t.Helper()
	c, admin := loadContract(t, d), d.admin(t)
	const list, one, events = "/v2/workspaces", "/v2/workspaces/{workspaceId}", "/v2/workspaces/{workspaceId}/events"
	created := admin.Post(list, map[string]any{"name": "Tour", "labels": []string{"aa"}}).Want(http.StatusCreated)
	mine := list + "/" + created.Text("id")
	for _, step := range []struct {
		method, path string
		status       int
		got          *apptest.Response
	}{
		{http.MethodGet, "/", 200, d.anyone(t).Get("/")},
		{http.MethodPost, "/v2/login", 200, d.anyone(t).Post("/v2/login", map[string]any{"email": apptest.AdminEmail, "password": apptest.AdminPassword})},
		{http.MethodPost, "/v2/login", 401, d.anyone(t).Post("/v2/login", map[string]any{"email": apptest.AdminEmail, "password": "wrong"})},
		{http.MethodPost, "/v2/login", 415, d.anyone(t).With("Content-Type", "text/plain").Post("/v2/login", "x")},
		{http.MethodPost, "/v2/login/anonymous", 200, d.anyone(t).Post("/v2/login/anonymous", nil)},
		{http.MethodGet, "/v2/me", 200, admin.Get("/v2/me")},
		{http.MethodGet, "/v2/me", 401, d.anyone(t).Get("/v2/me")},
		{http.MethodGet, "/oidc/jwks", 200, d.anyone(t).Get("/oidc/jwks")},
		{http.MethodGet, "/oidc/jwks", 401, d.anyone(t).With("X-Svc-Api-Key", "x").Get("/oidc/jwks")},
		{http.MethodGet, "/v2/readiness", 200, admin.Get("/v2/readiness")},
		{http.MethodGet, "/v2/readiness", 403, d.Visitor().Get("/v2/readiness")},
		{http.MethodPost, list, 201, created},
		{http.MethodPost, list, 409, admin.Post(list, map[string]any{"name": "Tour", "slug": created.Text("slug")})},
		{http.MethodPost, list, 422, admin.Post(list, `{}`)},
		{http.MethodPost, list, 400, admin.Post(list, `{`)},
		{http.MethodGet, list, 200, admin.Get(list + "?limit=1")},
		{http.MethodGet, list, 400, admin.Get(list + "?limit=0")},
		{http.MethodGet, one, 200, admin.Get(mine)},
		{http.MethodGet, one, 404, admin.Get(list + "/nothing")},
		{http.MethodGet, one, 403, d.Visitor().Get(mine)},
		{http.MethodPatch, one, 200, admin.Patch(mine, map[string]any{"description": "x"})},
		{http.MethodPatch, one, 412, admin.With("If-Match", `"0"`).Patch(mine, map[string]any{"description": "y"})},
		{http.MethodPost, events, 200, admin.Post(mine+"/events", `{"events":[{"type":"a","payload":{"b":[1,null]},"target":{"userTopic":"t"}}]}`)},
		{http.MethodPost, events, 403, admin.Post(mine+"/events", `{"events":[{"type":"workspaces.x","payload":1}]}`)},
		{http.MethodGet, events, 200, admin.Get(mine + "/events")},
		{http.MethodDelete, one, 200, admin.Delete(mine)},
		{http.MethodPost, "/v2/logout", 204, d.Visitor().Post("/v2/logout", nil)},
	} {
		step.got.Want(step.status)
		if err := c.broken(step.method, step.path, step.got); err != nil {
			t.Errorf("%s %s: %v\n%s", step.method, step.path, err, step.got.Body)
		}
	}
	everyOperationListsItsErrors(t, c.doc)
	answersMayGrow(t, c.doc)
}

// Every operation says which codes it answers with, each under the status that belongs to it, and leaves none out that
// anything may answer with.
func everyOperationListsItsErrors(t *testing.T, doc *openapi3.T) {
	t.Helper()
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			listed := map[errs.Code]bool{}
			for status, response := range operation.Responses.Map() {
				if status < "400" {
					continue
				}
				codes, _ := response.Value.Extensions["x-error-codes"].([]any)
				if len(codes) == 0 {
					t.Errorf("%s %s: %s lists no codes", method, path, status)
				}
				for _, code := range codes {
					name := errs.Code(code.(string))
					listed[name] = true
					if _, known := errs.Statuses()[name]; !known {
						t.Errorf("%s %s: %s is not a code", method, path, name)
					}
				}
			}
			wanted := []errs.Code{errs.InvalidRequest, errs.Internal, errs.Unavailable, errs.GatewayTimeout, errs.RateLimitExceeded, errs.InvalidToken}
			if slices.Contains([]string{"POST", "PUT", "PATCH"}, method) {
				wanted = append(wanted, errs.ValidationFailed, errs.PayloadTooLarge)
			}
			for _, code := range wanted {
				if !listed[code] {
					t.Errorf("%s %s does not list %s", method, path, code)
				}
			}
		}
	}
}

// A schema that only answers use allows further properties; one that a request uses does not.
func answersMayGrow(t *testing.T, doc *openapi3.T) {
	t.Helper()
	asked := map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			if operation.RequestBody == nil {
				continue
			}
			for _, form := range operation.RequestBody.Value.Content {
				namesIn(form.Schema, asked)
			}
		}
	}
	if !asked["WorkspaceDefinition"] || !asked["EmitEvent"] || asked["Workspace"] {
		t.Fatalf("requests use %v", asked)
	}
	for name, schema := range doc.Components.Schemas {
		further := schema.Value.AdditionalProperties.Has
		if closed := further != nil && !*further; closed != asked[name] {
			t.Errorf("schema %s: closed is %v, used by requests is %v", name, closed, asked[name])
		}
	}
}

// namesIn collects the named schemas that a schema is made of.
func namesIn(schema *openapi3.SchemaRef, names map[string]bool) {
	if schema == nil || names[path.Base(schema.Ref)] {
		return
	}
	if schema.Ref != "" {
		names[path.Base(schema.Ref)] = true
	}
	for _, property := range schema.Value.Properties {
		namesIn(property, names)
	}
	namesIn(schema.Value.Items, names)
	namesIn(schema.Value.AdditionalProperties.Schema, names)
}
