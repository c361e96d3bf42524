package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/config"
)

func TestDerivedValues(t *testing.T) {
	t.Parallel()
	type derived struct {
		Port                     int
		Public, Issuer, Internal string
		Split                    bool
	}
	local := func(port int, split bool) derived {
		return derived{port, "http://localhost:3001/v2", "http://localhost:3001", "http://localhost:3001/v2", split}
	}
	for _, test := range []struct {
		name   string
		config config.Config
		want   derived
	}{
		{"all", config.Config{Target: []string{"all"}}, local(3001, false)},
		{"nothing", config.Config{}, local(3001, true)},
		{"gateway", config.Config{Target: []string{"gateway"}}, local(3001, true)},
		{"workspaces", config.Config{Target: []string{"workspaces"}}, local(3002, true)},
		{"runtime", config.Config{Target: []string{"runtime"}}, local(3003, true)},
		{"events", config.Config{Target: []string{"events"}}, local(3004, true)},
		{"gateway among others", config.Config{Target: []string{"events", "gateway"}}, local(3001, true)},
		{"two others", config.Config{Target: []string{"runtime", "events"}}, local(3003, true)},
		{"own port without the gateway", config.Config{Target: []string{"events"}, Port: 8080}, local(8080, true)},
		{"four", config.Config{Target: services()}, local(3001, false)},
		{
			"own port",
			config.Config{Target: []string{"all"}, Port: 8080},
			derived{8080, "http://localhost:8080/v2", "http://localhost:8080", "http://localhost:8080/v2", false},
		},
		{
			"public address",
			config.Config{Target: []string{"all"}, APIURL: "https://a.example/v2"},
			derived{3001, "https://a.example/v2", "https://a.example", "https://a.example/v2", false},
		},
		{
			"all addresses",
			config.Config{
				Target: []string{"all"}, APIURL: "https://a.example/v2", OIDCProviderURL: "https://id.example", InternalAPIURL: "http://gw:3001/v2",
			},
			derived{3001, "https://a.example/v2", "https://id.example", "http://gw:3001/v2", false},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := test.config
			got := derived{c.ListenPort(), c.PublicURL(), c.Issuer(), c.InternalURL(), c.SplitServices()}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
