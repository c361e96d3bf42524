package egress_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/egress"
	"atelier/internal/errs"
)

// hostileHosts is B-SRF-01: every spelling of an address that nobody outside may reach.
func hostileHosts() []string {
	return []string{
		"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.255.255.254", "0x7f000001", "0x7f.1", "0x7F.0.0.1", "2130706433", "017700000001", "0177.0.0.1",
		"00177.0.0.1", "127.0.0.01", "localhost", "localhost.", "LOCALHOST", "LocalHost.", "a.localhost", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
		"0.0.0.0", "0", "0.1.2.3", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
		"[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[2001::1]", "[fec0::1]", "[fe80::1]", "[fe80::1%25lo]", "[::1%25lo]",
		"169.254.169.254", "169.254.170.2", "0xa9fea9fe", "2852039166", "[::ffff:169.254.169.254]", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		"[fd00:ec2::254]", "[fc00::1]", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.1",
		"100.64.0.1", "198.18.0.1", "198.19.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"[ff02::1]", "[100::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]", "intranet", "redis",
	}
}

func TestHostileSpellingsAreRefusedWhenSaved(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	for _, host := range hostileHosts() {
		err := guard.CheckURL("http://" + host + "/latest/meta-data/")
		if errs.CodeOf(err) != errs.ValidationFailed {
			t.Errorf("%s: %v, want a validation error", host, err)
			continue
		}
		if fields := errs.From(err).Fields; len(fields) != 1 || !strings.Contains(fields[0].Message, "EGRESS_ALLOWED_NETWORKS") {
			t.Errorf("%s: %v does not say how to allow it", host, fields)
		}
	}
}

// The same hosts at the moment of the call: neither the URL nor the address behind it gets through, and nothing but the
// one message comes back.
func TestHostileSpellingsAreNeverDialled(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	guard.Resolve((&names{}).resolver(t))
	for _, host := range hostileHosts() {
		if _, err := guard.get(t, "http://"+host+"/"); err == nil {
			t.Errorf("%s: the call succeeded", host)
		} else {
			wantHidden(t, err)
		}
	}
	if allowed, _ := guard.dials(); len(allowed) != 0 {
		t.Errorf("dialled: %v", allowed)
	}
}

// The same addresses behind a harmless name: only the check of the connected address stands in the way.
func TestNamesOfHostileAddressesAreNeverDialled(t *testing.T) {
	t.Parallel()
	for _, host := range hostileHosts() {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			continue // other spellings of the same
		}
		guard := newGuard(t)
		guard.Resolve((&names{answers: map[string][][]string{"harmless.example": {{addr.String()}}}}).resolver(t))
		_, err = guard.get(t, "http://harmless.example/")
		wantHidden(t, err)
		allowed, refused := guard.dials()
		if diff := cmp.Diff([]string{addr.String() + ":80"}, refused); diff != "" || len(allowed) != 0 {
			t.Errorf("%s: dialled %v, refused (-want +got):\n%s", host, allowed, diff)
		}
	}
}

func TestControlRefusesEveryIPv6Form(t *testing.T) {
	t.Parallel()
	for _, host := range hostileHosts() {
		text, ok := strings.CutPrefix(host, "[")
		if !ok || strings.Contains(host, "%") {
			continue
		}
		guard := newGuard(t)
		if err := guard.Decide("tcp6", strings.TrimSuffix(text, "]"), 443); err == nil {
			t.Errorf("%s would be dialled", host)
		}
	}
}

func TestPublicAddressesAreAllowed(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	for _, url := range []string{
		"http://8.8.8.8/", "https://1.1.1.1", "https://[2606:4700:4700::1111]/", "https://example.com/hook?x=1#y", "http://example.com:443",
		"HTTPS://EXAMPLE.COM.", "https://münchen.example", "https://a_b.example.com", "https://xn--mnchen-3ya.example", "https://1e100.net", "https://0x.example.com",
	} {
		if err := guard.CheckURL(url); err != nil {
			t.Errorf("%s: %v", url, errs.From(err).Fields)
		}
	}
	if _, err := guard.get(t, "http://8.8.8.8/"); err == nil {
		t.Error("the test reached the internet")
	}
	if allowed, _ := guard.dials(); len(allowed) != 1 || allowed[0] != "8.8.8.8:80" {
		t.Errorf("the guard let through %v, want 8.8.8.8:80", allowed)
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	for _, port := range []string{"0", "22", "25", "8080", "6379", "4222", "5432", "9200", "65536", "99999999999"} {
		for _, host := range []string{"8.8.8.8", "example.com", "[2606:4700:4700::1111]"} {
			guard := newGuard(t)
			guard.Resolve((&names{answers: map[string][][]string{"example.com": {{"8.8.8.8"}}}}).resolver(t))
			url := "http://" + host + ":" + port + "/"
			if err := guard.CheckURL(url); errs.CodeOf(err) != errs.ValidationFailed {
				t.Errorf("%s: %v, want a validation error", url, err)
			}
			_, err := guard.get(t, url)
			wantHidden(t, err)
			if allowed, _ := guard.dials(); len(allowed) != 0 {
				t.Errorf("%s: dialled %v", url, allowed)
			}
		}
	}
}

func TestPortsAreCheckedWhereNamesLead(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, "10.0.0.0/8") // names may use any port now, public addresses still may not
	guard.Resolve((&names{answers: map[string][][]string{"example.com": {{"8.8.8.8"}}}}).resolver(t))
	if err := guard.CheckURL("http://example.com:6379/"); err != nil {
		t.Errorf("CheckURL: %v", err)
	}
	_, err := guard.get(t, "http://example.com:6379/")
	wantHidden(t, err)
	if allowed, refused := guard.dials(); len(allowed) != 0 || len(refused) != 1 {
		t.Errorf("dialled %v, refused %v", allowed, refused)
	}
}

