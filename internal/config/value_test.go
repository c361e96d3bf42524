package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atelier/internal/config"
)

func TestValuesAreRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		variable string
		get      func(config.Config) any
		want     any
		shown    string
	}{
		{"HOST=::1", func(c config.Config) any { return c.Host }, "::1", "::1"},
		{"PORT=65535", func(c config.Config) any { return c.Port }, 65535, "65535"},
		{"DISABLE_RATE_LIMIT=yes", func(c config.Config) any { return c.DisableRateLimit }, true, "yes"},
		{"DISABLE_RATE_LIMIT=TRUE", func(c config.Config) any { return c.DisableRateLimit }, true, "yes"},
		{"DISABLE_RATE_LIMIT=on", func(c config.Config) any { return c.DisableRateLimit }, true, "yes"},
		{"DISABLE_RATE_LIMIT=1", func(c config.Config) any { return c.DisableRateLimit }, true, "yes"},
		{"OVERWRITE_CORRELATION_ID_HEADER=no", func(c config.Config) any { return c.OverwriteCorrelationID }, false, "no"},
		{"OVERWRITE_CORRELATION_ID_HEADER=False", func(c config.Config) any { return c.OverwriteCorrelationID }, false, "no"},
		{"OVERWRITE_CORRELATION_ID_HEADER=off", func(c config.Config) any { return c.OverwriteCorrelationID }, false, "no"},
		{"OVERWRITE_CORRELATION_ID_HEADER=0", func(c config.Config) any { return c.OverwriteCorrelationID }, false, "no"},
		{"REQUEST_TIMEOUT=1500ms", func(c config.Config) any { return c.RequestTimeout }, 1500 * time.Millisecond, "1.5s"},
		{"REQUEST_TIMEOUT=2m", func(c config.Config) any { return c.RequestTimeout }, 2 * time.Minute, "2m"},
		{"REQUEST_TIMEOUT=120", func(c config.Config) any { return c.RequestTimeout }, 2 * time.Minute, "2m"},
		{"ACCESS_TOKENS_MAX_AGE=2592000", func(c config.Config) any { return c.AccessTokensMaxAge }, 720 * time.Hour, "720h"},
		{"READINESS_CACHE_TTL_MS=500", func(c config.Config) any { return c.ReadinessCacheTTL }, 500 * time.Millisecond, "500ms"},
		{"EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION=14d", func(c config.Config) any { return c.EventsExecuted }, 14 * 24 * time.Hour, "336h"},
		{"WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES=45", func(c config.Config) any { return c.WriteLockTimeout }, 45 * time.Minute, "45m"},
		{"READINESS_CACHE_TTL_MS=0", func(c config.Config) any { return c.ReadinessCacheTTL }, time.Duration(0), "0s"},
		{"READINESS_CACHE_TTL_MS=10s", func(c config.Config) any { return c.ReadinessCacheTTL }, 10 * time.Second, "10s"},
		{"REQUEST_MAX_SIZE=1048576", func(c config.Config) any { return c.RequestMaxSize }, 1 << 20, "1mb"},
		{"REQUEST_MAX_SIZE=10MB", func(c config.Config) any { return c.RequestMaxSize }, 10 << 20, "10mb"},
		{"REQUEST_MAX_SIZE=1gb", func(c config.Config) any { return c.RequestMaxSize }, 1 << 30, "1gb"},
		{"REQUEST_MAX_SIZE=3Kb", func(c config.Config) any { return c.RequestMaxSize }, 3 << 10, "3kb"},
		{"REQUEST_MAX_SIZE=5000b", func(c config.Config) any { return c.RequestMaxSize }, 5000, "5000"},
		{"REQUEST_MAX_SIZE=10000000", func(c config.Config) any { return c.RequestMaxSize }, 10000000, "10000000"},
		{
			"SUPER_ADMIN_EMAILS= a@b , ,c@d,", func(c config.Config) any { return c.SuperAdminEmails },
			[]string{"a@b", "c@d"},
			"a@b,c@d",
		},
		{"ADMIN_PASSWORD= p\\n ", func(c config.Config) any { return c.AdminPassword.Reveal() }, " p\\n ", "***"},
		{
			"BROKER_HOST=nats://a:4222,tls://b", func(c config.Config) any { return c.BrokerHost },
			[]string{"nats://a:4222", "tls://b"},
			"nats://a:4222,tls://b",
		},
		{
			"DATABASE_URL=postgresql://u:p@h1:1,h2:2/db?sslmode=require", func(c config.Config) any { return c.DatabaseURL.Reveal() },
			"postgresql://u:p@h1:1,h2:2/db?sslmode=require", "***",
		},
		{"BROKER_NAMESPACE=team-a_1", func(c config.Config) any { return c.BrokerNamespace }, "team-a_1", "team-a_1"},
		{"SESSIONS_STORAGE_HOST=rediss://r/0", func(c config.Config) any { return c.SessionsHost.Reveal() }, "rediss://r/0", "***"},
		{"RATE_LIMITS_STORAGE_HOST=redis://r/0", func(c config.Config) any { return c.LimitsHost.Reveal() }, "redis://r/0", "***"},
	} {
		t.Run(test.variable, func(t *testing.T) {
			t.Parallel()
			loaded, err := fromEnviron(test.variable)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, test.get(loaded.Config)); diff != "" {
				t.Error(diff)
			}
			name, _, _ := strings.Cut(test.variable, "=")
			if value := valueOf(t, loaded, name); value.Value != test.shown {
				t.Errorf("shown as %q, want %q", value.Value, test.shown)
			}
		})
	}
}

