package httpx

import (
	"net/http"
	"net/url"
	"strings"
)

// CORS lets the pages of listed origins call the API. Everything else gets no permission, and the browser refuses.
type CORS struct {
	exact   map[string]bool
	domains []string
}

// NewCORS reads the allowed origins: scheme://host[:port], or .domain for all its sub-domains over HTTPS.
func NewCORS(origins []string) *CORS {
	c := &CORS{exact: make(map[string]bool, len(origins))}
	for _, origin := range origins {
		if strings.HasPrefix(origin, ".") {
			c.domains = append(c.domains, strings.ToLower(origin))
			continue
		}
		c.exact[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	return c
}

func (c *CORS) allowed(origin string) bool {
	if c.exact[strings.ToLower(origin)] {
		return true
	}
	if len(c.domains) == 0 {
		return false
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" || origin != "https://"+u.Host { // nothing but a scheme and a host
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range c.domains {
		if strings.HasSuffix(host, domain) && len(host) > len(domain) {
			return true
		}
	}
	return false
}

// allow gives the page of an allowed origin its permissions.
func (c *CORS) allow(h http.Header, r *http.Request) {
	AddVary(h, "Origin")
	origins := r.Header["Origin"]
	if len(origins) != 1 || !c.allowed(origins[0]) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origins[0])
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "X-Correlation-Id, X-Svc-Session-Id, X-Svc-Client-Id, X-Svc-Csrf-Token, "+
		"X-Svc-Api-Version-Used, X-Svc-Api-Deprecation, Deprecation, Sunset, ETag, Link, Location, Retry-After, X-Total-Count, "+
		"Idempotency-Replayed")
	if isPreflight(r) {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Svc-Api-Key, X-Svc-Csrf-Token, "+
			"X-Svc-Api-Version, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID")
		h.Set("Access-Control-Max-Age", "600")
	}
}

// isPreflight tells a browser's question whether it may call from a call. It has no other answer than the permissions.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}
