package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/config"
)

func TestFileIsRead(t *testing.T) {
	t.Parallel()
	loaded, err := fromFile(`# a comment
PORT: 8080
HOST: ~
DISABLE_RATE_LIMIT: yes
OVERWRITE_CORRELATION_ID_HEADER: false
READINESS_CACHE_TTL_MS: 500
ADMIN_PASSWORD: 0123
CORS_ADDITIONAL_ALLOWED_ORIGINS: https://a.example, .b.example
SUPER_ADMIN_EMAILS: [a@b, "c@d"]
TRUSTED_PROXIES:
  - 10.0.0.0/8
DATABASE_URL: |
  postgres://h/d
`)
	if err != nil {
		t.Fatal(err)
	}
	c := loaded.Config
	got := []any{
		c.Port, c.Host, c.DisableRateLimit, c.OverwriteCorrelationID, c.ReadinessCacheTTL.String(), c.AdminPassword.Reveal(),
		c.CORSOrigins, c.SuperAdminEmails, c.TrustedProxies, c.DatabaseURL.Reveal(),
	}
	want := []any{
		8080, "", true, false, "500ms", "0123",
		[]string{"https://a.example", ".b.example"},
		[]string{"a@b", "c@d"},
		[]string{"10.0.0.0/8"},
		"postgres://h/d",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\n", "# nothing\n", "---\n", "{}", "~"} {
		if _, err := fromFile(content); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestFileIsStrict(t *testing.T) {
	t.Parallel()
	const where = " (from environment ATELIER_CONFIG)"
	for _, test := range []struct{ name, content, want string }{
		{"unknown key", "\nPROT: 1", "PROT: not a setting; did you mean PORT? (from file atelier.yaml line 2)"},
		{"lower case", "data-dir: x", "data-dir: not a setting; did you mean DATA_DIR? (from file atelier.yaml line 1)"},
		{"prefix", "ATELIER_JWKS_AGL: x", "ATELIER_JWKS_AGL: not a setting; did you mean JWKS_ALG? (from file atelier.yaml line 1)"},
		{"nothing close", "colour: red", "colour: not a setting; allowed: the names in docs/configuration.md (from file atelier.yaml line 1)"},
		{"file of nothing", "COLOUR_FILE: /x", "COLOUR_FILE: not a setting; allowed: the names in docs/configuration.md (from file atelier.yaml line 1)"},
		{"value not shown", "BROKER_PASWORD: hunter2", "BROKER_PASWORD: not a setting; did you mean BROKER_PASSWORD? (from file atelier.yaml line 1)"},
		{"the file itself", "ATELIER_CONFIG: x", "ATELIER_CONFIG: not a setting of the file; allowed: in the environment, or flag --config (from file atelier.yaml line 1)"},
		{"twice", "PORT: 1\nHOST: a\nPORT: 1", "PORT: set twice, first on line 1 (from file atelier.yaml line 3)"},
		{"twice without a value", "PORT:\nPORT: 1", "PORT: set twice, first on line 1 (from file atelier.yaml line 2)"},
		{"nested", "PORT:\n  http: 1", "PORT: is a nested mapping; allowed: 0 to 65535 (from file atelier.yaml line 1)"},
		{"nested list", "TRUSTED_PROXIES: {a: b}", "TRUSTED_PROXIES: is a nested mapping; allowed: a comma list, each a CIDR or an address, such as 10.0.0.0/8 or 192.168.1.7 (from file atelier.yaml line 1)"},
		{
			"list for one value", "PORT: [1]",
			"PORT: is a YAML list, or one with more than plain values; allowed: 0 to 65535 (from file atelier.yaml line 1)",
		},
		{
			"list of lists", "TRUSTED_PROXIES: [[a]]",
			"TRUSTED_PROXIES: is a YAML list, or one with more than plain values; allowed: a comma list, each a CIDR or an address, such as 10.0.0.0/8 or 192.168.1.7 (from file atelier.yaml line 1)",
		},
		{"alias", "HOST: &a x\nLOG_LEVEL: *a", "LOG_LEVEL: is a YAML alias (quote a value that begins with *); allowed: debug, info, warn, error (from file atelier.yaml line 2)"},
		{"tag", "ADMIN_PASSWORD: !hunter2 x", "ADMIN_PASSWORD: is a tagged value (quote a value that begins with !); allowed: text (from file atelier.yaml line 1)"},
		{"key that is no name", "? [a]\n: 1", `"": not a setting; allowed: the names in docs/configuration.md (from file atelier.yaml line 1)`},
		{"key of two lines", `"A\nB": 1`, `"A\nB": not a setting; allowed: the names in docs/configuration.md (from file atelier.yaml line 1)`},
		{"value", "PORT: http", `PORT: "http" is not a whole number; allowed: 0 to 65535 (from file atelier.yaml line 1)`},
		{"number form", "PORT: 0x50", `PORT: "0x50" is not a whole number; allowed: 0 to 65535 (from file atelier.yaml line 1)`},
		{"not YAML", "PORT: 1\nHOST\n", `ATELIER_CONFIG: "atelier.yaml" is not YAML: line 2: could not find expected ':'` + where},
		{"secret as anchor", "PORT: 1\nADMIN_PASSWORD: *hunter2", `ATELIER_CONFIG: "atelier.yaml" is not YAML: a value that begins with * must be quoted` + where},
		{"no mapping", "- PORT", `ATELIER_CONFIG: "atelier.yaml" is not a list of settings; allowed: lines of NAME: value` + where},
		{"plain text", "PORT=1", `ATELIER_CONFIG: "atelier.yaml" is not a list of settings; allowed: lines of NAME: value` + where},
		{"two documents", "PORT: 1\n---\nPORT: 2", `ATELIER_CONFIG: "atelier.yaml" holds more than one YAML document; allowed: one` + where},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := fromFile(test.content)
			if diff := cmp.Diff(test.want, message(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{Flags: map[string]string{"config": "nowhere.yaml"}, ReadFile: files{}.read})
	want := `ATELIER_CONFIG: cannot read "nowhere.yaml": file does not exist (from flag --config)`
	if diff := cmp.Diff(want, message(err)); diff != "" {
		t.Error(diff)
	}
}
