package federation

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// reserved are slugs that mean something else in authData and in rules.
func reserved() []string { return []string{"svc", "anonymous", "service", "apiKey", "basic", "local"} }

var (
	slugPattern   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,49}$`)                                     //nolint:gochecknoglobals // compiled once, never changed
	domainPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`) //nolint:gochecknoglobals // compiled once, never changed
	scopePattern  = regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]{1,200}$`)                                 //nolint:gochecknoglobals // compiled once, never changed
)

// checkAll looks at the values of a file that could be read.
func checkAll(doc *document, all []Settings) {
	owner := map[string]string{}
	for _, s := range all {
		at := node{doc: doc, path: slugsKey + "." + s.Slug}
		s.check(at)
		for _, domain := range s.Domains {
			if other, taken := owner[domain]; taken {
				at.child("domains").wrong(fmt.Sprintf("holds %s, which %s.%s holds too", domain, slugsKey, other))
			}
			owner[domain] = s.Slug
		}
	}
}

func (s Settings) check(at node) {
	if !slugPattern.MatchString(s.Slug) {
		at.wrong("is not a slug; begin with a letter and use at most 50 letters, digits, - and _")
	}
	if slices.ContainsFunc(reserved(), func(word string) bool { return strings.EqualFold(word, s.Slug) }) {
		at.wrong("is reserved; choose another slug")
	}
	if s.ClientID == "" || len(s.ClientID) > maxShort {
		at.child("client_id").wrong("must be given, with at most 500 characters")
	}
	if len(s.Name) > maxShort || len(s.Icon) > maxFile/32 {
		at.child("name").wrong("and icon must be shorter")
	}
	s.checkURLs(at)
	s.checkLists(at)
	s.checkChoices(at)
	for name, claim := range map[string]string{"firstName": s.Attributes.FirstName, "lastName": s.Attributes.LastName, "email": s.Attributes.Email} {
		if claim == "" || len(claim) > maxShort {
			at.child("attributes").child(name).wrong("must name a claim")
		}
	}
}

const maxShort = 500

func (s Settings) checkURLs(at node) {
	checkURL(at.child("issuer"), s.Issuer)
	if strings.ContainsAny(s.Issuer, "?") {
		at.child("issuer").wrong("must have no query")
	}
	given := 0
	for name, address := range map[string]string{"authorization_endpoint": s.AuthURL, "token_endpoint": s.TokenURL, "jwks_uri": s.KeysURL} {
		if address != "" {
			given++
			checkURL(at.child(name), address)
		}
	}
	if given != 0 && given != 3 {
		at.wrong("must have all of authorization_endpoint, token_endpoint and jwks_uri, or none of them to discover them from the issuer")
	}
}

func checkURL(at node, address string) {
	if !secureURL(address) {
		at.wrong("must be an https:// address without user and fragment (http:// only for this machine)")
	}
}

// secureURL tells whether an address of a provider can be used: what it says decides who is signed in.
func secureURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(address) > 2*maxShort {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (s Settings) checkLists(at node) {
	for _, domain := range s.Domains {
		if !domainPattern.MatchString(domain) {
			at.child("domains").wrong("must hold mail domains such as example.com")
		}
	}
	for _, scope := range s.Scopes {
		if !scopePattern.MatchString(scope) {
			at.child("scopes").wrong("must hold scopes, without spaces")
		}
	}
	if !slices.Contains(s.Scopes, "openid") {
		at.child("scopes").wrong("must hold openid")
	}
	if slices.Contains(s.Audiences, "") {
		at.child("audiences").wrong("must not hold an empty text")
	}
	if len(s.Audiences) > 0 && !s.AllowTokenExchange {
		at.child("audiences").wrong("is of use only with allowTokenExchange: true")
	}
}

func (s Settings) checkChoices(at node) {
	if methods := []string{"", authBasic, authPost, authNone}; !slices.Contains(methods, s.AuthMethod) {
		at.child("token_endpoint_auth_method").wrong("must be one of " + strings.Join(methods[1:], ", "))
	}
	if (s.AuthMethod == authBasic || s.AuthMethod == authPost) && s.ClientSecret == "" {
		at.child("client_secret").wrong("must be given for this token_endpoint_auth_method")
	}
	if s.ResponseMode != modeQuery && s.ResponseMode != modePost {
		at.child("response_mode").wrong("must be query or form_post")
	}
}
