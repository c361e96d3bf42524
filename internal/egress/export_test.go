package egress

import (
	"net"
	"strconv"
	"syscall"
)

// Observe puts a watcher between the dialer and the network: it sees each address with the guard's verdict, and its own
// verdict is the one that counts. It makes sure that no test sends a packet where it should not.
func (g *Guard) Observe(watch func(address string, verdict error) error) {
	g.dialer.Control = func(network, address string, conn syscall.RawConn) error {
		return watch(address, g.control(network, address, conn))
	}
}

// Resolve replaces the resolver.
func (g *Guard) Resolve(resolver *net.Resolver) { g.dialer.Resolver = resolver }

// Proxied tells whether the transport asks anything for a proxy.
func (g *Guard) Proxied() bool { return g.transport.http.Proxy != nil }

// Decide is the guard's verdict about one address.
func (g *Guard) Decide(network, ip string, port int) error {
	return g.control(network, net.JoinHostPort(ip, strconv.Itoa(port)), nil)
}
