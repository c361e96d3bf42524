package oidcop

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Client addresses are compared as text, never as parsed parts: two readers of an address may disagree, two texts cannot.

// allowsRedirect tells whether the client registered the address. Only a native client may use another port, and only of
// the loopback address it registered.
func (c Client) allowsRedirect(address string) bool { return c.allowsOne(c.RedirectURIs, address) }

// allowsFarewell is allowsRedirect for where a browser goes that was signed out.
func (c Client) allowsFarewell(address string) bool {
	return c.allowsOne(c.PostLogoutRedirectURIs, address)
}

func (c Client) allowsOne(all []string, address string) bool {
	if slices.Contains(all, address) {
		return true
	}
	if !c.Native {
		return false
	}
	host, rest, ok := cutLoopback(address)
	return ok && slices.ContainsFunc(all, func(registered string) bool {
		otherHost, otherRest, ok := cutLoopback(registered)
		return ok && host == otherHost && rest == otherRest
	})
}

// cutLoopback takes the port out of an http address of this machine. What is no such address is not ok.
func cutLoopback(address string) (host, rest string, ok bool) {
	for _, host := range []string{"http://127.0.0.1", "http://[::1]", "http://localhost"} {
		rest, found := strings.CutPrefix(address, host)
		if !found {
			continue
		}
		if port, found := strings.CutPrefix(rest, ":"); found {
			digits := len(port) - len(strings.TrimLeft(port, "0123456789"))
			if number, err := strconv.ParseUint(port[:digits], 10, 16); err != nil || number == 0 {
				return "", "", false
			}
			rest = port[digits:]
		}
		if rest != "" && rest[0] != '/' && rest[0] != '?' {
			return "", "", false // a longer host name, or a user name
		}
		return host, rest, !strings.ContainsAny(rest, "#\\")
	}
	return "", "", false
}

// checkRedirect tells what is wrong with an address that a client wants to register; empty when nothing is.
func checkRedirect(address string, native, insecure bool) string {
	const longest = 2000
	if len(address) > longest || strings.ContainsAny(address, " \t\r\n\\\"<>#") {
		return "it is too long, has a fragment, or has characters that no address has"
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.User != nil || u.Opaque != "" {
		return "it is not an absolute address without a user name"
	}
	_, _, loopback := cutLoopback(address)
	switch {
	case u.Scheme == "https" || u.Scheme == "http":
		return checkWeb(u, native && loopback || insecure)
	case !native:
		return "a web client uses https"
	case !strings.Contains(u.Scheme, "."):
		return "the scheme of an app is a domain name of its maker in reverse, such as com.example.app"
	default:
		return ""
	}
}

// hostCharacters are those of names, addresses and ports. Names in other scripts are written in their ASCII form.
const hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]"

func checkWeb(u *url.URL, plain bool) string {
	if u.Hostname() == "" || strings.Trim(u.Host, hostCharacters) != "" {
		return "it has no host, or one that is none"
	}
	if u.Scheme == "http" && !plain {
		return "it is not https; only native clients may use http, on a loopback address"
	}
	return ""
}

// withParams adds parameters to an address and leaves what is there as it is.
func withParams(address string, params url.Values) string {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + params.Encode()
}

// placeOf is what a person should know of an address: its host, or the scheme of an app.
func placeOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		scheme, _, _ := strings.Cut(address, ":")
		return scheme
	}
	return u.Host
}

// originOf is the scheme and host of an address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
