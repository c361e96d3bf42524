package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestSettingsFitTogether(t *testing.T) {
	t.Parallel()
	const (
		key      = "INTERNAL_API_KEY=0123456789abcdef01234567"
		database = "DATABASE_URL=postgres://h/d"
		split    = ": must be set when services run in separate processes"
		s3       = "WORKSPACES_STORAGE_S3_LIKE_"
		needed   = ": must be set when WORKSPACES_STORAGE_TYPE is S3_LIKE"
		unfit    = "JWKS_KTY: RSA does not fit JWKS_ALG "
	)
	for _, test := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"one process", []string{"TARGET=all"}, ""},
		{"all four", []string{"TARGET=runtime,events, workspaces,gateway"}, ""},
		{"split", []string{"TARGET=gateway"}, "DATABASE_URL" + split + "\nINTERNAL_API_KEY" + split},
		{"three of four", []string{"TARGET=gateway,workspaces,events", key}, "DATABASE_URL" + split},
		{"split complete", []string{"TARGET=workspaces", key, database}, ""},
		{
			"a failed setting is not also missing",
			[]string{"TARGET=workspaces", "INTERNAL_API_KEY=short", database},
			"INTERNAL_API_KEY: the value is too short; allowed: at least 24 characters (from environment INTERNAL_API_KEY)",
		},
		{
			"unknown target",
			[]string{"TARGET=gateway,console", key, database},
			`TARGET: "console" is not a service; allowed: all, gateway, workspaces, events, runtime (from environment TARGET)`,
		},
		{"target twice", []string{"TARGET=events,events", key, database}, "TARGET: events is named twice (from environment TARGET)"},
		{
			"all and more",
			[]string{"TARGET=all,events"},
			"TARGET: all stands for every service; allowed: all alone, or a list without it (from environment TARGET)",
		},
		{"master keys", []string{"SECRETS_MASTER_KEYS=a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,b:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="}, ""},
		{
			"a bad master key",
			[]string{"SECRETS_MASTER_KEYS=a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,b:c2hvcnQ="},
			`SECRETS_MASTER_KEYS: entry 2 ("b") has no good key; use 32 bytes in base64, such as "openssl rand -base64 32" makes (from environment SECRETS_MASTER_KEYS)`,
		},
		{"nats on SQLite", []string{"BROKER_DRIVER=nats"}, ""},
		{"elliptic", []string{"JWKS_ALG=ES256", "JWKS_KTY=EC"}, ""},
		{"edwards", []string{"JWKS_ALG=EdDSA", "JWKS_KTY=OKP"}, ""},
		{"pss", []string{"JWKS_ALG=PS512"}, ""},
		{"unfit elliptic", []string{"JWKS_ALG=ES384"}, unfit + "ES384; allowed: EC"},
		{"unfit edwards", []string{"JWKS_ALG=EdDSA"}, unfit + "EdDSA; allowed: OKP"},
		{
			"unfit RSA",
			[]string{"JWKS_KTY=OKP"},
			"JWKS_KTY: OKP does not fit JWKS_ALG RS256; allowed: RSA (from environment JWKS_KTY)",
		},
		{
			"bucket",
			[]string{"WORKSPACES_STORAGE_TYPE=S3_LIKE"},
			s3 + "ACCESS_KEY" + needed + "\n" + s3 + "ENDPOINT" + needed + "\n" + s3 + "SECRET_KEY" + needed,
		},
		{"bucket complete", []string{
			"WORKSPACES_STORAGE_TYPE=S3_LIKE", s3 + "ENDPOINT=http://s3:9000", s3 + "ACCESS_KEY=a", s3 + "SECRET_KEY=b",
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := fromEnviron(test.environ...)
			if diff := cmp.Diff(test.want, message(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
