package fetch

import (
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"atelier/internal/dsul/expr/value"
)

const (
	maxHeaders     = 100
	maxHeaderBytes = 64 << 10
)

// readHeaders takes the headers of the instruction. Those that belong to the connection are left out, since it is not the
// automation's.
func (r *request) readHeaders(p *value.Object) error {
	headers, err := object(p.Get("headers"), "headers")
	if err != nil {
		return err
	}
	r.header = make(http.Header, headers.Len()+4)
	size := 0
	for name, v := range headers.All() {
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		texts, err := headerValues(name, v)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if size += len(name) + len(text); size > maxHeaderBytes || len(r.header) > maxHeaders {
				return invalid("Invalid fetch instruction: there are too many headers; at most 100 and 64 KiB are sent.")
			}
			r.header.Add(name, text)
		}
	}
	return r.cleanHeaders()
}

func headerValues(name string, v any) ([]string, error) {
	if !httpguts.ValidHeaderFieldName(name) {
		return nil, invalid("Invalid fetch instruction: %s is not the name of a header; use letters, digits and dashes.", strconv.Quote(name))
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var texts []string
	for _, item := range list {
		if !value.Exists(item) {
			continue
		}
		text, ok := scalar(item)
		if text = strings.TrimSpace(text); !ok || !httpguts.ValidHeaderFieldValue(text) {
			return nil, invalid("Invalid fetch instruction: the header %s holds line breaks or control characters.", name)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func (r *request) cleanHeaders() error {
	if host := r.header.Get("Host"); host != "" && !strings.EqualFold(host, r.url.Host) {
		return invalid("Invalid fetch instruction: the header host is not that of the url; leave it out.")
	}
	for _, name := range []string{
		"Host", "Connection", "Content-Length", "Expect", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		r.header.Del(name)
	}
	if encoding := r.header.Get("Accept-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		r.header.Del("Accept-Encoding") // the transport asks for what it can unfold
	}
	return nil
}
