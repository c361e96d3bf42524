package config

import (
	"slices"
	"strconv"
	"strings"
)

// versionPath ends every address of the API.
const versionPath = "/v2"

// The services that TARGET names, and the one word for all of them.
const (
	targetAll        = "all"
	targetGateway    = "gateway"
	targetWorkspaces = "workspaces"
	targetEvents     = "events"
	targetRuntime    = "runtime"
)

// ListenPort is the port to listen on: PORT, or else the usual one of the target. With several targets that is the one of
// the gateway when it is among them, otherwise of the first.
func (c Config) ListenPort() int {
	if c.Port != 0 {
		return c.Port
	}
	if c.runs(targetGateway) || len(c.Target) == 0 {
		return usualPort(targetGateway)
	}
	return usualPort(c.Target[0])
}

func usualPort(target string) int {
	switch target {
	case targetWorkspaces:
		return 3002
	case targetRuntime:
		return 3003
	case targetEvents:
		return 3004
	default:
		return 3001
	}
}

// PublicURL is the address of the API that clients use, ending in /v2: API_URL, or else the gateway on this machine. A
// process without the gateway assumes it on its usual port, because its own port is not the one of the API.
func (c Config) PublicURL() string {
	if c.APIURL != "" {
		return c.APIURL
	}
	port := usualPort(targetGateway)
	if c.runs(targetGateway) {
		port = c.ListenPort()
	}
	return "http://localhost:" + strconv.Itoa(port) + versionPath
}

// Issuer is the issuer of tokens: OIDC_PROVIDER_URL, or else the public address without /v2.
func (c Config) Issuer() string {
	if c.OIDCProviderURL != "" {
		return c.OIDCProviderURL
	}
	return strings.TrimSuffix(c.PublicURL(), versionPath)
}

// InternalURL is the address at which services reach the gateway, ending in /v2: INTERNAL_API_URL, or else the public one.
func (c Config) InternalURL() string {
	if c.InternalAPIURL != "" {
		return c.InternalAPIURL
	}
	return c.PublicURL()
}

// SplitServices tells whether some service runs in another process, so that state must be shared and callers prove
// themselves.
func (c Config) SplitServices() bool {
	for _, service := range []string{targetGateway, targetWorkspaces, targetEvents, targetRuntime} {
		if !c.runs(service) {
			return true
		}
	}
	return false
}

// runs tells whether this process runs a service.
func (c Config) runs(service string) bool {
	return slices.Contains(c.Target, targetAll) || slices.Contains(c.Target, service)
}
