// Package egress is the one place of the product that dials for a user: automations that fetch, webhooks, the crawler,
// OIDC discovery. Whatever a name resolves to, the address that is connected to was checked, on every redirect, and only
// addresses of the public internet and of the networks an operator allowed (EGRESS_ALLOWED_NETWORKS) are.
package egress

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"code.dny.dev/ssrf"
)

const (
	connectTimeout = 5 * time.Second
	// headerTimeout is below totalTimeout, so that a silent server fails like an unreachable one.
	headerTimeout  = 20 * time.Second
	totalTimeout   = 30 * time.Second
	idleTimeout    = 30 * time.Second
	maxHeaderBytes = 64 << 10
	maxIdle        = 100
)

// Config is what an operator decides.
type Config struct {
	// AllowedNetworks are reachable although they are private, on every port (EGRESS_ALLOWED_NETWORKS).
	AllowedNetworks []netip.Prefix
	// AllowedPorts are reachable everywhere beside 80 and 443.
	AllowedPorts []uint16
	// ExtraCACerts is a PEM file of authorities trusted beside the system's (EXTRA_CA_CERTS); it may be empty.
	ExtraCACerts string
}

// Guard makes the HTTP clients of the product. It is safe for concurrent use.
type Guard struct {
	networks  []netip.Prefix
	ports     []uint16
	public    *ssrf.Guardian
	dialer    *net.Dialer
	transport *transport
	tls       *tls.Config
	extraPEM  []byte
}

// New checks the configuration and returns a guard.
func New(cfg Config) (*Guard, error) {
	roots, extra, err := trustedRoots(cfg.ExtraCACerts)
	if err != nil {
		return nil, err
	}
	networks, err := normalised(cfg.AllowedNetworks)
	if err != nil {
		return nil, err
	}
	g := &Guard{
		networks: networks,
		ports:    append([]uint16{80, 443}, cfg.AllowedPorts...),
		tls:      &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		extraPEM: extra,
	}
	g.public = ssrf.New(ssrf.WithPorts(g.ports...), ssrf.WithDeniedV4Prefixes(hostServices()...))
	g.dialer = &net.Dialer{Timeout: connectTimeout, Control: g.control}
	g.transport = &transport{guard: g, http: g.httpTransport()}
	return g, nil
}

// hostServices are addresses of the public ranges where clouds answer their own machines: Azure's wire server.
func hostServices() []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{168, 63, 129, 16}), 32)}
}

func (g *Guard) httpTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // a proxy of the environment would be dialled instead of the checked address
		DialContext:            g.dialer.DialContext,
		TLSClientConfig:        g.TLSConfig(),
		TLSHandshakeTimeout:    connectTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdle,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
	}
}

// Client returns a client of its own on the shared connections. It follows up to five redirects, without the caller's
// headers once another host is asked, and gives up after 30 seconds. Every failure is an *errs.Error with the message
// Unreachable. Use ReadBody to bound what is read.
func (g *Guard) Client() *http.Client {
	return &http.Client{Transport: g.transport, CheckRedirect: checkRedirect, Timeout: totalTimeout}
}

// Transport is the guarded transport alone, for clients with other rules about redirects and time.
func (g *Guard) Transport() http.RoundTripper { return g.transport }

// TLSConfig returns a copy of the TLS settings: the system's authorities and those of EXTRA_CA_CERTS.
func (g *Guard) TLSConfig() *tls.Config { return g.tls.Clone() }

func (g *Guard) portAllowed(port uint16) bool { return slices.Contains(g.ports, port) }

// normalised writes networks the way addresses are compared: host bits cleared, IPv4 as IPv4.
func normalised(networks []netip.Prefix) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(networks))
	for _, network := range networks {
		clean, ok := normal(network)
		if !ok {
			return nil, fmt.Errorf("EGRESS_ALLOWED_NETWORKS: %s is not a network", network)
		}
		out = append(out, clean)
	}
	return out, nil
}
