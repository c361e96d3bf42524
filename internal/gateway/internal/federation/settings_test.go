package federation_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"atelier/internal/gateway/internal/federation"
)

func load(t *testing.T, content string, environ map[string]string) ([]federation.Settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "providers.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return federation.Load(path, func(name string) string { return environ[name] })
}

func TestLoad(t *testing.T) {
	t.Parallel()
	got, err := load(t, `
providers:
  acme:
    type: oidc
    issuer: https://id.acme.example/realms/main
    client_id: ours
    client_secret: ${ACME_SECRET}
  other:
    type: oidc
    name: Other
    icon: /other.svg
    meta: {color: blue}
    issuer: https://other.example
    client_id: "${ID}-1"
    scopes: [openid]
    authorization_endpoint: https://other.example/auth?p=policy
    token_endpoint: https://other.example/token
    jwks_uri: https://keys.other.example/
    token_endpoint_auth_method: none
    response_mode: form_post
    domains: [Example.COM, sub.example.org]
    trustEmail: true
    signup: false
    allowTokenExchange: true
    audiences: [app, "42"]
    attributes: {firstName: vorname, email: upn}
`, map[string]string{"ACME_SECRET": "a: secret # with\tyaml", "ID": "id"})
	if err != nil {
		t.Fatal(err)
	}
	want := []federation.Settings{
		{
			Slug: "acme", Issuer: "https://id.acme.example/realms/main", ClientID: "ours", ClientSecret: "a: secret # with\tyaml",
			Scopes: []string{"openid", "email", "profile"}, ResponseMode: "query", Signup: true,
			Attributes: federation.Attributes{FirstName: "given_name", LastName: "family_name", Email: "email"},
		},
		{
			Slug: "other", Name: "Other", Icon: "/other.svg", Meta: map[string]string{"color": "blue"}, Issuer: "https://other.example",
			ClientID: "id-1", Scopes: []string{"openid"}, AuthURL: "https://other.example/auth?p=policy", TokenURL: "https://other.example/token",
			KeysURL: "https://keys.other.example/", AuthMethod: "none", ResponseMode: "form_post", Domains: []string{"example.com", "sub.example.org"},
			TrustEmail: true, AllowTokenExchange: true, Audiences: []string{"app", "42"},
			Attributes: federation.Attributes{FirstName: "vorname", LastName: "family_name", Email: "upn"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestLoadNothing(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "# nothing yet\n", "providers:\n", "providers: {}\n"} {
		if got, err := load(t, content, nil); err != nil || len(got) != 0 {
			t.Errorf("%q: %v %v", content, got, err)
		}
	}
	if got, err := federation.Load("", nil); err != nil || got != nil {
		t.Errorf("no file: %v %v", got, err)
	}
}

// A broken file is refused with the key that is wrong, and without what stands there: it may be the secret.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	provider := func(lines string) string {
		return "providers:\n  acme:\n    type: oidc\n    issuer: https://id.example\n    client_id: c\n" + lines
	}
	for name, c := range map[string]struct{ content, key string }{
		"not YAML":            {"providers: [" + secret, "YAML"},
		"a list":              {"- " + secret, "the file"},
		"two documents":       {"providers: {}\n---\nproviders: {}\n", "more than one"},
		"unknown root":        {"provider: {}\n", "provider "},
		"unknown key":         {provider("    secret: " + secret + "\n"), "providers.acme.secret"},
		"twice":               {provider("    client_id: " + secret + "\n"), "providers.acme.client_id"},
		"same provider twice": {provider("  acme:\n    client_secret: " + secret + "\n"), "providers.acme"},
		"secret as a list":    {provider("    client_secret: [" + secret + "]\n"), "providers.acme.client_secret"},
		"secret as a mapping": {provider("    client_secret: {a: " + secret + "}\n"), "providers.acme.client_secret"},
		"secret with a tag":   {provider("    client_secret: !x " + secret + "\n"), "providers.acme.client_secret"},
		"secret as an alias":  {provider("    name: &a " + secret + "\n    client_secret: *a\n"), "providers.acme.client_secret"},
		"unset variable":      {provider("    client_secret: ${NOT_SET}\n"), "providers.acme.client_secret uses the environment variable NOT_SET"},
		"not a truth":         {provider("    signup: " + secret + "\n"), "providers.acme.signup"},
		"type":                {"providers: {acme: {type: saml, issuer: 'https://id.example', client_id: c}}", "providers.acme.type"},
		"no issuer":           {"providers: {acme: {type: oidc, client_id: c}}", "providers.acme.issuer"},
		"no client":           {"providers: {acme: {type: oidc, issuer: 'https://id.example'}}", "providers.acme.client_id"},
		"plain http":          {"providers: {acme: {type: oidc, issuer: 'http://id.example', client_id: c}}", "providers.acme.issuer"},
		"user in the issuer":  {"providers: {acme: {type: oidc, issuer: 'https://a:" + secret + "@id.example', client_id: c}}", "providers.acme.issuer"},
		"query in the issuer": {"providers: {acme: {type: oidc, issuer: 'https://id.example?a=b', client_id: c}}", "providers.acme.issuer"},
		"half the endpoints":  {provider("    token_endpoint: https://id.example/token\n"), "providers.acme must have all of"},
		"unsafe endpoint": {
			provider("    token_endpoint: http://id.example/t\n    jwks_uri: https://id.example/j\n    authorization_endpoint: https://id.example/a\n"),
			"providers.acme.token_endpoint",
		},
		"without openid":   {provider("    scopes: [email]\n"), "providers.acme.scopes"},
		"domain":           {provider("    domains: ['@example.com']\n"), "providers.acme.domains"},
		"auth method":      {provider("    token_endpoint_auth_method: private_key_jwt\n"), "providers.acme.token_endpoint_auth_method"},
		"missing secret":   {provider("    token_endpoint_auth_method: client_secret_post\n"), "providers.acme.client_secret"},
		"response mode":    {provider("    response_mode: fragment\n"), "providers.acme.response_mode"},
		"no attribute":     {provider("    attributes: {email: ''}\n"), "providers.acme.attributes.email"},
		"useless audience": {provider("    audiences: [a]\n"), "providers.acme.audiences"},
		"slug":             {strings.Replace(provider(""), "acme", "1st.one", 1), "providers.1st.one"},
		"slug with spaces": {strings.Replace(provider(""), "acme", "a b", 1), "providers.?"},
		"reserved svc":     {strings.Replace(provider(""), "acme", "svc", 1), "providers.svc is reserved"},
		"reserved other":   {strings.Replace(provider(""), "acme", "Anonymous", 1), "providers.Anonymous is reserved"},
		"reserved service": {strings.Replace(provider(""), "acme", "service", 1), "providers.service is reserved"},
		"reserved apiKey":  {strings.Replace(provider(""), "acme", "apiKey", 1), "providers.apiKey is reserved"},
		"domain of two": {
			provider("    domains: [a.example]\n  two:\n    type: oidc\n    issuer: https://two.example\n    client_id: c\n    domains: [A.example]\n"),
			"providers.two.domains",
		},
	} {
		_, err := load(t, c.content, map[string]string{})
		if err == nil || !strings.Contains(err.Error(), c.key) || !strings.HasPrefix(err.Error(), "AUTH_PROVIDERS_CONFIG: ") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s shows the value: %v", name, err)
		}
	}
	if _, err := federation.Load(filepath.Join(t.TempDir(), "absent"), nil); err == nil {
		t.Error("a file that is not there")
	}
}
