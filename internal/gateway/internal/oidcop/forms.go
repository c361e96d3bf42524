package oidcop

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/strictjson"
)

const (
	maxBody   = 64 << 10
	maxParams = 100
)

// readForm reads the form that was sent. Credentials and codes in an address end up in logs, so there may be none there.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if r.URL.RawQuery != "" {
		return nil, badRequest("Send the parameters in the body, not in the address.")
	}
	text, err := readBody(w, r, "application/x-www-form-urlencoded")
	if err != nil {
		return nil, err
	}
	return parseValues(string(text))
}

// readParams reads the parameters of a request that a browser makes: in the address, or in the body of a form.
func readParams(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if r.Method == http.MethodPost {
		return readForm(w, r)
	}
	return parseValues(r.URL.RawQuery)
}

// parseValues refuses a parameter given twice: two readers could each believe another one.
func parseValues(text string) (url.Values, error) {
	if strings.Count(text, "&") >= maxParams {
		return nil, badRequest("There are too many parameters.")
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, badRequest("The parameters are not properly encoded.")
	}
	for name, given := range values {
		if len(given) > 1 {
			return nil, badRequest("Give each parameter once.")
		}
		if given[0] == "" {
			delete(values, name) // a parameter without a value is treated as if it were not there
		}
	}
	return values, nil
}

// readJSON reads a JSON body with known fields only.
func readJSON(w http.ResponseWriter, r *http.Request, v any, known ...string) error {
	text, err := readBody(w, r, "application/json")
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := strictjson.Unmarshal(text, &fields); err != nil || fields == nil {
		return errs.New(errs.InvalidRequest, "Send one JSON object.")
	}
	if err := checkFields(fields, known); err != nil {
		return err
	}
	if err := strictjson.Unmarshal(text, v); err != nil {
		return errs.New(errs.ValidationFailed, "A field has the wrong type.")
	}
	return nil
}

// checkFields refuses fields nobody asked for, when there is a list of those that are known.
func checkFields(fields map[string]any, known []string) error {
	if len(known) == 0 {
		return nil
	}
	allowed := map[string]bool{}
	for _, name := range known {
		allowed[name] = true
	}
	for name := range fields {
		if !allowed[name] {
			return errs.Invalid(errs.Field{Field: name[:min(len(name), 100)], Message: "there is no such field; use " + strings.Join(known, ", ")})
		}
	}
	return nil
}

// readBody reads a body of one media type, to a limit.
func readBody(w http.ResponseWriter, r *http.Request, wanted string) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, errs.New(errs.InvalidRequest, "Send the body uncompressed.").WithStatus(http.StatusUnsupportedMediaType)
	}
	if mediaType(r) != wanted {
		return nil, errs.New(errs.InvalidRequest, "Send the body as "+wanted+".").WithStatus(http.StatusUnsupportedMediaType)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return nil, errs.New(errs.InvalidRequest, "The body is too long.").WithStatus(http.StatusRequestEntityTooLarge)
	}
	if err != nil {
		return nil, httpx.BodyError(err)
	}
	return text, nil
}

func mediaType(r *http.Request) string {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return kind
}

// hashOf is how secrets are stored and looked up: by the whole text, so that no part of one is worth anything.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
