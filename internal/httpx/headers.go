package httpx

import (
	"net/http"
	"slices"
	"strings"
)

// internalPrefix starts the names of headers that only the gateway may set.
const internalPrefix = "X-Svc-"

// StripInternal removes the headers with which a client could pass for the gateway: every x-svc-* header but the API key
// and the CSRF token, and every name with an underscore, which some servers read as a dash. The version date has been
// read before.
func StripInternal(h http.Header) {
	for name := range h {
		if strings.Contains(name, "_") {
			delete(h, name)
			continue
		}
		if len(name) < len(internalPrefix) || !strings.EqualFold(name[:len(internalPrefix)], internalPrefix) {
			continue
		}
		switch http.CanonicalHeaderKey(name) {
		case "X-Svc-Api-Key", "X-Svc-Csrf-Token":
		default:
			delete(h, name)
		}
	}
}

// AddVary names request headers that the answer depends on, beside those already named. There is one Vary header.
func AddVary(h http.Header, names ...string) {
	if len(h["Vary"]) == 0 && len(names) == 1 {
		h["Vary"] = names
		return
	}
	if known := h["Vary"]; len(known) == 1 && len(names) == 1 && plainName(known[0]) && plainName(names[0]) && !strings.EqualFold(known[0], names[0]) {
		h["Vary"] = []string{known[0] + ", " + names[0]} // as on every response of the gateway
		return
	}
	var all []string
	for _, value := range append(h.Values("Vary"), names...) {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			if name != "" && !slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(known, name) }) {
				all = append(all, name)
			}
		}
	}
	h.Set("Vary", strings.Join(all, ", "))
}

// plainName tells that a value of Vary is one name and nothing else.
func plainName(value string) bool { return value != "" && !strings.ContainsAny(value, ", \t") }

// secure sets the headers every response has; pages for people add theirs. The value slices are shared: nothing may append
// to them. Every header costs time on every response, so there is none that JSON has no use for.
func (f *Front) secure(h http.Header) {
	h["X-Content-Type-Options"] = f.fixed.nosniff
	h["Content-Security-Policy"] = f.fixed.csp
	h["Cache-Control"] = f.fixed.noStore
	if f.fixed.hsts != nil {
		h["Strict-Transport-Security"] = f.fixed.hsts
	}
}

type fixedHeaders struct {
	nosniff, csp, noStore, hsts []string
}

func newFixedHeaders(https bool) fixedHeaders {
	fixed := fixedHeaders{
		nosniff: []string{"nosniff"},
		csp:     []string{"default-src 'none'; frame-ancestors 'none'"},
		noStore: []string{"no-store"},
	}
	if https {
		fixed.hsts = []string{"max-age=31536000; includeSubDomains"}
	}
	return fixed
}
