package egress_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"atelier/internal/errs"
)

// B-GIT-02: programs that connect by themselves get an address that was checked, or none.
func TestLookupRefusesHostileHosts(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	guard.Resolve((&names{}).resolver(t))
	for _, host := range hostileHosts() {
		for _, port := range []uint16{22, 443} {
			addr, err := guard.Lookup(t.Context(), strings.Trim(host, "[]"), port)
			if err == nil {
				t.Errorf("%s:%d: got %s", host, port, addr)
			} else if code := errs.CodeOf(err); code != errs.ValidationFailed {
				t.Errorf("%s:%d: %v, want a validation error", host, port, err)
			}
		}
	}
}

func TestLookupRefusesNamesOfHostileAddresses(t *testing.T) {
	t.Parallel()
	for _, host := range hostileHosts() {
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is4() {
			continue
		}
		guard := newGuard(t)
		guard.Resolve((&names{answers: map[string][][]string{"harmless.example": {{host}}}}).resolver(t))
		_, err := guard.Lookup(t.Context(), "harmless.example", 443)
		wantHidden(t, err)
	}
}

func TestLookupTakesTheFirstAllowedAddress(t *testing.T) {
	t.Parallel()
	answers := map[string][][]string{"git.example": {{"10.0.0.1", "8.8.4.4", "127.0.0.1"}}, "inside.example": {{"10.1.2.3"}}}
	for _, c := range []struct {
		host     string
		port     uint16
		networks []string
		want     string // empty: refused
	}{
		{"git.example", 443, nil, "8.8.4.4"},
		{"git.example", 22, nil, "8.8.4.4"},
		{"GIT.example.", 443, nil, "8.8.4.4"},
		{"git.example", 2222, nil, ""},
		{"git.example", 0, nil, ""},
		{"git.example", 2222, []string{"10.0.0.0/24"}, "10.0.0.1"},
		{"inside.example", 443, nil, ""},
		{"inside.example", 3000, []string{"10.0.0.0/8"}, "10.1.2.3"},
		{"nobody.example", 443, nil, ""},
		{"8.8.8.8", 22, nil, "8.8.8.8"},
		{"8.8.8.8", 2222, nil, ""},
		{"8.8.8.8", 0, nil, ""},
		{"10.1.2.3", 8443, []string{"10.0.0.0/8"}, "10.1.2.3"},
		{"10.1.2.3", 0, []string{"10.0.0.0/8"}, ""},
		{"2606:4700:4700::1111", 443, nil, "2606:4700:4700::1111"},
	} {
		guard := newGuard(t, c.networks...)
		guard.Resolve((&names{answers: answers}).resolver(t))
		got, err := guard.Lookup(t.Context(), c.host, c.port)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s:%d with %v: got %s, want it refused", c.host, c.port, c.networks, got)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s:%d with %v: got %s, %v, want %s", c.host, c.port, c.networks, got, err, c.want)
		}
	}
}

func TestLookupEndsWithTheContext(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	guard.Resolve((&names{}).resolver(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := guard.Lookup(ctx, "git.example", 443)
	wantHidden(t, err)
}

func TestDialContext(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, address := range []string{"127.0.0.1:" + port, "git.example:" + port, "git.example", "git.example:x", "git.example:70000"} {
		guard := newGuard(t)
		guard.Resolve((&names{answers: map[string][][]string{"git.example": {{"127.0.0.1"}}}}).resolver(t))
		if conn, err := guard.DialContext(t.Context(), "tcp", address); err == nil {
			conn.Close()
			t.Errorf("%s was dialled", address)
		}
	}
	guard := newGuard(t, "127.0.0.0/8")
	guard.Resolve((&names{answers: map[string][][]string{"git.example": {{"127.0.0.1"}}}}).resolver(t))
	conn, err := guard.DialContext(t.Context(), "tcp", "git.example:"+port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	listener.Close()
	_, err = guard.DialContext(t.Context(), "tcp", "git.example:"+port)
	wantHidden(t, err)
}