func TestValuesAreRefused(t *testing.T) {
	t.Parallel()
	const (
		httpAddress = "allowed: an address that begins with http:// or https://, without user, ? and #"
		timeout     = "is not a duration such as 500ms, 30s or 2m; allowed: 1s to 1h"
		size        = "is not a size such as 1048576, 500kb or 10mb; allowed: 1kb to 1gb"
	)
	for _, test := range []struct{ variable, want string }{
		{"PORT=abc", `"abc" is not a whole number; allowed: 0 to 65535`},
		{"PORT=1.5", `"1.5" is not a whole number; allowed: 0 to 65535`},
		{"PORT=-1", `"-1" is out of range; allowed: 0 to 65535`},
		{"PORT=65536", `"65536" is out of range; allowed: 0 to 65535`},
		{"PORT=99999999999999999999", `"99999999999999999999" is not a whole number; allowed: 0 to 65535`},
		{"DISABLE_RATE_LIMIT=maybe", `"maybe" is not a switch; allowed: yes, no, true, false, on, off, 1, 0`},
		{"REQUEST_TIMEOUT=soon", `"soon" ` + timeout},
		{"REQUEST_TIMEOUT=10 s", `"10 s" ` + timeout},
		{"REQUEST_TIMEOUT=9223372036854775807", `"9223372036854775807" ` + timeout},
		{"REQUEST_TIMEOUT=-9223372036854775807", `"-9223372036854775807" ` + timeout},
		{"REQUEST_TIMEOUT=10ms", `"10ms" is out of range; allowed: 1s to 1h`},
		{"REQUEST_TIMEOUT=2h", `"2h" is out of range; allowed: 1s to 1h`},
		{"REQUEST_MAX_SIZE=1tb", `"1tb" ` + size},
		{"REQUEST_MAX_SIZE=-1", `"-1" ` + size},
		{"REQUEST_MAX_SIZE=1.5mb", `"1.5mb" ` + size},
		{"REQUEST_MAX_SIZE=9999999999999gb", `"9999999999999gb" ` + size},
		{"REQUEST_MAX_SIZE=2gb", `"2gb" is out of range; allowed: 1kb to 1gb`},
		{"LOG_LEVEL=INFO", `"INFO" is not a known value; allowed: debug, info, warn, error`},
		{"LOG_LEVEL=info\nPORT: 1", `"info\nPORT: 1" is not a known value; allowed: debug, info, warn, error`},
		{"LOG_LEVEL=" + strings.Repeat("é", 60), `"` + strings.Repeat("é", 60) + `" is not a known value; allowed: debug, info, warn, error`},
		{"LOG_LEVEL=" + strings.Repeat("é", 61), `"` + strings.Repeat("é", 60) + `..." is not a known value; allowed: debug, info, warn, error`},
		{"OIDC_PROVIDER_URL=ftp://a", `"ftp://a" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=a.example.com", `"a.example.com" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=https://", `"https://" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=https:///path", `"https:///path" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=https://a:99999", `"https://a:99999" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=https://a?b", `"https://a?b" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=https://a#", `"https://a#" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=https://%zz", `"https://%zz" is not such an address; ` + httpAddress},
		{"OIDC_PROVIDER_URL=https://me:hunter2@a", `the value is not such an address; ` + httpAddress},
		{
			"BROKER_HOST=nats://a,nats://me:hunter2@b",
			"the value is not such an address; allowed: a comma list, each an address that begins with " +
				"nats:// or tls:// or ws:// or wss://, without user, ? and #",
		},
		{"BROKER_HOST=,", `"," has no item; allowed: a comma list, each an address that begins with ` +
			"nats:// or tls:// or ws:// or wss://, without user, ? and #"},
		{"DATABASE_URL=mysql://a:hunter2@b", "the value is not such an address; allowed: an address that begins with postgres:// or postgresql://"},
		{"DATABASE_URL=postgres://", "the value is not such an address; allowed: an address that begins with postgres:// or postgresql://"},
		{"DATABASE_URL=host=b password=hunter2", "the value is not such an address; allowed: an address that begins with postgres:// or postgresql://"},
		{"SESSIONS_STORAGE_HOST=hunter2", "the value is not such an address; allowed: an address that begins with redis:// or rediss://"},
		{"RATE_LIMITS_STORAGE_HOST=hunter2", "the value is not such an address; allowed: an address that begins with redis:// or rediss://"},
		{"INTERNAL_API_KEY=hunter2hunter2hunter2hu", "the value is too short; allowed: at least 24 characters"},
		{"BROKER_NAMESPACE=a.b", `"a.b" does not have the right form; allowed: text that matches ^[A-Za-z0-9_-]*$`},
		{"EXTRA_CA_CERTS=/ca.pem", `cannot read "/ca.pem": file does not exist`},
	} {
		t.Run(test.variable, func(t *testing.T) {
			t.Parallel()
			_, err := fromEnviron(test.variable)
			name, _, _ := strings.Cut(test.variable, "=")
			want := name + ": " + test.want + " (from environment " + name + ")"
			if diff := cmp.Diff(want, message(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFileThatMustExist(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{
		Environ:  []string{"EXTRA_CA_CERTS=/ca.pem"},
		ReadFile: files{"/ca.pem": ""}.read,
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	loaded, err := fromEnviron("ADMIN_PASSWORD=hunter2", "DATABASE_URL=postgres://u:hunter2@h/d")
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(loaded)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(encoded), fmt.Sprint(*loaded), fmt.Sprintf("%+v %#v", loaded.Config, loaded.Config),
		fmt.Sprintf("%q %x", loaded.Config.AdminPassword, loaded.Config.AdminPassword),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e746572") {
			t.Errorf("shows the secret: %s", text)
		}
	}
	if loaded.Config.AdminPassword.Reveal() != "hunter2" || config.Secret("").String() != "" {
		t.Error("the secret is lost, or its absence is hidden")
	}
}

// What the listing shows can be given back and means the same.
func TestListingReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, err := fromEnviron(
			fmt.Sprintf("REQUEST_TIMEOUT=%dms", rapid.Int64Range(1000, 3600_000).Draw(t, "timeout")),
			fmt.Sprintf("DRAIN_DELAY=%dns", rapid.Int64Range(0, 300_000_000_000).Draw(t, "delay")),
			fmt.Sprintf("REQUEST_MAX_SIZE=%d", rapid.Int64Range(1, 1<<20).Draw(t, "size")*1024),
			fmt.Sprintf("REQUEST_MAX_SIZE=%d", rapid.IntRange(1024, 1<<30).Draw(t, "small")),
			fmt.Sprintf("PORT=%d", rapid.IntRange(0, 65535).Draw(t, "port")),
			fmt.Sprintf("DISABLE_RATE_LIMIT=%t", rapid.Bool().Draw(t, "switch")),
			"SUPER_ADMIN_EMAILS="+strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-z]{1,5}@[a-z]{1,5}`)).Draw(t, "list"), " , "),
		)
		if err != nil {
			t.Fatal(err)
		}
		var variables []string
		for _, value := range first.Values {
			variables = append(variables, value.Name+"="+value.Value)
		}
		second, err := fromEnviron(variables...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Config, second.Config); diff != "" {
			t.Fatal(diff)
		}
	})
}
