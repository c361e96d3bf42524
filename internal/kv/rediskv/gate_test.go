package rediskv_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/clock"
)

// gate stands before a server: it can hold back what passes, and cut the connections.
type gate struct {
	listener net.Listener
	server   string
	group    sync.WaitGroup

	mu    sync.Mutex
	open  chan struct{} // closed while traffic passes
	conns map[net.Conn]bool
	down  bool
}

// newGate forwards connections to the server at address; none at all when address is empty: then it accepts and is
// silent. A certificate makes it speak TLS to its clients.
func newGate(t *testing.T, server string, certificate *tls.Certificate) *gate {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if certificate != nil {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*certificate}})
	}
	g := &gate{listener: listener, server: server, open: make(chan struct{}), conns: make(map[net.Conn]bool)}
	close(g.open)
	g.group.Go(func() { g.accept(t.Context()) })
	t.Cleanup(func() {
		_ = listener.Close()
		g.cut()
		g.release()
		g.group.Wait()
	})
	return g
}

func (g *gate) accept(ctx context.Context) {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		if !g.keep(client) || g.server == "" {
			continue
		}
		server, err := (&net.Dialer{}).DialContext(ctx, "tcp", g.server)
		if err != nil || !g.keep(server) {
			g.drop(client)
			continue
		}
		g.group.Go(func() { g.forward(client, server) })
		g.group.Go(func() { g.forward(server, client) })
	}
}

func (g *gate) forward(from, to net.Conn) {
	defer g.drop(from, to)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		g.mu.Lock()
		open := g.open
		g.mu.Unlock()
		<-open
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (g *gate) keep(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down {
		_ = conn.Close()
		return false
	}
	g.conns[conn] = true
	return true
}

func (g *gate) drop(conns ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range conns {
		delete(g.conns, conn)
		_ = conn.Close()
	}
}

// hold lets nothing pass until release.
func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// cut ends every connection and refuses new ones until mend.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = true
	for conn := range g.conns {
		_ = conn.Close()
	}
	clear(g.conns)
}

func (g *gate) mend() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = false
}

// address is the URL of the server with the gate in its place.
func (g *gate) address(t *testing.T, server, scheme string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Scheme, u.Host = scheme, g.listener.Addr().String()
	return u.String()
}

func host(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// certificate makes one for 127.0.0.1 that signs itself, and the file to trust it by.
func certificate(t *testing.T) (*tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := clock.System{}.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// parrot is a server that repeats what it does not understand, and understands nothing.
func parrot(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { squawk(conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); group.Wait() })
	return listener.Addr().String()
}

func squawk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		heard := string(buffer[:n])
		commands := strings.Count("\n"+heard, "\n*") // several may come at once
		reply := "-ERR what is " + strings.NewReplacer("\r", " ", "\n", " ").Replace(heard) + "\r\n"
		if _, err := io.WriteString(conn, strings.Repeat(reply, commands)); err != nil {
			return
		}
	}
}
