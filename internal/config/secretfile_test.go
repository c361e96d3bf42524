package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/config"
)

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdef01234567"
	for _, test := range []struct {
		name         string
		environ      []string
		file         string
		want, origin string
		problem      string
	}{
		{name: "from the environment", environ: []string{"INTERNAL_API_KEY_FILE=/run/key"}, want: key, origin: "environment INTERNAL_API_KEY_FILE"},
		{name: "from the file", file: "INTERNAL_API_KEY_FILE: /run/key", want: key, origin: "file c.yaml"},
		{
			name: "the environment wins over the file", file: "INTERNAL_API_KEY_FILE: /run/key",
			environ: []string{"INTERNAL_API_KEY=another key of the installation"}, want: "another key of the installation", origin: "environment INTERNAL_API_KEY",
		},
		{name: "carriage return", environ: []string{"INTERNAL_API_KEY_FILE=/run/crlf"}, want: key, origin: "environment INTERNAL_API_KEY_FILE"},
		{
			name: "both", environ: []string{"INTERNAL_API_KEY=" + key, "INTERNAL_API_KEY_FILE=/run/key"},
			problem: "INTERNAL_API_KEY: INTERNAL_API_KEY and INTERNAL_API_KEY_FILE are both set; set one of them (from environment INTERNAL_API_KEY_FILE)",
		},
		{
			name: "both in the file", file: "INTERNAL_API_KEY: " + key + "\nINTERNAL_API_KEY_FILE: /run/key",
			problem: "INTERNAL_API_KEY: INTERNAL_API_KEY and INTERNAL_API_KEY_FILE are both set; set one of them (from file c.yaml line 2)",
		},
		{
			name: "missing", environ: []string{"INTERNAL_API_KEY_FILE=/run/nothing"},
			problem: `INTERNAL_API_KEY: cannot read "/run/nothing": file does not exist (from environment INTERNAL_API_KEY_FILE)`,
		},
		{
			name: "empty", environ: []string{"INTERNAL_API_KEY_FILE=/run/empty"},
			problem: `INTERNAL_API_KEY: the file "/run/empty" is empty (from environment INTERNAL_API_KEY_FILE)`,
		},
		{
			name: "its content is checked and not shown", environ: []string{"INTERNAL_API_KEY_FILE=/run/short"},
			problem: "INTERNAL_API_KEY: the value is too short; allowed: at least 24 characters (from environment INTERNAL_API_KEY_FILE)",
		},
		{
			name: "only secrets, in the environment", environ: []string{"DATA_DIR_FILE=/run/key", "HOST_FILE=/run/key"},
			problem: "DATA_DIR_FILE: not a setting; only secrets come from files: set DATA_DIR (from environment)",
		},
		{
			name: "only secrets, in the file", file: "HOST_FILE: /run/key",
			problem: "HOST_FILE: not a setting; only secrets come from files: set HOST (from file c.yaml line 1)",
		},
		{
			name: "a path is one value", file: "INTERNAL_API_KEY_FILE: [/run/key]\nTARGET: gateway\nDATABASE_URL: postgres://h/d",
			problem: "INTERNAL_API_KEY_FILE: is a YAML list, or one with more than plain values; allowed: text (from file c.yaml line 1)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			loaded, err := config.Load(config.Sources{
				Environ: append(test.environ, "ATELIER_CONFIG=c.yaml"),
				ReadFile: files{
					"c.yaml": test.file, "/run/key": key + "\n", "/run/crlf": key + "\r\n", "/run/empty": "\n", "/run/short": "hunter2",
				}.read,
				Targets: services(),
			})
			if diff := cmp.Diff(test.problem, message(err)); diff != "" {
				t.Fatal(diff)
			}
			if err != nil {
				return
			}
			if got := loaded.Config.InternalAPIKey.Reveal(); got != test.want {
				t.Errorf("value %q, want %q", got, test.want)
			}
			if value := valueOf(t, loaded, "INTERNAL_API_KEY"); value.Origin != test.origin || value.Value != "***" || !value.Secret {
				t.Errorf("listed as %+v", value)
			}
		})
	}
}

func TestOlderNames(t *testing.T) {
	t.Parallel()
	const address = "postgres://u:hunter2@h/d"
	const differ = " are two names of one setting and differ; set one of them (from environment "
	for _, test := range []struct {
		name    string
		environ []string
		origin  string
		problem string
	}{
		{"one", []string{"USERS_STORAGE_HOST=" + address}, "environment USERS_STORAGE_HOST", ""},
		{"from a file", []string{"PERMISSIONS_STORAGE_HOST_FILE=/run/url"}, "environment PERMISSIONS_STORAGE_HOST_FILE", ""},
		{"the same", []string{"USERS_STORAGE_HOST=" + address, "DATABASE_URL=" + address}, "environment DATABASE_URL", ""},
		{
			"different",
			[]string{"USERS_STORAGE_HOST=" + address, "DATABASE_URL=postgres://other"},
			"",
			"DATABASE_URL: DATABASE_URL and USERS_STORAGE_HOST" + differ + "USERS_STORAGE_HOST)",
		},
		{
			"different older names",
			[]string{"USERS_STORAGE_HOST=" + address, "PERMISSIONS_STORAGE_HOST=postgres://other"},
			"",
			"DATABASE_URL: PERMISSIONS_STORAGE_HOST and USERS_STORAGE_HOST" + differ + "USERS_STORAGE_HOST)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			loaded, err := config.Load(config.Sources{Environ: test.environ, ReadFile: files{"/run/url": address + "\n"}.read})
			if diff := cmp.Diff(test.problem, message(err)); diff != "" {
				t.Fatal(diff)
			}
			if err != nil {
				return
			}
			if got := loaded.Config.DatabaseURL.Reveal(); got != address {
				t.Errorf("value %q", got)
			}
			if got := valueOf(t, loaded, "DATABASE_URL").Origin; got != test.origin {
				t.Errorf("origin %q, want %q", got, test.origin)
			}
		})
	}
}

func TestOlderNameInTheFile(t *testing.T) {
	t.Parallel()
	loaded, err := fromFile("USERS_STORAGE_HOST: postgres://h/d")
	if err != nil {
		t.Fatal(err)
	}
	if got := loaded.Config.DatabaseURL.Reveal(); got != "postgres://h/d" {
		t.Errorf("value %q", got)
	}
}
