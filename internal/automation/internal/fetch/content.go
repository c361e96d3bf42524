package fetch

import (
	"mime"
	"net/http"

	"atelier/internal/dsul/expr/value"
)

// maxRequest is how many bytes a request may have.
const maxRequest = 32 << 20

// readContent makes the body: that of a form with files, or what body says, in the way the content type says.
func (r *request) readContent(p *value.Object) error {
	if parts := p.Get("multipart"); value.Exists(parts) {
		return r.multipart(parts)
	}
	body := p.Get("body")
	if r.method == http.MethodGet || r.method == http.MethodHead || !value.Exists(body) {
		return nil
	}
	if r.header.Get("Content-Type") == "" {
		r.header.Set("Content-Type", "application/json")
	}
	text, err := r.encode(body)
	if err != nil {
		return err
	}
	if len(text) > maxRequest {
		return tooLarge()
	}
	r.body = []byte(text)
	return nil
}

func (r *request) encode(body any) (string, error) {
	if text, ok := body.(string); ok {
		return text, nil
	}
	kind, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	if form, ok := body.(*value.Object); ok && kind == "application/x-www-form-urlencoded" {
		return encodeQuery(form, "body")
	}
	text, ok := value.JSON(body, "", maxRequest)
	if !ok {
		return "", tooLarge()
	}
	return text, nil
}

func tooLarge() error {
	return invalid("Invalid fetch instruction: the request is too large; at most %d MB are sent.", maxRequest>>20)
}
