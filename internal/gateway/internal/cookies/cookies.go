// Package cookies names the gateway's cookies and gives them their attributes, so that the one that clears a cookie and the
// one that sets it always agree.
package cookies

import (
	"net/http"
	"time"

	"atelier/internal/config"
)

// Token is the cookie with the JWT, as the specification names it.
const Token = "access-token"

// Jar makes and reads the gateway's cookies.
type Jar struct {
	secure  bool
	browser string
}

// New reads the attributes from the configuration.
func New(cfg config.Config) Jar {
	jar := Jar{secure: cfg.Secure(), browser: cfg.SessionCookieName}
	if jar.secure {
		jar.browser = "__Host-" + jar.browser // no other host of the domain can set or shadow it
	}
	return jar
}

// SetToken gives the browser the JWT of its session.
func (j Jar) SetToken(jwt string, expires time.Time) *http.Cookie {
	return j.cookie(Token, jwt, expires)
}

// SetBrowser gives the browser the secret that keeps it signed in.
func (j Jar) SetBrowser(secret string, expires time.Time) *http.Cookie {
	return j.cookie(j.browser, secret, expires)
}

// Set gives the browser another cookie with the same attributes, for the steps of a sign-in.
func (j Jar) Set(name, value string, expires time.Time) *http.Cookie {
	return j.cookie(name, value, expires)
}

// Clear takes both cookies away from the browser.
func (j Jar) Clear() []*http.Cookie { return []*http.Cookie{j.gone(Token), j.gone(j.browser)} }

// Drop takes a cookie of Set away from the browser.
func (j Jar) Drop(name string) *http.Cookie { return j.gone(name) }

// Browser is the secret of the browser that sent the request; empty when it sent none, or several.
func (j Jar) Browser(r *http.Request) string { return only(r, j.browser) }

// TokenOf is the JWT of the browser that sent the request; empty when it sent none, or several.
func (j Jar) TokenOf(r *http.Request) string { return only(r, Token) }

func only(r *http.Request, name string) string {
	if sent := r.CookiesNamed(name); len(sent) == 1 {
		return sent[0].Value
	}
	return ""
}

func (j Jar) gone(name string) *http.Cookie {
	cookie := j.cookie(name, "", time.Unix(0, 0))
	cookie.MaxAge = -1
	return cookie
}

func (j Jar) cookie(name, value string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", Expires: expires.UTC(), HttpOnly: true, Secure: j.secure, SameSite: http.SameSiteLaxMode,
	}
}
