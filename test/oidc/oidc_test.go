// Package oidc_test signs in to a server with the relying-party libraries of others: one in Go, one from npm.
package oidc_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
)

const (
	initialToken = "an-initial-token-for-tests"
	limit        = 3 * time.Minute
)

// serve starts a server that knows its own address.
func serve(t *testing.T) *apptest.Server {
	t.Helper()
	listener := apptest.Listen(t)
	return apptest.StartOn(t, clock.System{}, listener, "DATA_DIR="+t.TempDir(), "OIDC_CLIENT_REGISTRATION_TOKEN="+initialToken,
		"API_URL=http://"+listener.Addr().String()+"/v2")
}

// TestGo is a public client: discovery, code with PKCE, ID token, userinfo, refresh, sign-out.
func TestGo(t *testing.T) {
	t.Parallel()
	server := serve(t)
	ctx := oidc.ClientContext(t.Context(), newClient(t))
	provider, err := oidc.NewProvider(ctx, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	config := &oauth2.Config{
		ClientID: "local-client-id", Endpoint: provider.Endpoint(), RedirectURL: server.URL + "/signin",
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess, "events:read"},
	}
	b := &browser{t: t, url: server.URL, http: newClient(t)}
	verifier := oauth2.GenerateVerifier()
	back := b.authorize(config.AuthCodeURL("the state", oauth2.S256ChallengeOption(verifier), oidc.Nonce("the nonce")))
	if back.Get("state") != "the state" || back.Get("iss") != server.URL {
		t.Fatalf("sent back with %v", back)
	}
	token, err := config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	id := checkIDToken(ctx, t, provider, config, token)
	if id.Nonce != "the nonce" {
		t.Errorf("the nonce is %q", id.Nonce)
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil || info.Subject != id.Subject || info.Email != apptest.AdminEmail {
		t.Fatalf("userinfo: %+v, %v", info, err)
	}
	me := server.Anyone()
	me.Token = token.AccessToken
	me.Get("/v2/me").Want(http.StatusOK)
	next, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken, Expiry: time.Unix(1, 0)}).Token()
	if err != nil || next.RefreshToken == token.RefreshToken {
		t.Fatalf("refresh: %v", err)
	}
	checkIDToken(ctx, t, provider, config, next)
	b.signOut(provider, next, server.URL+"/signin")
	if _, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(next)); err == nil {
		t.Error("the token outlives the session")
	}
}

func checkIDToken(ctx context.Context, t *testing.T, provider *oidc.Provider, config *oauth2.Config, token *oauth2.Token) *oidc.IDToken {
	t.Helper()
	text, _ := token.Extra("id_token").(string)
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: config.ClientID}).Verify(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.VerifyAccessToken(token.AccessToken); err != nil {
		t.Error(err)
	}
	return id
}

// TestGoDevice is a program without a browser.
func TestGoDevice(t *testing.T) {
	t.Parallel()
	server := serve(t)
	ctx := oidc.ClientContext(t.Context(), newClient(t))
	provider, err := oidc.NewProvider(ctx, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	config := &oauth2.Config{ClientID: "local-client-id", Endpoint: provider.Endpoint(), Scopes: []string{oidc.ScopeOpenID, oidc.ScopeOfflineAccess}}
	device, err := config.DeviceAuth(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, url: server.URL, http: newClient(t)}
	b.signIn()
	b.post("/oidc/device/verify", "application/json", fmt.Sprintf(`{"user_code":%q,"allow":true}`, device.UserCode), http.StatusOK)
	device.Interval = 1 // seconds; whoever has agreed need not wait
	token, err := config.DeviceAccessToken(ctx, device)
	if err != nil {
		t.Fatal(err)
	}
	checkIDToken(ctx, t, provider, config, token)
}

// TestNode is a client with a secret that registers itself; the checks are in client.test.mjs.
func TestNode(t *testing.T) {
	t.Parallel()
	node, err := findNode()
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("TEST_OIDC") != "" {
			t.Fatalf("oidc: %v", err)
		}
		t.Skipf("SKIPPED: oidc: %v", err)
	}
	server := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	checks := exec.CommandContext(ctx, node, "--test-reporter=spec", "client.test.mjs")
	checks.Env = append(os.Environ(), "OIDC_SERVER="+server.URL, "OIDC_TOKEN="+initialToken,
		"OIDC_EMAIL="+apptest.AdminEmail, "OIDC_PASSWORD="+apptest.AdminPassword, "NO_COLOR=1")
	output, err := checks.CombinedOutput()
	if err != nil {
		t.Fatalf("the checks failed: %v\n%s", err, output)
	}
	t.Logf("\n%s", output)
}

// findNode looks for what scripts/npm test/oidc provides.
func findNode() (string, error) {
	node, err1 := exec.LookPath("node")
	_, err2 := os.Stat(filepath.Join("node_modules", "openid-client"))
	if err := cmp.Or(err1, err2); err != nil {
		return "", fmt.Errorf("run scripts/npm test/oidc first: %w", err)
	}
	return node, nil
}

// newClient has connections of its own, keeps cookies and follows no redirect.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// browser is a person in front of one.
type browser struct {
	t    *testing.T
	url  string
	http *http.Client
}

// authorize goes to an authorization request, signs in, and gives what the client is sent back with.
func (b *browser) authorize(address string) url.Values {
	b.t.Helper()
	page := b.get(address)
	uid := page.Query().Get("interaction")
	form := url.Values{"login": {apptest.AdminEmail}, "password": {apptest.AdminPassword}}
	resume := b.post("/oidc/interaction/"+uid+"/login", "application/x-www-form-urlencoded", form.Encode(), http.StatusSeeOther)
	return b.get(resume).Query()
}

func (b *browser) signIn() {
	b.t.Helper()
	b.authorize(b.url + "/oidc/auth?" + url.Values{
		"client_id": {"local-client-id"}, "redirect_uri": {b.url + "/signin"}, "response_type": {"code"}, "scope": {"openid"},
		"code_challenge_method": {"S256"}, "code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())},
	}.Encode())
}

func (b *browser) signOut(provider *oidc.Provider, token *oauth2.Token, address string) {
	b.t.Helper()
	var known struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := provider.Claims(&known); err != nil {
		b.t.Fatal(err)
	}
	hint, _ := token.Extra("id_token").(string)
	gone := b.get(known.EndSession + "?" + url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {address}, "state": {"bye"}}.Encode())
	if gone.String() != address+"?state=bye" {
		b.t.Errorf("after signing out: %s", gone)
	}
}

// get gives where the browser is sent.
func (b *browser) get(address string) *url.URL {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.send(r, http.StatusSeeOther)
}

func (b *browser) post(path, contentType, body string, status int) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Origin", b.url)
	return b.send(r, status).String()
}

func (b *browser) send(r *http.Request, status int) *url.URL {
	b.t.Helper()
	response, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != status {
		b.t.Fatalf("%s: status %d, want %d\n%s", r.URL.Path, response.StatusCode, status, text)
	}
	target, err := url.Parse(response.Header.Get("Location"))
	if err != nil {
		b.t.Fatal(err)
	}
	return target
}
