package restapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// Media is one form of a body: its content type, and a value of the Go type that describes it. Without one it is bytes.
type Media struct {
	Type string
	Of   any
}

// Param is a query parameter of an operation that reads its input itself.
type Param struct {
	Name, Doc string
	Required  bool
}

// Raw adds an operation that reads or writes something else than JSON, such as an upload or a download: it is admitted,
// limited and documented like any other, and streams as it likes. What it returns before it has written anything is
// answered as an error.
func (a *API) Raw(op Operation, handler func(w http.ResponseWriter, r *http.Request) error) {
	if !op.Policy.Known() || op.ID == "" {
		panic(fmt.Sprintf("restapi: %s %s has no id or no policy", op.Method, op.Path)) //nolint:forbidigo // caught by any test
	}
	op.Once = true // nothing that streams is kept
	a.operations = append(a.operations, op)
	a.huma.OpenAPI().AddOperation(a.documentRaw(op))
	route := documented(op.Path)
	a.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) {
		httpx.InfoFrom(r.Context()).Route = route
		err := op.admits(access.From(r.Context()))
		if err == nil && !op.Repeated {
			err = checkRepeated(r.URL.RawQuery)
		}
		if err == nil && hasBody(op.Method) {
			err = op.takes(r)
		}
		if err == nil {
			limit(w, r, op.MaxBody)
			err = bodyRefusal(handler(w, r))
		}
		if err != nil {
			a.errors.Write(w, r, err)
		}
	})
}

// limit bounds the size of the body, and how long it may stall: a large one may take longer than others.
func limit(w http.ResponseWriter, r *http.Request, most int64) {
	if !hasBody(r.Method) {
		return
	}
	httpx.Patient(w, r, bodyReadTimeout)
	if most > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, most)
	}
}

// bodyRefusal is what to answer when a handler gives the error of reading the body as it is.
func bodyRefusal(err error) error {
	if _, said := errors.AsType[*errs.Error](err); said || err == nil {
		return err
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errs.New(errs.PayloadTooLarge, "The body is too large.").With("limit", tooLarge.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) {
		return httpx.BodyError(err)
	}
	return err
}

func (a *API) documentRaw(op Operation) *huma.Operation {
	status := op.Status
	if status == 0 {
		status = http.StatusOK
	}
	doc := &huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: documented(op.Path), Summary: op.Summary, Description: op.Description,
		Tags: []string{op.Tag}, Security: security(op.Policy), Extensions: op.extensions(),
		Responses: a.errorResponses(op, reflect.TypeFor[struct{}]()),
	}
	for _, name := range pathParams(op.Path) {
		doc.Parameters = append(doc.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, p := range op.Query {
		doc.Parameters = append(doc.Parameters, &huma.Param{Name: p.Name, In: "query", Required: p.Required, Description: p.Doc, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if len(op.Takes) > 0 {
		doc.RequestBody = &huma.RequestBody{Required: true, Content: a.contents(op.Takes)}
	}
	doc.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: a.contents(op.Gives)}
	return doc
}

// contents describes the forms of a body.
func (a *API) contents(media []Media) map[string]*huma.MediaType {
	all := make(map[string]*huma.MediaType, len(media))
	for _, m := range media {
		schema := &huma.Schema{Type: huma.TypeString, Format: "binary"}
		if m.Of != nil {
			schema = a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(m.Of), true, "")
		}
		all[m.Type] = &huma.MediaType{Schema: schema}
	}
	return all
}

var wildcard = regexp.MustCompile(`\{([A-Za-z]+)(?:\.\.\.)?\}`) //nolint:gochecknoglobals // compiled once, never changed

// documented is a path as the document writes it: what the router matches over several segments is one parameter.
func documented(path string) string { return strings.ReplaceAll(path, "...}", "}") }

func pathParams(path string) (names []string) {
	for _, match := range wildcard.FindAllStringSubmatch(path, -1) {
		names = append(names, match[1])
	}
	return names
}
