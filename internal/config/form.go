package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// form is a shape of text that a form tag names.
type form struct {
	accept  func(string) bool
	wrong   string // what a malformed text is not, or does not
	allowed string
}

// findForm finds a form by its name in the tags.
func findForm(name string) (form, bool) {
	switch name {
	case "email":
		return form{isEmail, "is not an e-mail address", "an e-mail address"}, true
	case "network":
		return form{isNetwork, "is not a network", "a CIDR or an address, such as 10.0.0.0/8 or 192.168.1.7"}, true
	case "origin":
		return form{isOrigin, "is not an origin", "scheme://host, scheme://host:port, or .domain for its sub-domains"}, true
	case "mediatype":
		return form{isMediaType, "is not a media type", "a media type such as image/png or image/*"}, true
	case "regexp":
		return form{isRegexp, "is not a regular expression", "a regular expression"}, true
	case "versioned":
		return form{isVersioned, "does not end with " + versionPath, "ending with " + versionPath}, true
	default:
		return form{}, false
	}
}

// isEmail is deliberately loose: the only proof of an e-mail address is a mail that arrives.
func isEmail(text string) bool {
	name, domain, found := strings.Cut(text, "@")
	return found && name != "" && domain != "" && !strings.ContainsAny(text, " \t\r\n,") && !strings.Contains(domain, "@")
}

func isNetwork(text string) bool {
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}

// isOrigin accepts what browsers send as Origin, and .example.com; an origin never has a path, not even a slash.
func isOrigin(text string) bool {
	if domain, found := strings.CutPrefix(text, "."); found {
		text = "https://" + domain
	}
	origin, err := url.Parse(text)
	if err != nil || origin.Scheme == "" || origin.Hostname() == "" || strings.HasPrefix(origin.Hostname(), ".") {
		return false
	}
	return text == origin.Scheme+"://"+origin.Host && !strings.Contains(text, "*") && isPort(origin.Port())
}

var mediaType = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*|\*)$`) //nolint:gochecknoglobals // compiled once, never changed

func isMediaType(text string) bool { return mediaType.MatchString(text) }

func isRegexp(text string) bool {
	_, err := regexp.Compile(text)
	return err == nil
}

func isVersioned(text string) bool { return strings.HasSuffix(text, versionPath) }
