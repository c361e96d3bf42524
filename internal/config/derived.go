package config

import (
	"path/filepath"
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

// FilesURL is the address in links to files, ending in /v2: UPLOADS_FILESYSTEM_DOWNLOAD_URL, or else the public one.
func (c Config) FilesURL() string {
	if c.DownloadURL != "" {
		return c.DownloadURL
	}
	return c.PublicURL()
}

// GitDir is where clones of repositories are kept.
func (c Config) GitDir() string {
	if c.GitDirPath != "" {
		return c.GitDirPath
	}
	return filepath.Join(c.DataDir, "versioning")
}

// Console is the address of the console: CONSOLE_URL, or else this installation's own pages.
func (c Config) Console() string {
	if c.ConsoleURL != "" {
		return strings.TrimSuffix(c.ConsoleURL, "/")
	}
	return c.Issuer()
}

// SigninPage is the page people sign in on: LOGIN_URL, or else /signin of the console.
func (c Config) SigninPage() string { return pageOf(c.LoginURL, c.Console(), "/signin") }

// ResetPage is the page where a new password is chosen: RESET_PASSWORD_URL, or else /forgot of the console.
func (c Config) ResetPage() string { return pageOf(c.ResetPasswordURL, c.Console(), "/forgot") }

func pageOf(configured, console, path string) string {
	if configured != "" {
		return configured
	}
	return console + path
}

// Secure tells whether clients reach the installation over HTTPS, so that cookies are for HTTPS only.
func (c Config) Secure() bool { return strings.HasPrefix(c.Issuer(), "https://") }

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
