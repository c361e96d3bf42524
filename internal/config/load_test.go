package config_test

import (
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := "PORT: 1111\nHOST: from-file\nLOG_LEVEL: debug\nDATA_DIR: ''\nADMIN_EMAIL:\nLOG_FORMAT: json\n"
	loaded, err := config.Load(config.Sources{
		Environ:  []string{"ATELIER_CONFIG=/etc/atelier.yaml", "PORT=2222", "HOST=from-env", "PATH=/bin", "LOG_FORMAT="},
		Flags:    map[string]string{"port": "3333", "target": ""},
		ReadFile: files{"/etc/atelier.yaml": file}.read,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"PORT":        {"3333", "flag --port"},
		"HOST":        {"from-env", "environment HOST"},
		"LOG_LEVEL":   {"debug", "file /etc/atelier.yaml"},
		"LOG_FORMAT":  {"json", "file /etc/atelier.yaml"},
		"DATA_DIR":    {"./data", "default"},
		"ADMIN_EMAIL": {"admin@localhost", "default"},
		"TARGET":      {"all", "default"},
		"API_URL":     {"", "default"},
	} {
		if value := valueOf(t, loaded, name); value.Value != want[0] || value.Origin != want[1] {
			t.Errorf("%s is %q from %q, want %q", name, value.Value, value.Origin, want)
		}
	}
	if loaded.File != "/etc/atelier.yaml" || loaded.Config.Port != 3333 {
		t.Errorf("file %q, port %d", loaded.File, loaded.Config.Port)
	}
}

func TestConfigFileByFlag(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Sources{
		Environ:  []string{"ATELIER_CONFIG=missing.yaml"},
		Flags:    map[string]string{"config": "own.yaml"},
		ReadFile: files{"own.yaml": "PORT: 5000"}.read,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := valueOf(t, loaded, "PORT").Origin; got != "file own.yaml" {
		t.Errorf("origin %q", got)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{Flags: map[string]string{"prot": "1", "port": "x", "": "y"}})
	want := "--\"\": not a setting\n--prot: not a setting\n" +
		`PORT: "x" is not a whole number; allowed: 0 to 65535 (from flag --port)`
	if diff := cmp.Diff(want, message(err)); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, offered := range config.Flags() {
		names = append(names, offered.Name+" "+offered.Setting)
		if offered.Doc == "" {
			t.Errorf("flag %s has no text", offered.Name)
		}
	}
	if diff := cmp.Diff([]string{"target TARGET", "port PORT", "host HOST", "data-dir DATA_DIR"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestEveryProblemIsReportedOnceAndSorted(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{
		Environ:  []string{"ATELIER_CONFIG=c.yaml", "PORT=abc", "ATELIER_PROT=1", "JWKS_KTY=EC", "PORT=again"},
		Flags:    map[string]string{"target": "nowhere"},
		ReadFile: files{"c.yaml": "LOG_LEVEL: loud\nPORT: 70000\n"}.read,
		Targets:  services(),
	})
	want := strings.Join([]string{
		`ATELIER_PROT: not a setting; did you mean PORT? (from environment)`,
		`JWKS_KTY: EC does not fit JWKS_ALG RS256; allowed: RSA (from environment JWKS_KTY)`,
		`LOG_LEVEL: "loud" is not a known value; allowed: debug, info, warn, error (from file c.yaml line 1)`,
		`PORT: "70000" is out of range; allowed: 0 to 65535 (from file c.yaml line 2)`,
		`PORT: "abc" is not a whole number; allowed: 0 to 65535 (from environment PORT)`,
		`TARGET: "nowhere" is not a service; allowed: all, gateway, workspaces, events, runtime (from flag --target)`,
	}, "\n")
	if diff := cmp.Diff(sortedLines(want), message(err)); diff != "" {
		t.Error(diff)
	}
	var problems *config.Problems
	if !errors.As(err, &problems) || len(problems.List) != 6 || problems.List[0].Setting != "ATELIER_PROT" {
		t.Errorf("problems: %#v", problems)
	}
}

func TestNothingIsNeeded(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if loaded.File != "" || loaded.Config.ListenPort() != 3001 {
		t.Errorf("file %q, port %d", loaded.File, loaded.Config.ListenPort())
	}
	if _, err := config.Load(config.Sources{Environ: []string{"ATELIER_CONFIG=x"}}); err == nil {
		t.Error("a file was read without a reader")
	}
}

// The table itself: a name, a text and a group for every field, and no name twice.
func TestTableIsComplete(t *testing.T) {
	t.Parallel()
	loaded, err := fromEnviron()
	if err != nil {
		t.Fatal(err)
	}
	structure := reflect.TypeFor[config.Config]()
	if fields := structure.NumField(); len(loaded.Values) != fields {
		t.Errorf("%d values for %d fields", len(loaded.Values), fields)
	}
	for field := range structure.Fields() {
		amount := field.Type.Kind() == reflect.Int || field.Type.Kind() == reflect.Int64
		if amount && (field.Tag.Get("min") == "" || field.Tag.Get("max") == "") {
			t.Errorf("%s has no bounds", field.Name)
		}
	}
	seen := map[string]bool{}
	for _, value := range loaded.Values {
		if value.Name == "" || value.Doc == "" || value.Group == "" || value.Origin != "default" || seen[value.Name] {
			t.Errorf("incomplete or twice: %+v", value)
		}
		seen[value.Name] = true
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Sources{
		Environ: []string{
			"ATELIER_CONFIG=atelier.yaml", "ADMIN_PASSWORD=hunter2", "INTERNAL_API_KEY_FILE=/run/key",
			"USERS_STORAGE_HOST=postgres://atelier:hunter2@db/atelier", "REQUEST_MAX_SIZE=100MB", "DISABLE_RATE_LIMIT=on",
		},
		Flags: map[string]string{"data-dir": "/var/lib/atelier"},
		ReadFile: files{
			"atelier.yaml": "REQUEST_TIMEOUT: 120\nTRUSTED_PROXIES: [10.0.0.0/8, '::1']\nBROKER_PASSWORD: hunter2\n",
			"/run/key":     "hunter2hunter2hunter2hunter2\n",
		}.read,
	})
	if err != nil {
		t.Fatal(err)
	}
	var listing strings.Builder
	for _, value := range loaded.Values {
		listing.WriteString(value.Name + " = " + value.Value + " (" + value.Origin + ")\n")
	}
	if strings.Contains(listing.String(), "hunter2") {
		t.Error("the listing shows a secret")
	}
	golden(t, "testdata/listing.golden", listing.String())
}

func TestReference(t *testing.T) {
	t.Parallel()
	golden(t, "../../docs/configuration.md", config.Reference())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; run with -update and read the diff:\n%s", path, diff)
	}
}
