package webhook

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/httpx"
)

// control is what $http is set to, checked.
type control struct {
	// headers are by their canonical names; one without values is taken back.
	headers http.Header
	status  int
	chunk   []byte
	beat    *time.Duration
}

// read checks what $http is set to, before anything of it is done. Keys that mean nothing are left alone.
func (s *Stream) read(given *value.Object) (c control, err error) {
	if c.headers, err = s.readHeaders(given.Get("headers")); err != nil {
		return c, err
	}
	if v := given.Get("status"); value.Exists(v) {
		status := value.Number(v)
		if status != math.Trunc(status) || status < http.StatusOK || status > 599 { // also what is no number
			return c, refuse("status", "must be a number from 200 to 599")
		}
		c.status = int(status)
	}
	if v := given.Get("chunk"); value.Exists(v) {
		text, short := value.JSON(v, "", maxChunk)
		if !short {
			return c, refuse("chunk", fmt.Sprintf("must have at most %d bytes of JSON", maxChunk))
		}
		c.chunk = []byte(text)
	}
	if v := given.Get("sseKeepAlive"); value.Exists(v) {
		const longest = float64(time.Hour / time.Millisecond)
		millis := value.Number(v)
		if v == false {
			millis = 0
		}
		if _, yes := v.(bool); yes && v != false || math.IsNaN(millis) || millis > longest {
			return c, refuse("sseKeepAlive", "must be a number of milliseconds, an hour at most")
		}
		every := time.Duration(max(millis, 0) * float64(time.Millisecond))
		c.beat = &every
	}
	return c, nil
}

func refuse(key, message string) error {
	return machine.Fail(machine.InvalidInstruction, "$http."+key+" "+message)
}

const (
	maxHeaders     = 50
	maxHeaderBytes = 16 << 10
)

func (s *Stream) readHeaders(given any) (http.Header, error) {
	if !value.Exists(given) {
		return http.Header{}, nil
	}
	object, ok := given.(*value.Object)
	if !ok {
		return nil, refuse("headers", "must be an object")
	}
	if object.Len() > maxHeaders {
		return nil, refuse("headers", fmt.Sprintf("must have at most %d names", maxHeaders))
	}
	headers, size := http.Header{}, 0
	for name, v := range object.All() {
		values, err := s.readHeader(name, v)
		if err != nil {
			return nil, err
		}
		for _, text := range values {
			size += len(name) + len(text)
		}
		if size > maxHeaderBytes {
			return nil, refuse("headers", fmt.Sprintf("must have at most %d bytes", maxHeaderBytes))
		}
		if !ofConnection(name) {
			headers[http.CanonicalHeaderKey(name)] = values
		}
	}
	return headers, nil
}

// readHeader checks one header; null takes it back.
func (s *Stream) readHeader(name string, v any) ([]string, error) {
	shown := shortened(valid(name))
	if !httpguts.ValidHeaderFieldName(name) {
		return nil, refuse("headers", fmt.Sprintf("has a name that no header can have: %q", shown))
	}
	if platformOwn(name) {
		return nil, refuse("headers."+shown, "is set by the platform, not by automations")
	}
	if !value.Exists(v) {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	values := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := headerText(item)
		if !ok || !httpguts.ValidHeaderFieldValue(text) {
			return nil, refuse("headers."+shown, "must be a text of one line")
		}
		if strings.EqualFold(name, "Set-Cookie") {
			var err error
			if text, err = s.cookie(text); err != nil {
				return nil, err
			}
		}
		values = append(values, text)
	}
	return values, nil
}

func headerText(v any) (string, bool) {
	switch v.(type) {
	case string, float64, bool:
		return value.String(v), true
	default:
		return "", false
	}
}

// cookie checks a cookie, and writes it anew: the browser must read of it what was checked.
func (s *Stream) cookie(text string) (string, error) {
	cookie, err := http.ParseSetCookie(text)
	if err != nil || cookie.String() == "" {
		return "", refuse("headers.set-cookie", "is no cookie, such as name=value; Path=/; HttpOnly")
	}
	bare := strings.ToLower(cookie.Name)
	for _, prefix := range []string{"__host-", "__secure-", "__http-", "__host-http-"} {
		bare = strings.TrimPrefix(bare, prefix)
	}
	if slices.ContainsFunc(s.options.Cookies, func(own string) bool { return strings.EqualFold(own, bare) }) {
		return "", refuse("headers.set-cookie", fmt.Sprintf("must not be named %s, as a cookie of the platform is", shortened(cookie.Name)))
	}
	return cookie.String(), nil
}

// ofConnection tells that a header is about the connection, which the server keeps. Automations often set them; that does nothing.
func ofConnection(name string) bool {
	switch strings.ToLower(name) {
	case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "date", "server":
		return true
	default:
		return false
	}
}

// platformOwn tells that a header protects the platform and its users from what an automation answers.
func platformOwn(name string) bool {
	lower := strings.ToLower(name)
	switch lower {
	case "content-security-policy", "content-security-policy-report-only", "x-content-type-options", "x-frame-options", "strict-transport-security",
		"clear-site-data", "service-worker-allowed", "x-correlation-id", "access-control-allow-credentials", "cross-origin-opener-policy",
		"cross-origin-embedder-policy", "cross-origin-resource-policy", "content-encoding", "alt-svc", "public-key-pins":
		return true
	default:
		return strings.HasPrefix(lower, "x-svc-")
	}
}

// put adds the headers of an automation to those that the platform has set. Where both speak of caches, both are heard; who may read
// the response from another page is the platform's to say, if it says so.
func put(h, set http.Header) {
	for name, values := range set {
		switch {
		case name == "Vary":
			httpx.AddVary(h, values...)
		case strings.HasPrefix(name, "Access-Control-") && h[name] != nil:
		default:
			h[name] = values
		}
	}
}
