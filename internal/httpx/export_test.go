package httpx

import (
	"net/http"
	"net/url"
)

// Resolve lets tests ask for the behaviour of a date.
func Resolve(v *Versions, asked string) (Date, error) { return v.resolve(asked) }

// CheckTarget lets tests check an address as it stands in a request line.
func CheckTarget(uri string) (*url.URL, error) {
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, err
	}
	return u, checkTarget(&http.Request{Method: http.MethodGet, RequestURI: uri, URL: u, Header: http.Header{}})
}

// Guard lets tests feed a head guard.
type Guard struct{ guard headGuard }

// Scan feeds the next bytes and tells how many are acceptable.
func (g *Guard) Scan(b []byte) int { return g.guard.scan(b) }
