package httpx_test

import (
	"net/netip"
	"testing"

	"atelier/internal/httpx"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7":            "192.0.2.7",
		"::ffff:192.0.2.7":     "192.0.2.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2::":       "2001:db8:1:2::/64",
		"2001:db8:1:3:3:4:5:6": "2001:db8:1:3::/64",
		"fe80::1%eth0":         "fe80::/64",
		"::1":                  "::/64",
	} {
		info := &httpx.Info{Client: netip.MustParseAddr(address)}
		if got := info.Network(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := (&httpx.Info{}).Network(); got == "" {
		t.Error("a caller without an address has no name to be counted under")
	}
}
