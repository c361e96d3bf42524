package fetch

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// What outputMode may say.
const (
	modeBody     = "body"
	modeDetailed = "detailed_response"
	modeDataURL  = "data_url"
	modeBase64   = "base64"
)

// request is what an instruction asks for, read and checked.
type request struct {
	method     string
	url        *url.URL
	header     http.Header
	body       []byte // nil when there is none
	mode       string
	emitErrors bool
	// anyCertificate accepts certificates that no authority signed.
	anyCertificate bool
	// platform tells that the platform itself is asked.
	platform bool
	// journey are the headers that say where the request comes from. They stay on every redirect.
	journey http.Header
	// authorize adds what is valid for a short time only, before each attempt. It may be nil.
	authorize func(*http.Request) error
	stream    *streaming // nil when the instruction does not speak of streams
	// workspaceID is the workspace that asks.
	workspaceID string
	// shown is the request as events show it, with references instead of secrets.
	shown *value.Object
}

func invalid(format string, values ...any) *machine.Failure {
	return machine.Fail(machine.InvalidInstruction, fmt.Sprintf(format, values...))
}

// read checks the parameters that say what is sent. Secrets are in them already.
func read(parameters *value.Object) (*request, error) {
	r := &request{mode: modeBody, emitErrors: true}
	for _, step := range []func(*value.Object) error{r.readMethod, r.readURL, r.readHeaders, r.readContent, r.readAnswer} {
		if err := step(parameters); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *request) readMethod(p *value.Object) error {
	r.method = http.MethodGet
	method := p.Get("method")
	if !value.Exists(method) || method == "" {
		return nil
	}
	text, ok := method.(string)
	text = strings.ToUpper(strings.TrimSpace(text))
	switch text {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
		"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH", "QUERY", "PURGE", "LINK", "UNLINK":
		r.method = text
		return nil
	}
	if !ok {
		return invalid("Invalid fetch instruction: method is not a text; write GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS.")
	}
	return invalid("Invalid fetch instruction: the method is not supported; use GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS.")
}

func (r *request) readURL(p *value.Object) error {
	text, ok := p.Get("url").(string)
	if text = strings.TrimSpace(text); !ok || text == "" {
		return invalid("Invalid fetch instruction: url is empty; write it like https://example.com/path.")
	}
	parsed, err := parseURL(text)
	if err != nil {
		return err
	}
	more, err := encodeQuery(p.Get("query"), "query")
	if err != nil {
		return err
	}
	if more != "" && parsed.RawQuery != "" {
		more = "&" + more
	}
	parsed.RawQuery += more
	r.url = parsed
	return nil
}

// readAnswer reads what the parameters say of the answer.
func (r *request) readAnswer(p *value.Object) (err error) {
	if mode := p.Get("outputMode"); value.Exists(mode) && mode != "" {
		switch mode {
		case modeBody, modeDetailed, modeDataURL, modeBase64:
			r.mode = value.String(mode)
		default:
			return invalid("Invalid fetch instruction: outputMode is one of body, detailed_response, data_url and base64.")
		}
	}
	if emit := p.Get("emitErrors"); value.Exists(emit) {
		r.emitErrors = on(emit)
	}
	r.anyCertificate = on(p.Get("allowSelfSignedCert"))
	r.stream, err = readStreaming(p.Get("stream"))
	return err
}

// on reads a switch: a template may write it as a text.
func on(v any) bool { return value.Truthy(v) && v != "false" }

// object gives the object of a parameter, an empty one when there is none.
func object(v any, name string) (*value.Object, error) {
	switch v := v.(type) {
	case *value.Object:
		return v, nil
	case nil, value.Undefined:
		return value.NewObject(0), nil
	case string:
		if v == "" {
			return value.NewObject(0), nil
		}
	}
	return nil, invalid("Invalid fetch instruction: %s is not an object of names and values.", name)
}
