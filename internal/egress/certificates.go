package egress

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"atelier/internal/ident"
)

// bundleName is the file CABundle writes.
const bundleName = "ca-bundle.pem"

// trustedRoots reads EXTRA_CA_CERTS. Without it the pool is nil, which means the system's.
func trustedRoots(path string) (*x509.CertPool, []byte, error) {
	if path == "" {
		return nil, nil, nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, nil, fmt.Errorf("EXTRA_CA_CERTS: %w", err)
	}
	certificates, err := parseCertificates(text)
	if err != nil {
		return nil, nil, fmt.Errorf("EXTRA_CA_CERTS: %s: %w", path, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	for _, certificate := range certificates {
		pool.AddCert(certificate)
	}
	return pool, encodeCertificates(certificates), nil
}

// parseCertificates is strict: a certificate passed over in silence is a riddle later.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("holds a %s; only certificates belong there", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(certificates)+1, err)
		}
		certificates = append(certificates, certificate)
		text = rest
	}
	if len(certificates) == 0 {
		return nil, errors.New("holds no certificate in PEM form")
	}
	if bytes.Contains(text, []byte("-----BEGIN")) {
		return nil, fmt.Errorf("what follows certificate %d cannot be read", len(certificates))
	}
	return certificates, nil
}

func encodeCertificates(certificates []*x509.Certificate) []byte {
	var out []byte
	for _, certificate := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return out
}

// CABundle writes the system's authorities and those of EXTRA_CA_CERTS to one file in dir and returns its path, for
// git's GIT_SSL_CAINFO, which replaces the system's instead of adding to them. Without EXTRA_CA_CERTS there is nothing to
// write and the path is empty.
func (g *Guard) CABundle(dir string) (string, error) {
	if g.extraPEM == nil {
		return "", nil
	}
	system, err := systemBundle()
	if err != nil {
		return "", err
	}
	if err := replaceFile(dir, bundleName, slices.Concat(system, []byte("\n"), g.extraPEM)); err != nil {
		return "", fmt.Errorf("write certificate bundle: %w", err)
	}
	return filepath.Abs(filepath.Join(dir, bundleName)) // git runs elsewhere
}

// systemBundle is the first of the files that Go looks at too; a container without any trusts the extra ones only.
func systemBundle() ([]byte, error) {
	for _, path := range []string{
		"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Alpine
		"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL 6
		"/etc/ssl/ca-bundle.pem",                            // openSUSE
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL 7 and later
		"/etc/ssl/cert.pem",                                 // macOS, BSD
	} {
		text, err := os.ReadFile(path) //nolint:gosec // one of the list above
		if err == nil {
			return text, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
	}
	return nil, nil
}

// replaceFile replaces the file at once: a git process that starts meanwhile reads the old or the new one.
func replaceFile(dir, name string, text []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	fresh := name + "." + ident.Source{}.UUID()
	err = root.WriteFile(fresh, text, 0o600)
	if err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		return errors.Join(err, root.RemoveAll(fresh))
	}
	return nil
}
