package gateway

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// csrf proves that a write with a cookie was sent by a page that may read our answers: the token of the session, which
// only GET /v2/me and pages tell, and the browser's own word on where the request comes from.
type csrf struct {
	key     []byte
	origins *http.CrossOriginProtection
}

const headerCSRF = "X-Svc-Csrf-Token"

// newCSRF derives the key from the internal key, so that every instance makes the same tokens.
func newCSRF(internalKey string, cfg config.Config) (*csrf, error) {
	key, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "csrf token", sha256.Size)
	if err != nil {
		return nil, err
	}
	origins := http.NewCrossOriginProtection()
	for _, origin := range append([]string{originOf(cfg.Issuer()), originOf(cfg.Console())}, cfg.CORSOrigins...) {
		if origin == "" || origin[0] == '.' {
			continue // a whole domain cannot be named to the browser's check; its pages use bearer tokens
		}
		if err := origins.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	return &csrf{key: key, origins: origins}, nil
}

// token is what the writes of a session must carry.
func (c *csrf) token(sessionID string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(sessionID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// tell answers a browser that reads a page with what its writes must carry.
func (c *csrf) tell(w http.ResponseWriter, r *http.Request, p access.Principal) {
	if p.Cookie && reads(r.Method) && strings.HasPrefix(r.URL.Path, pagesPrefix) {
		w.Header().Set(headerCSRF, c.token(p.SessionID))
	}
}

// reads tells whether a method changes nothing.
func reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// check refuses a write that another site could have made the browser send.
func (c *csrf) check(r *http.Request, sessionID string) error {
	if httpx.Upgrades(r) {
		return c.checkUpgrade(r)
	}
	if reads(r.Method) {
		return nil
	}
	if err := c.origins.Check(r); err != nil || r.Header.Get("Origin") == "null" {
		return errs.New(errs.PermissionDenied, "The browser says that another site sent this request.")
	}
	if ofSockets(r.URL.Path) { // its clients cannot send the token; they know the secret of their connection, which only pages of ours can read
		return nil
	}
	sent := r.Header.Get(headerCSRF)
	if sent == "" {
		return errs.New(errs.InvalidToken, "Missing CSRF token: send the header x-svc-csrf-token that GET /v2/me answers with.")
	}
	if !hmac.Equal([]byte(sent), []byte(c.token(sessionID))) {
		return errs.New(errs.InvalidToken, "Invalid CSRF token found: read it again with GET /v2/me.")
	}
	return nil
}

// checkUpgrade refuses a socket of a page that may not read our answers. Browsers let every page open one, send the cookie
// with it, and say where the page is from; a socket cannot carry the token of writes.
func (c *csrf) checkUpgrade(r *http.Request) error {
	asked := *r
	asked.Method = http.MethodPost // what is said over a socket may be a write
	origins := r.Header["Origin"]
	if len(origins) != 1 || origins[0] == "null" || c.origins.Check(&asked) != nil {
		return errs.New(errs.PermissionDenied, "A socket with a cookie is open to pages of this installation only; send a token in the Authorization header.")
	}
	return nil
}
