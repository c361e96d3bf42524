package fetch

import (
	"bytes"
	"encoding/base64"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"

	"atelier/internal/dsul/expr/value"
)

const (
	maxParts = 100
	// looked is how much of a text is looked at to tell whether it is base64.
	looked = 1024
)

// multipart makes the body of a form with files.
func (r *request) multipart(v any) error {
	if r.method == http.MethodGet || r.method == http.MethodHead {
		return nil
	}
	parts, ok := v.([]any)
	if !ok || len(parts) > maxParts {
		return invalid("Invalid fetch instruction: multipart is a list of at most %d parts with fieldname and value.", maxParts)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, one := range parts {
		part, ok := one.(*value.Object)
		if !ok {
			return invalid("Invalid fetch instruction: each part of multipart is an object with fieldname and value.")
		}
		if err := writePart(form, part); err != nil {
			return err
		}
		if body.Len() > maxRequest {
			return tooLarge()
		}
	}
	if err := form.Close(); err != nil {
		return err
	}
	r.header.Set("Content-Type", form.FormDataContentType())
	r.body = body.Bytes()
	return nil
}

func writePart(form *multipart.Writer, part *value.Object) error {
	field, named := part.Get("fieldname").(string)
	if !named || field == "" {
		return invalid("Invalid fetch instruction: a part of multipart has no fieldname.")
	}
	filename, _ := part.Get("filename").(string)
	kind, _ := part.Get("contentType").(string)
	if !httpguts.ValidHeaderFieldValue(kind) {
		return invalid("Invalid fetch instruction: the contentType of a part of multipart holds line breaks or control characters.")
	}
	content, binary, err := partContent(part.Get("value"), filename != "" || kind != "")
	if err != nil {
		return err
	}
	header := textproto.MIMEHeader{}
	disposition := `form-data; name="` + quoted(field) + `"`
	if filename != "" {
		disposition += `; filename="` + quoted(filename) + `"`
	}
	header.Set("Content-Disposition", disposition)
	if kind == "" && (binary || filename != "") {
		kind = "application/octet-stream"
	}
	if kind != "" {
		header.Set("Content-Type", kind)
	}
	w, err := form.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// quoted writes a name as browsers do, so that it cannot end the line that it stands in.
func quoted(name string) string {
	return strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace(name)
}

// partContent gives the bytes of a part: a list is bytes, a text of a file that looks like base64 is decoded. Texts of plain
// fields are sent as they are, since many words look like base64.
func partContent(v any, file bool) (content []byte, binary bool, err error) {
	switch v := v.(type) {
	case nil, value.Undefined:
		return nil, false, nil
	case []any:
		content, err = bytesOf(v)
		return content, true, err
	case string:
		if file && looksEncoded(v) {
			if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
				return decoded, true, nil
			}
		}
		return []byte(v), false, nil
	case *value.Object:
		text, ok := value.JSON(v, "", maxRequest)
		if !ok {
			return nil, false, tooLarge()
		}
		return []byte(text), false, nil
	default:
		return []byte(value.String(v)), false, nil
	}
}

func bytesOf(list []any) ([]byte, error) {
	if len(list) > maxRequest {
		return nil, tooLarge()
	}
	out := make([]byte, len(list))
	for i, item := range list {
		n, ok := item.(float64)
		if !ok || n < 0 || n > 255 || n != float64(byte(n)) {
			return nil, invalid("Invalid fetch instruction: a list in multipart holds bytes: numbers from 0 to 255.")
		}
		out[i] = byte(n)
	}
	return out, nil
}

// looksEncoded tells whether the beginning of a text is base64 with its padding.
func looksEncoded(text string) bool {
	if text == "" || text == "true" || text == "false" {
		return false
	}
	_, err := base64.StdEncoding.Strict().DecodeString(text[:min(len(text), looked)])
	return err == nil && !strings.ContainsAny(text[:min(len(text), looked)], "\r\n")
}
