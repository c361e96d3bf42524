package egress_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/egress"
)

func TestExtraCertificates(t *testing.T) {
	t.Parallel()
	url, authority := tlsServer(t)
	networks, err := egress.ParseNetworks([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	without := newGuardFrom(t, egress.Config{AllowedNetworks: networks})
	_, err = without.get(t, url)
	wantHidden(t, err)

	with := newGuardFrom(t, egress.Config{AllowedNetworks: networks, ExtraCACerts: authority})
	if got, err := with.get(t, url); err != nil || got != "hello" {
		t.Errorf("with the authority: %q, %v", got, err)
	}
	if with.TLSConfig().RootCAs == nil || without.TLSConfig().RootCAs != nil {
		t.Error("TLSConfig does not hold the authorities")
	}
}

func TestTLSConfigIsACopy(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	guard.TLSConfig().InsecureSkipVerify = true
	if guard.TLSConfig().InsecureSkipVerify {
		t.Error("a caller changed the settings of all")
	}
}

func TestBadCertificateFiles(t *testing.T) {
	t.Parallel()
	_, authority := tlsServer(t)
	good, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":                "",
		"not PEM":              "hello",
		"a private key":        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"a broken certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"a good and a broken":  string(good) + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"a good and half one":  string(good) + "-----BEGIN CERTIFICATE-----\nAAAA\n",
	} {
		path := filepath.Join(t.TempDir(), "extra.pem")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := egress.New(egress.Config{ExtraCACerts: path}); err == nil || !strings.Contains(err.Error(), "EXTRA_CA_CERTS") {
			t.Errorf("%s: %v, want an error naming the setting", name, err)
		}
	}
	if _, err := egress.New(egress.Config{ExtraCACerts: "/nowhere/extra.pem"}); err == nil || !strings.Contains(err.Error(), "EXTRA_CA_CERTS") {
		t.Errorf("no file: %v, want an error naming the setting", err)
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if path, err := newGuard(t).CABundle(dir); err != nil || path != "" {
		t.Errorf("without extra certificates: %q, %v, want no file", path, err)
	}
	_, file := tlsServer(t)
	guard := newGuardFrom(t, egress.Config{ExtraCACerts: file})
	var path string
	for range 2 { // the second time it is replaced
		var err error
		if path, err = guard.CABundle(dir); err != nil {
			t.Fatal(err)
		}
	}
	bundle, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	extra, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, certificate, _ := bytes.Cut(extra, []byte("\n")); !bytes.Contains(bundle, certificate) {
		t.Error("the extra authority is not in the bundle")
	}
	if system, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt"); err == nil && !bytes.Contains(bundle, system) {
		t.Error("the system's authorities are not in the bundle")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v, want the bundle only", entries, err)
	}
	if _, err := guard.CABundle(filepath.Join(dir, "missing")); err == nil {
		t.Error("writing to a missing folder succeeds")
	}
}
