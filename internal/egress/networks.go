package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// mappedBits is the length of the prefix ::ffff:0:0/96 in front of an IPv4 address.
const mappedBits = 96

// ParseNetworks reads EGRESS_ALLOWED_NETWORKS: networks such as 10.0.0.0/8 and single addresses.
func ParseNetworks(texts []string) ([]netip.Prefix, error) {
	networks := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		network, ok := parseNetwork(strings.TrimSpace(text))
		if !ok {
			return nil, fmt.Errorf("EGRESS_ALLOWED_NETWORKS: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

func parseNetwork(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return normal(netip.PrefixFrom(addr, addr.BitLen()))
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	return normal(network)
}

func normal(network netip.Prefix) (netip.Prefix, bool) {
	if network.Addr().Is4In6() {
		if network.Bits() < mappedBits {
			return netip.Prefix{}, false // neither all of IPv4 nor a network of IPv6
		}
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-mappedBits)
	}
	return network.Masked(), network.IsValid()
}

// allowedByOperator tells whether the address lies in an allowed network. Addresses with a zone lie in none.
func (g *Guard) allowedByOperator(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, network := range g.networks {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// control is asked by the dialer for every address it is about to connect to, after the name was resolved: what is
// checked here is what is connected to.
func (g *Guard) control(network, address string, conn syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("check address %s: %w", address, err)
	}
	if (network == "tcp4" || network == "tcp6") && g.allowedByOperator(target.Addr()) {
		return nil
	}
	return g.public.Safe(network, address, conn)
}
