package restapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
)

const zip = "application/zip"

// upload is an operation that takes an archive of at most ten bytes and says how long it is.
func upload() restapi.Operation {
	op := operation(http.MethodPost, "/things/{thingId}/files/{path...}")
	op.ID, op.Tag, op.Summary, op.Scope = "uploadThing", "Things", "Upload a thing", access.WorkspacesWrite
	op.MaxBody, op.Status, op.Errors = 10, http.StatusCreated, []errs.Code{errs.Locked}
	op.Takes, op.Gives = []restapi.Media{{Type: zip}, {Type: "application/json", Of: Thing{}}}, []restapi.Media{{Type: "text/plain"}}
	op.Query = []restapi.Param{{Name: "dryRun", Doc: "Changes nothing.", Required: true}}
	return op
}

func measure(w http.ResponseWriter, r *http.Request) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the upload: %w", err)
	}
	w.WriteHeader(http.StatusCreated)
	_, err = fmt.Fprint(w, r.PathValue("thingId"), " ", r.PathValue("path"), " ", len(text))
	return err
}

func writer() access.Principal {
	return access.Principal{Kind: access.User, UserID: "alice", Scopes: access.Scopes()}
}

func sending(body string) call {
	return call{method: http.MethodPost, path: "/things/t/files/a/b", body: body, who: writer()}.with("Content-Type", zip)
}

// What a raw operation takes reaches its handler as it was sent, up to the limit to the byte.
func TestRawBodies(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	b.Raw(upload(), measure)
	for _, body := range []string{"", "x", strings.Repeat("x", 10)} {
		if got := b.serve(t, sending(body)); got.Code != http.StatusCreated || got.Body.String() != fmt.Sprint("t a/b ", len(body)) {
			t.Errorf("%d bytes: %d %s", len(body), got.Code, got.Body)
		}
	}
	for _, body := range []string{strings.Repeat("x", 11), strings.Repeat("x", 1<<20)} {
		if got := b.serve(t, sending(body)).want(t, http.StatusRequestEntityTooLarge, "payload_too_large"); !strings.Contains(got.Body.String(), `"limit":10`) {
			t.Errorf("%d bytes: %s", len(body), got.Body)
		}
	}
	if b.log.String() != "" {
		t.Errorf("logged: %s", b.log)
	}
}

// Nothing reaches the handler of a raw operation before it is known who calls, how often, and with what.
func TestRawIsAdmitted(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	b.Raw(upload(), func(http.ResponseWriter, *http.Request) error {
		t.Error("the handler was called")
		return nil
	})
	nobody, limited, twice := sending("x"), sending("x"), sending("x")
	nobody.who, nobody.anonymous = access.Principal{}, true
	limited.who = access.Principal{Kind: access.User, Credential: access.ByAccessToken, UserID: "alice"}
	twice.path += "?a=1&a=2"
	b.serve(t, nobody).want(t, http.StatusUnauthorized, "missing_token")
	b.serve(t, limited).want(t, http.StatusForbidden, "insufficient_scope")
	b.serve(t, twice).want(t, http.StatusBadRequest, "invalid_parameter")
	for _, kind := range []string{"text/plain", "application/zip2", "application/zip; charset=latin1", "nonsense/", ""} {
		wrong := sending("x")
		wrong.header.Set("Content-Type", kind)
		if kind == "" {
			wrong.header["Content-Type"] = []string{" "}
		}
		got := b.serve(t, wrong).want(t, http.StatusUnsupportedMediaType, "invalid_request")
		if !strings.Contains(got.Body.String(), "application/zip or application/json") {
			t.Errorf("%q: %s", kind, got.Body)
		}
	}
	b.serve(t, sending("x").with("Content-Encoding", "gzip")).want(t, http.StatusUnsupportedMediaType, "invalid_request")
}

// What a handler returns is answered as an error: its own code, or one that tells nothing of its cause.
func TestRawErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
		logged bool
	}{
		"its own":       {errs.New(errs.Locked, "Wait."), http.StatusLocked, "resource_locked", false},
		"wrapped":       {fmt.Errorf("upload: %w", errs.Missing("things", "t")), http.StatusNotFound, "resource_not_found", false},
		"a foreign one": {errors.New("the secret cause"), http.StatusInternalServerError, "internal_error", true},
		"a late body":   {fmt.Errorf("read: %w", os.ErrDeadlineExceeded), http.StatusRequestTimeout, "invalid_request", false},
		"half a body":   {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), http.StatusBadRequest, "invalid_request", false},
		"its own word on a late body": {
			errs.New(errs.Unavailable, "The store is slow.").Because(os.ErrDeadlineExceeded), http.StatusServiceUnavailable, "service_unavailable", true,
		},
	} {
		b := newBench(nil)
		b.Raw(upload(), func(http.ResponseWriter, *http.Request) error { return c.err })
		got := b.serve(t, sending("x")).want(t, c.status, c.code)
		if strings.Contains(got.Body.String(), "cause") || (b.log.String() != "") != c.logged {
			t.Errorf("%s: %s, logged %q", name, got.Body, b.log)
		}
	}
}

// The document describes a raw operation as it is: what the router matches over several segments is one parameter.
func TestRawIsDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	b.Raw(upload(), measure)
	doc, err := restapi.Document("1", "", b.API)
	if err != nil {
		t.Fatal(err)
	}
	item := doc.Paths["/things/{thingId}/files/{path}"]
	if item == nil || item.Post == nil {
		t.Fatalf("%v", doc.Paths)
	}
	post := item.Post
	var params []string
	for _, p := range post.Parameters {
		params = append(params, fmt.Sprint(p.In, " ", p.Name, " ", p.Required))
	}
	if got := strings.Join(params, ", "); got != "path thingId true, path path true, query dryRun true" {
		t.Errorf("parameters: %s", got)
	}
	if post.OperationID != "uploadThing" || post.Extensions["x-policy"] != string(access.SignedIn) || post.Extensions["x-scope"] != string(access.WorkspacesWrite) {
		t.Errorf("%+v", post)
	}
	content := post.RequestBody.Content
	if len(content) != 2 || content[zip].Schema.Format != "binary" || content["application/json"].Schema.Ref != "#/components/schemas/Thing" {
		t.Errorf("takes %+v", content)
	}
	for _, status := range []string{"201", "400", "401", "403", "413", "415", "423", "500"} {
		if post.Responses[status] == nil {
			t.Errorf("%s is missing", status)
		}
	}
	if gives := post.Responses["201"].Content["text/plain"]; gives == nil || gives.Schema.Format != "binary" || post.Responses["200"] != nil {
		t.Errorf("gives %+v", post.Responses["201"])
	}
}

// A raw operation without a policy or an id cannot be registered.
func TestRawNeedsPolicy(t *testing.T) {
	t.Parallel()
	for _, op := range []restapi.Operation{{ID: "x", Method: http.MethodGet, Path: "/x"}, {Method: http.MethodGet, Path: "/x", Policy: access.Public}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("registered: %+v", op)
				}
			}()
			newBench(nil).Raw(op, measure)
		}()
	}
}
