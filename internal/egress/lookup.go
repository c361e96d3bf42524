package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"atelier/internal/errs"
)

// sshPort is allowed beside the ports of the web, for callers that connect by themselves: git over SSH.
const sshPort = 22

// Lookup resolves a host for programs that connect by themselves, as git does, and returns the first address that is
// allowed: whoever connects to this very address, and never asks for the name again, is where the guard would let them.
// What can be seen to be forbidden is a validation error on the field "url"; a name that leads nowhere allowed is
// unreachable.
func (g *Guard) Lookup(ctx context.Context, host string, port uint16) (netip.Addr, error) {
	if port == sshPort {
		port = 443
	}
	name, err := canonicalHost(host)
	if err != nil {
		return netip.Addr{}, invalidHost(err)
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		if err := g.inspectPort(addr, port); err != nil {
			return netip.Addr{}, invalidHost(err)
		}
		return addr.Unmap(), nil
	}
	if err := g.inspectName(name, port); err != nil {
		return netip.Addr{}, invalidHost(err)
	}
	return g.resolve(ctx, name, port)
}

func (g *Guard) resolve(ctx context.Context, name string, port uint16) (netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	addrs, err := g.dialer.Resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, unreachable(fmt.Errorf("resolve %s: %w", name, err))
	}
	refused := errors.New("the name has no address")
	for _, addr := range addrs {
		addr = addr.Unmap()
		if refused = g.inspectPort(addr, port); refused == nil {
			return addr, nil
		}
	}
	return netip.Addr{}, unreachable(fmt.Errorf("%s: %w", name, refused))
}

func (g *Guard) inspectPort(addr netip.Addr, port uint16) error {
	if port == 0 {
		return errPort
	}
	return g.inspectAddress(addr, port)
}

func invalidHost(err error) error {
	return errs.Invalid(errs.Field{Field: "url", Message: "The URL " + err.Error() + "."})
}

// DialContext connects to what Lookup allows.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, invalidHost(errNotURL)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, invalidHost(errPort)
	}
	addr, err := g.Lookup(ctx, host, uint16(port))
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(addr, uint16(port)).String())
	if err != nil {
		return nil, unreachable(err)
	}
	return conn, nil
}
