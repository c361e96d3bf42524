package gitcmd

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

// probe shakes hands with an https server beside git, which waits for minutes for one that never answers and does not say
// what is wrong with a certificate. Nothing is sent.
type probe struct {
	git     *Git
	contact *contact
	chain   []*x509.Certificate
}

// run ends the operation when the server does not shake hands in time. Everything else git finds out by itself.
func (p *probe) run(ctx context.Context, end context.CancelCauseFunc) {
	if p.contact.address.Scheme != schemeHTTPS {
		return // ssh minds the time of its first contact
	}
	limit := p.git.limits.Connect
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := p.shakeHands(limited); err != nil && ctx.Err() == nil && limited.Err() != nil {
		end(p.contact.tooSlow(limit))
	}
}

func (p *probe) shakeHands(ctx context.Context) error {
	target := netip.AddrPortFrom(p.contact.IP, p.contact.address.PortOrDefault())
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", target.String())
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	conn := tls.Client(raw, &tls.Config{
		ServerName:         p.contact.address.Host,
		InsecureSkipVerify: true, //nolint:gosec // a look at the certificate; git is the one that trusts it or not
		MinVersion:         tls.VersionTLS12,
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	p.chain = conn.ConnectionState().PeerCertificates
	return nil
}

// explain says what is wrong with the certificate, what to do, and which one it is.
func (p *probe) explain() string {
	const remedy = "add the certificate to EXTRA_CA_CERTS"
	host := p.contact.address.Host
	untrusted := fmt.Sprintf("The certificate of %s is not trusted; %s, or that of the authority which signed it.", host, remedy)
	if len(p.chain) == 0 {
		return untrusted
	}
	leaf := p.chain[0]
	about := fmt.Sprintf(" It is %s, signed by %s, valid from %s to %s, SHA-256 %x.", nameOf(leaf), issuerOf(leaf),
		leaf.NotBefore.UTC().Format(time.DateOnly), leaf.NotAfter.UTC().Format(time.DateOnly), sha256.Sum256(leaf.Raw))
	const renew = "The server needs a new one; when no public authority signed that, " + remedy + "."
	err := p.verify()
	_, wrongHost := errors.AsType[x509.HostnameError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case wrongHost:
		return fmt.Sprintf("The certificate of %s was made for another host (%s). %s", host, namesOf(leaf), renew) + about
	case isInvalid && invalid.Reason == x509.Expired:
		return fmt.Sprintf("The certificate of %s has expired or is not valid yet. %s", host, renew) + about
	}
	return untrusted + about
}

func (p *probe) verify() error {
	options := x509.VerifyOptions{DNSName: p.contact.address.Host, Intermediates: x509.NewCertPool()}
	if p.git.caBundle != "" {
		text, err := os.ReadFile(p.git.caBundle)
		if err != nil {
			return err
		}
		options.Roots = x509.NewCertPool()
		options.Roots.AppendCertsFromPEM(text)
	}
	for _, certificate := range p.chain[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := p.chain[0].Verify(options)
	return err
}

// maxName is how much of a name is shown: a certificate says about itself what it likes.
const maxName = 80

func short(name string) string {
	if runes := []rune(name); len(runes) > maxName {
		return string(runes[:maxName]) + "…"
	}
	return name
}

func nameOf(certificate *x509.Certificate) string {
	if name := certificate.Subject.String(); name != "" {
		return short(name)
	}
	return namesOf(certificate)
}

func namesOf(certificate *x509.Certificate) string {
	names := certificate.DNSNames
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "without a name"
	}
	return short(strings.Join(names, ", "))
}

func issuerOf(certificate *x509.Certificate) string {
	if certificate.Issuer.String() == certificate.Subject.String() {
		return "itself"
	}
	return short(certificate.Issuer.String())
}
