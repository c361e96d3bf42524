package federation

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"atelier/internal/config"
)

// Settings is one provider of the configuration file.
type Settings struct {
	// Slug names the provider in addresses, in authData and in rules.
	Slug string
	// Name and Icon are what people see on the sign-in page; Meta is handed on to it.
	Name string
	Icon string
	Meta map[string]string
	// Issuer is who signs the provider's tokens, exactly as they spell it.
	Issuer       string
	ClientID     string
	ClientSecret config.Secret
	// AuthMethod is how the client proves itself to the token endpoint; empty means what the provider supports.
	AuthMethod string
	Scopes     []string
	// ResponseMode is query or form_post.
	ResponseMode string
	// AuthURL, TokenURL and KeysURL replace discovery; all of them or none.
	AuthURL, TokenURL, KeysURL string
	// Domains are the mail domains whose people sign in here, and for which the provider's word about an address counts.
	Domains []string
	// TrustEmail makes the provider's word about an address count for every domain.
	TrustEmail bool
	// Signup tells that people who are not known yet get an account.
	Signup bool
	// AllowTokenExchange lets a token of the provider be exchanged for a session; Audiences are accepted in it beside ClientID.
	AllowTokenExchange bool
	Audiences          []string
	// Attributes name the claims that fill an account.
	Attributes Attributes
}

// Attributes name claims.
type Attributes struct{ FirstName, LastName, Email string }

// How a client proves itself to the token endpoint.
const (
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authNone  = "none"
)

const (
	modeQuery = "query"
	modePost  = "form_post"
)

// maxFile is the largest provider file that is read.
const maxFile = 1 << 20

// Load reads the file with the providers; no path means none. Texts may hold ${NAME}, which lookup resolves. The error names
// the keys that are wrong and never shows a value.
func Load(path string, lookup func(string) string) ([]Settings, error) {
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator named it
	if err != nil {
		return nil, fmt.Errorf("AUTH_PROVIDERS_CONFIG: %w", err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("AUTH_PROVIDERS_CONFIG: the file is larger than %d bytes", maxFile)
	}
	settings, problems := parse(content, lookup)
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, fmt.Errorf("AUTH_PROVIDERS_CONFIG: %s", strings.Join(problems, "; "))
	}
	return settings, nil
}

func parse(content []byte, lookup func(string) string) ([]Settings, []string) {
	doc := &document{lookup: lookup}
	root := doc.root(content)
	var all []Settings
	for _, at := range root.fields(slugsKey) {
		if at.name != slugsKey {
			at.wrong("is not known; allowed: " + slugsKey)
			continue
		}
		for _, provider := range at.fields() {
			all = append(all, readProvider(provider))
		}
	}
	if len(doc.problems) == 0 {
		checkAll(doc, all)
	}
	return all, doc.problems
}

const slugsKey = "providers"

func readProvider(at node) Settings {
	s := Settings{
		Slug: at.name, Signup: true, Scopes: []string{"openid", "email", "profile"}, ResponseMode: modeQuery,
		Attributes: Attributes{FirstName: "given_name", LastName: "family_name", Email: "email"},
	}
	kind := ""
	readers := map[string]func(node){
		"type": text(&kind), "name": text(&s.Name), "icon": text(&s.Icon), "meta": texts(&s.Meta),
		"issuer": text(&s.Issuer), "client_id": text(&s.ClientID), "client_secret": text(&s.ClientSecret),
		"token_endpoint_auth_method": text(&s.AuthMethod), "scopes": list(&s.Scopes), "response_mode": text(&s.ResponseMode),
		"authorization_endpoint": text(&s.AuthURL), "token_endpoint": text(&s.TokenURL), "jwks_uri": text(&s.KeysURL),
		"domains": list(&s.Domains), "trustEmail": truth(&s.TrustEmail), "signup": truth(&s.Signup),
		"allowTokenExchange": truth(&s.AllowTokenExchange), "audiences": list(&s.Audiences), "attributes": s.Attributes.read,
	}
	at.read(readers)
	if kind != "oidc" {
		at.child("type").wrong("is not a kind of provider; allowed: oidc")
	}
	for i, domain := range s.Domains {
		s.Domains[i] = strings.ToLower(domain)
	}
	return s
}

func (a *Attributes) read(at node) {
	at.read(map[string]func(node){"firstName": text(&a.FirstName), "lastName": text(&a.LastName), "email": text(&a.Email)})
}
