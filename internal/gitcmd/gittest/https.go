package gittest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi" //nolint:gosec // fixed since Go 1.6
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Host is a name that the certificate of an https server holds beside 127.0.0.1, ::1 and localhost. No name server knows
// it: a client gets there only when it is told the address.
const Host = "git.test"

// web is the https side of a server.
type web struct {
	listener  net.Listener
	authority *authority
	handler   http.Handler // guarded by Server.mu
	leaf      *tls.Certificate
}

// HTTPS starts a server that asks for a user and a password.
func HTTPS(t testing.TB) *Server {
	t.Helper()
	folder := t.TempDir()
	s := &Server{t: t, root: filepath.Join(folder, "repositories"), CAFile: filepath.Join(folder, "ca.pem")}
	s.SetPassword("somebody", "pass word:%&ß'\"\\$1") // whatever is done with it on the way, this suffers from it
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.web = &web{listener: listener, authority: newAuthority(t)}
	write(t, s.CAFile, s.web.authority.pem, 0o600)
	s.base = "https://" + listener.Addr().String() + "/"
	s.web.handler = s.guarded(backend(t, s.root))
	s.SetCertificate(Valid())
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.requests.Add(1)
			s.mu.Lock()
			handler := s.web.handler
			s.mu.Unlock()
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.web.leaf, nil
		}},
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return s
}

// SetPassword changes what the server accepts from now on, and what Remote returns.
func (s *Server) SetPassword(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.password = user, password
}

// Wrap puts a fault around the server: f gets what answers now, credentials included.
func (s *Server) Wrap(f func(http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.web.handler = f(s.web.handler)
}

func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		s.mu.Lock()
		good := same(user, s.user) && same(password, s.password)
		s.mu.Unlock()
		if !good {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// backend runs git http-backend for each request. CGI has no requests of unknown length, so they are read first.
func backend(t testing.TB, root string) http.Handler {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	handler := &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Dir: "/", Stderr: io.Discard,
		Env:    append(environment(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=somebody"),
		Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, "the request broke off", http.StatusBadRequest)
				return
			}
			r = r.Clone(r.Context())
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		}
		handler.ServeHTTP(w, r)
	})
}

// CertificateOf says which certificate a server shows.
type CertificateOf struct {
	From, Until time.Time
	Names       []string // besides the addresses, when there are any
	SelfSigned  bool
}

// Valid is a certificate that who trusts the authority has no objection to.
func Valid() CertificateOf {
	return CertificateOf{From: time.Now().Add(-time.Hour), Until: time.Now().Add(24 * time.Hour), Names: []string{Host, "localhost"}}
}

// SetCertificate changes the certificate from the next connection on.
func (s *Server) SetCertificate(wanted CertificateOf) {
	s.t.Helper()
	leaf := s.web.authority.issue(s.t, wanted)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.web.leaf = leaf
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test Authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return a
}

func (a *authority) issue(t testing.TB, wanted CertificateOf) *tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "Test Server"}, NotBefore: wanted.From, NotAfter: wanted.Until, DNSNames: wanted.Names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(wanted.Names) > 1 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	parent, signer := a.certificate, a.key
	if wanted.SelfSigned {
		parent, signer = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
