// Package webhook is the HTTP side of endpoints: it makes the payload of an automation from a request, and the response from what
// the automation sets $http to and gives back.
package webhook

import (
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// Limits bound what a request may bring.
type Limits struct {
	// File is how many bytes a file may have, or a body that is no form; Field a field of a form; Total a form in all.
	File, Field, Total int64
	// Parts is how many parts a form may have, and Pairs how many parameters a query or an encoded form.
	Parts, Pairs int
}

// NewLimits are the limits of endpoints whose files have at most so many bytes.
func NewLimits(file int64) Limits {
	const (
		field = 1 << 20
		parts = 50
		pairs = 10_000
		files = 5 // of the largest size at once
	)
	return Limits{File: file, Field: field, Total: files*file + field, Parts: parts, Pairs: pairs}
}

// TestLimits are those of the route that tests automations.
func TestLimits() Limits {
	return Limits{File: 500_000, Field: 1 << 10, Total: 1 << 20, Parts: 50, Pairs: 1000}
}

// InvalidRequest is the name of the failure of a request that cannot be read.
const InvalidRequest = "InvalidRequestError"

// Read makes the payload of an endpoint: {body, headers, method, query, pathParams}.
func Read(r *http.Request, limits Limits, pathParams map[string]string) (*value.Object, error) {
	query, err := limits.pairs(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	body, err := limits.body(r)
	if err != nil {
		return nil, err
	}
	params := value.NewObject(len(pathParams))
	if len(pathParams) > 0 {
		for _, name := range slices.Sorted(maps.Keys(pathParams)) {
			params.Set(name, pathParams[name])
		}
	}
	const keys = 5 + 3 // with those that the caller adds
	payload := value.NewObject(keys)
	payload.Set("body", body)
	payload.Set("headers", headersOf(r.Header))
	payload.Set("method", strings.ToUpper(r.Method))
	payload.Set("query", query)
	payload.Set("pathParams", params)
	return payload, nil
}

// headersOf gives the headers that an automation may see: not the cookies, which are the platform's, nor what the gateway adds.
func headersOf(h http.Header) *value.Object {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	headers := value.NewObject(len(h))
	for _, name := range names {
		lower := lowered(name)
		if lower == "cookie" || lower == "host" || strings.HasPrefix(lower, "x-svc-") {
			continue
		}
		headers.Set(lower, valid(strings.Join(h[name], ", ")))
	}
	return headers
}

// lowered is the name of a header as automations know it. Those that come with nearly every request are not made anew.
func lowered(name string) string {
	switch name {
	case "Content-Type":
		return "content-type"
	case "Content-Length":
		return "content-length"
	case "User-Agent":
		return "user-agent"
	case "Accept":
		return "accept"
	case "Accept-Encoding":
		return "accept-encoding"
	case "Authorization":
		return "authorization"
	case "X-Correlation-Id":
		return "x-correlation-id"
	default:
		return strings.ToLower(name)
	}
}

// valid is a text as values hold it: what is no text is replaced by the mark for it.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// body reads a body by its type. Without one it is an empty object.
func (l Limits) body(r *http.Request) (any, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return value.NewObject(0), nil
	}
	kind, params := contentType(r.Header)
	if kind == "multipart/form-data" {
		return l.form(r.Body, params["boundary"])
	}
	data, err := readAll(r.Body, l.File)
	if err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	switch {
	case text == "":
		return value.NewObject(0), nil
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return parseJSON(text)
	case kind == "application/x-www-form-urlencoded":
		return l.pairs(text)
	case kind == "" && (text[0] == '{' || text[0] == '['): // many senders do not say what they send
		if parsed, err := value.Decode(text); err == nil {
			return parsed, nil
		}
	}
	if strings.HasPrefix(kind, "text/") || utf8.Valid(data) {
		return valid(text), nil
	}
	return machine.Payload("mimetype", kind, "size", float64(len(data)), "base64", base64.StdEncoding.EncodeToString(data)), nil
}

// contentType is the type of a body, and its parameters.
func contentType(h http.Header) (kind string, params map[string]string) {
	text := h.Get("Content-Type")
	if text == "application/json" { // as most say
		return text, nil
	}
	kind, params, err := mime.ParseMediaType(text)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(text), ";")
	}
	return kind, params
}

func parseJSON(text string) (any, error) {
	parsed, err := value.Decode(text)
	if err != nil {
		return nil, machine.Fail(InvalidRequest, "The body is not valid JSON.").Because(err)
	}
	return parsed, nil
}

// readAll reads a body that may have so many bytes.
func readAll(body io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge("The body is too large.", limit)
	}
	return data, nil
}

// tooLarge refuses an upload for its size.
func tooLarge(message string, limit int64) *machine.Failure {
	return machine.Fail(machine.InvalidUpload, message).With(machine.Payload("limit", float64(limit)))
}

// unreadable is why a body could not be read to its end.
func unreadable(err error) *machine.Failure {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge("The body is too large.", large.Limit).Because(err)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return machine.Fail(InvalidRequest, "The body did not arrive in time.").Because(err)
	}
	return machine.Fail(InvalidRequest, "The body could not be read to its end; it is cut off, or not what the content type says.").Because(err)
}
