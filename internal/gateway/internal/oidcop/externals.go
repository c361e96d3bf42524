package oidcop

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"atelier/internal/access"
	"atelier/internal/config"
)

// external is a client of OIDC_EXTERNAL_CLIENTS. Whatever else it says of itself, it is public and must use PKCE.
type external struct {
	ID              string   `json:"client_id"`
	Name            string   `json:"client_name"`
	ApplicationType string   `json:"application_type"`
	RedirectURIs    []string `json:"redirect_uris"`
	PostLogout      []string `json:"post_logout_redirect_uris"`
}

var clientID = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,100}$`) //nolint:gochecknoglobals // compiled once

// externalClients reads the clients that the operator lists. They are trusted like the console.
func externalClients(cfg config.Config) (map[string]Client, error) {
	clients := map[string]Client{}
	if cfg.ExternalClients == "" {
		return clients, nil
	}
	var listed []external
	if err := json.Unmarshal([]byte(cfg.ExternalClients), &listed); err != nil {
		return nil, fmt.Errorf("OIDC_EXTERNAL_CLIENTS is not a JSON array of clients: %w", err)
	}
	for index, e := range listed {
		c, err := e.client(cfg)
		if err != nil {
			return nil, fmt.Errorf("OIDC_EXTERNAL_CLIENTS[%d]: %w", index, err)
		}
		if _, twice := clients[c.ID]; twice || c.ID == cfg.StudioClientID {
			return nil, fmt.Errorf("OIDC_EXTERNAL_CLIENTS[%d]: client_id %s is used twice", index, c.ID)
		}
		clients[c.ID] = c
	}
	return clients, nil
}

func (e external) client(cfg config.Config) (Client, error) {
	c := Client{
		ID: e.ID, Name: e.Name, FirstParty: true, Native: e.ApplicationType != "web", AuthMethod: authNone,
		RedirectURIs: e.RedirectURIs, PostLogoutRedirectURIs: e.PostLogout,
		GrantTypes: []string{grantCode, grantRefresh, grantDevice}, Scopes: append(person(), access.Scopes()...),
	}
	if c.Name == "" {
		c.Name = c.ID
	}
	if !clientID.MatchString(c.ID) {
		return c, fmt.Errorf("client_id %q: use up to 100 letters, digits and . _ ~ -", c.ID)
	}
	for _, address := range slices.Concat(e.RedirectURIs, e.PostLogout) {
		if wrong := checkRedirect(address, c.Native, !cfg.Secure()); wrong != "" {
			return c, fmt.Errorf("%s: %s", address, wrong)
		}
	}
	return c, nil
}