func TestAllowedPorts(t *testing.T) {
	t.Parallel()
	guard := newGuardFrom(t, egress.Config{AllowedPorts: []uint16{8443}})
	for url, want := range map[string]bool{
		"https://example.com:8443": true, "https://8.8.8.8:8443": true, "https://8.8.8.8": true, "https://8.8.8.8:8444": false, "https://10.0.0.1:8443": false,
	} {
		if err := guard.CheckURL(url); (err == nil) != want {
			t.Errorf("%s: %v", url, err)
		}
	}
	if guard.Decide("tcp4", "8.8.8.8", 8443) != nil || guard.Decide("tcp4", "8.8.8.8", 8444) == nil {
		t.Error("the port is not decided by the configuration")
	}
}

func TestAllowedNetworks(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, "10.1.0.0/16", " 192.168.7.9 ", "fd00::/8", "::ffff:172.16.0.0/108")
	for url, want := range map[string]bool{
		"http://10.1.2.3:8080": true, "http://10.2.0.1": false, "http://192.168.7.9:3000": true, "http://192.168.7.8": false,
		"http://[fd00::1]:9000": true, "http://[fe80::1]": false, "http://[::ffff:10.1.2.3]": true, "http://172.16.5.5": true, "http://172.32.0.1:81": false,
		"http://localhost": false, "http://gitlab:8080": true, "http://gitlab.internal:8080": true, "http://10.1": false,
	} {
		if err := guard.CheckURL(url); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %t", url, err, want)
		}
	}
	for address, want := range map[string]bool{
		"10.1.2.3": true, "10.2.0.1": false, "fd00::1": true, "::ffff:10.1.2.3": true, "::ffff:10.2.0.1": false, "127.0.0.1": false, "fd00::1%lo": false,
	} {
		network := "tcp4"
		if strings.Contains(address, ":") {
			network = "tcp6"
		}
		if err := guard.Decide(network, address, 8080); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %t", address, err, want)
		}
	}
	if guard.Decide("udp4", "10.1.2.3", 80) == nil {
		t.Error("another protocol than TCP is allowed")
	}
}

func TestMalformedURLs(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	for _, url := range []string{
		"", "x", "example.com", "//example.com", "/path", "http://", "https:///path", "http:example.com", "http://:80",
		"file:///etc/passwd", "gopher://example.com", "ftp://example.com", "data:text/plain,x", "jar:http://example.com!/", "unix:/run/x", "javascript:alert(1)",
		"http://user@example.com", "http://user:pass@example.com", "http://example.com@10.0.0.1", "http://:@example.com",
		"http://10.0.0.1\\@example.com", "http://example.com\\.evil.com", "http://example.com/\r\nX: y", "http://example.com/\x00", "http://exa mple.com", " http://example.com",
		"http://example.com/\u200b", "http://example.com\t", "http://%31%32%37.0.0.1", "http://example.com%00", "http://[::1", "http://::1/", "http://[gggg::1]", "http://a..b", "http://.example.com",
		"http://exa<mple.com", "http://example.com,evil.com", "http://\xff.com", "http://" + strings.Repeat("a.", 200) + "com", "http://example.com/" + strings.Repeat("a", 9000),
		"http://example.com:80:80", "http://example.com:port", "http://[v1.x]",
	} {
		if err := guard.CheckURL(url); errs.CodeOf(err) != errs.ValidationFailed {
			t.Errorf("%.60q: %v, want a validation error", url, err)
		}
	}
}

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	got, err := egress.ParseNetworks([]string{"10.1.2.3/8", "192.168.1.1", "::1", "fd00::/8", "::ffff:10.0.0.0/104", "::ffff:10.0.0.1", "0.0.0.0/0"})
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 0, len(got))
	for _, network := range got {
		texts = append(texts, network.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.0/8", "192.168.1.1/32", "::1/128", "fd00::/8", "10.0.0.0/8", "10.0.0.1/32", "0.0.0.0/0"}, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "10.0.0.0/33", "10.0.0", "localhost", "10.0.0.0/8,fd00::/8", "fe80::1%lo", "fe80::%lo/64", "::ffff:0:0/90", "010.0.0.1"} {
		if _, err := egress.ParseNetworks([]string{bad}); err == nil || !strings.Contains(err.Error(), "EGRESS_ALLOWED_NETWORKS") {
			t.Errorf("%q: %v, want an error naming the setting", bad, err)
		}
	}
}
