package egress_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"atelier/internal/clock"
)

// tlsServer starts a server on 127.0.0.1 whose certificate was signed by a private authority, and returns its URL and
// the authority's certificate file, which begins with a line of comment.
func tlsServer(t *testing.T) (url, authority string) {
	t.Helper()
	caKey, leafKey := newKey(t), newKey(t)
	ca := template("Private Authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	leaf := template("server")
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	caDER, leafDER := sign(t, ca, ca, caKey, caKey), sign(t, leaf, ca, leafKey, caKey)

	server := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}}}
	server.StartTLS()
	t.Cleanup(server.Close)

	authority = filepath.Join(t.TempDir(), "extra.pem")
	text := append([]byte("# our own authority\n"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})...)
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, authority
}

func template(name string) *x509.Certificate {
	now := clock.System{}.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(time.Hour),
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, certificate, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, certificate, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
