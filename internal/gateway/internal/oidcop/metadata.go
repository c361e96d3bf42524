package oidcop

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"atelier/internal/access"
)

// metadata is what a client that registers says of itself (RFC 7591). What else it says is not kept.
type metadata struct {
	RedirectURIs    []string `json:"redirect_uris"`
	PostLogoutURIs  []string `json:"post_logout_redirect_uris,omitempty"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	ApplicationType string   `json:"application_type"`
	Name            string   `json:"client_name,omitempty"`
	URI             string   `json:"client_uri,omitempty"`
	Scope           string   `json:"scope"`
	Contacts        []string `json:"contacts,omitempty"`
}

const (
	webClient    = "web"
	nativeClient = "native"
)

// fill puts the defaults of the standard where the client says nothing.
func (m *metadata) fill() {
	if m.AuthMethod == "" {
		m.AuthMethod = authBasic
	}
	if len(m.GrantTypes) == 0 {
		m.GrantTypes = []string{grantCode}
	}
	if len(m.ResponseTypes) == 0 {
		m.ResponseTypes = []string{"code"}
	}
	if m.ApplicationType == "" {
		m.ApplicationType = webClient
	}
	if m.Scope == "" {
		m.Scope = strings.Join(person(), " ")
	}
	kept := slices.DeleteFunc(strings.Fields(m.Scope), func(s string) bool { return !slices.Contains(strangerScopes(), s) })
	m.Scope = strings.Join(kept, " ")
}

// strangerScopes are what a client that does not belong to the installation may ask a person for: everything but the
// account itself.
func strangerScopes() []string {
	return append(person(), slices.DeleteFunc(access.Scopes(), func(s string) bool {
		return s == string(access.Settings) || s == string(access.Account)
	})...)
}

// check tells what is wrong. insecure allows http, where the installation itself has nothing better.
func (m *metadata) check(insecure bool) error {
	const most, longest = 20, 200
	switch {
	case !slices.Contains([]string{authNone, authBasic, authPost}, m.AuthMethod):
		return wrongMetadata("token_endpoint_auth_method is none, client_secret_basic or client_secret_post.")
	case !isSubset(m.GrantTypes, []string{grantCode, grantRefresh, grantDevice}):
		return wrongMetadata("grant_types are authorization_code, refresh_token and " + grantDevice + ".")
	case !isSubset(m.ResponseTypes, []string{"code"}):
		return wrongMetadata("The only response type is code.")
	case m.ApplicationType != webClient && m.ApplicationType != nativeClient:
		return wrongMetadata("application_type is web or native.")
	case m.Scope == "":
		return wrongMetadata("scope names none that there is for registered clients.")
	case len(m.Name) > longest || len(m.Contacts) > most || len(strings.Join(m.Contacts, "")) > most*longest:
		return wrongMetadata("client_name has at most 200 characters, and there are at most 20 contacts.")
	case strings.ContainsFunc(m.Name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return wrongMetadata("client_name has characters that nobody can see.")
	case m.URI != "" && !isPage(m.URI):
		return wrongMetadata("client_uri is the https address of a page.")
	case len(m.RedirectURIs) > most || len(m.PostLogoutURIs) > most:
		return wrongRedirect("There are at most 20 of them.")
	case len(m.RedirectURIs) == 0 && slices.Contains(m.GrantTypes, grantCode):
		return wrongRedirect("redirect_uris are needed.")
	}
	for _, address := range slices.Concat(m.RedirectURIs, m.PostLogoutURIs) {
		if wrong := checkRedirect(address, m.ApplicationType == nativeClient, insecure); wrong != "" {
			return wrongRedirect("One of the addresses cannot be used: " + wrong + ".")
		}
	}
	return nil
}

func wrongMetadata(why string) error { return fail("invalid_client_metadata", why) }

func wrongRedirect(why string) error { return fail("invalid_redirect_uri", why) }

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

func isPage(address string) bool {
	const longest = 2000
	u, err := url.Parse(address)
	return err == nil && len(address) <= longest && u.Scheme == "https" && u.Host != "" && u.User == nil
}

// apply makes the client that the metadata describe.
func (m *metadata) apply(c *Client) {
	c.Name, c.AuthMethod, c.Native = m.Name, m.AuthMethod, m.ApplicationType == nativeClient
	c.RedirectURIs, c.PostLogoutRedirectURIs = m.RedirectURIs, m.PostLogoutURIs
	c.GrantTypes, c.Scopes = m.GrantTypes, strings.Fields(m.Scope)
	if c.Name == "" {
		c.Name = c.ID
	}
}
