package httpx_test

import (
	"net/netip"
	"testing"

	"atelier/internal/httpx"
)

// What goes on because of a request is known by its id and address; the request itself is not changed.
func TestOnward(t *testing.T) {
	t.Parallel()
	here := netip.MustParseAddr("192.0.2.1")
	info := &httpx.Info{CorrelationID: "first", Client: here, Agent: "a"}
	ctx := httpx.WithInfo(t.Context(), info)
	for _, c := range []struct {
		id, client string
		want       httpx.Info
		same       bool
	}{
		{"first", "192.0.2.1", *info, true},
		{"first", "", *info, true},
		{"first", "nowhere", *info, true},
		{"second", "192.0.2.1", httpx.Info{CorrelationID: "second", Client: here, Agent: "a"}, false},
		{"first", "192.0.2.2", httpx.Info{CorrelationID: "first", Client: netip.MustParseAddr("192.0.2.2"), Agent: "a"}, false},
	} {
		onward := httpx.Onward(ctx, c.id, c.client)
		if got := httpx.InfoFrom(onward); *got != c.want || (onward == ctx) != c.same {
			t.Errorf("%s %s: %+v", c.id, c.client, got)
		}
	}
	if info.CorrelationID != "first" || info.Client != here {
		t.Errorf("the request is another one: %+v", info)
	}
	if got := httpx.InfoFrom(httpx.Onward(t.Context(), "id", "192.0.2.3")); got.CorrelationID != "id" || got.Client != netip.MustParseAddr("192.0.2.3") {
		t.Errorf("without a request: %+v", got)
	}
}
