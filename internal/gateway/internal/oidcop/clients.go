package oidcop

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/config"
	"atelier/internal/sqldb"
)

// The grant types there are.
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
	grantDevice  = "urn:ietf:params:oauth:grant-type:device_code"
)

// The ways in which a client proves itself.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// The scopes of OpenID Connect, beside those of the API.
const (
	scopeOpenID  = "openid"
	scopeProfile = "profile"
	scopeEmail   = "email"
	scopeOffline = "offline_access"
)

// Client is an application that people sign in to.
type Client struct {
	ID   string
	Name string
	// FirstParty clients belong to the installation: nobody is asked whether they may have what they ask for.
	FirstParty bool
	// Native clients run on the person's own machine and may use any port of a loopback address.
	Native                 bool
	AuthMethod             string
	RedirectURIs           []string
	PostLogoutRedirectURIs []string
	GrantTypes             []string
	// Scopes are those it may be granted.
	Scopes []string
	// Workspace is the workspace whose pages it is for; empty for others.
	Workspace string

	secretHash, registrationHash string
}

func (c Client) allows(grantType string) bool { return slices.Contains(c.GrantTypes, grantType) }

// grantable gives the scopes of a request that the client may have. Those it may not have are left out, as the protocol
// wants it; no refresh token is promised to a client that cannot use one.
func (c Client) grantable(asked string) []string {
	granted := []string{}
	for scope := range strings.FieldsSeq(asked) {
		if scope == scopeOffline && !c.allows(grantRefresh) || slices.Contains(granted, scope) || !slices.Contains(c.Scopes, scope) {
			continue
		}
		granted = append(granted, scope)
	}
	// The installation's own programs ask for settings and mean the account too; nobody else can have it.
	account := string(access.Account)
	if slices.Contains(granted, string(access.Settings)) && slices.Contains(c.Scopes, account) && !slices.Contains(granted, account) {
		granted = append(granted, account)
	}
	return granted
}

// person are the scopes that tell a client who somebody is.
func person() []string { return []string{scopeOpenID, scopeProfile, scopeEmail, scopeOffline} }

// configuredClients are those of the configuration: the console and the external ones.
func configuredClients(cfg config.Config) (map[string]Client, error) {
	clients, err := externalClients(cfg)
	if err != nil {
		return nil, err
	}
	console := consoleClient(cfg)
	clients[console.ID] = console
	return clients, nil
}

// consoleClient is the console. Without a console of its own, the installation lets one that runs on a developer's machine
// sign in, on any port.
func consoleClient(cfg config.Config) Client {
	home := cfg.Console()
	c := Client{
		ID: cfg.StudioClientID, Name: "Atelier", FirstParty: true, AuthMethod: authNone,
		GrantTypes:             []string{grantCode, grantRefresh, grantDevice},
		Scopes:                 append(person(), access.Scopes()...),
		RedirectURIs:           []string{home + "/signin", home + "/", home},
		PostLogoutRedirectURIs: []string{home + "/signin", home + "/signout", home + "/signedout", home + "/", home},
	}
	if cfg.ConsoleURL == "" {
		c.Native = true
		for _, host := range []string{"http://localhost", "http://127.0.0.1", "http://[::1]"} {
			local := []string{host + "/signin", host + "/", host + "/callback"}
			c.RedirectURIs = append(c.RedirectURIs, local...)
			c.PostLogoutRedirectURIs = append(c.PostLogoutRedirectURIs, local...)
		}
	}
	return c
}

// client finds a client; badClient when there is none.
func (p *Provider) client(ctx context.Context, id string) (Client, error) {
	if c, ok := p.configured[id]; ok {
		return c, nil
	}
	return p.readStored(ctx, p.deps.DB, "id", id)
}

// readStored reads a client that was made here.
func (p *Provider) readStored(ctx context.Context, r sqldb.Reader, column, value string) (Client, error) {
	var c Client
	var workspace *string
	var text string
	err := r.QueryRow(ctx, `SELECT id, workspace_id, metadata, secret_hash, registration_hash FROM oidc_clients WHERE `+column+` = $1`, value).
		Scan(&c.ID, &workspace, &text, &c.secretHash, &c.registrationHash)
	if sqldb.IsNotFound(err) {
		return c, badClient()
	}
	if err != nil {
		return c, err
	}
	if workspace != nil {
		var w workspaceMetadata
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			return c, err
		}
		return p.workspaceClient(c.ID, *workspace, w), nil
	}
	var m metadata
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return c, err
	}
	m.apply(&c)
	return c, nil
}
