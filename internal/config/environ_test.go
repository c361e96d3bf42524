package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSlipsInTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		// One slip: a letter changed, dropped, added, two swapped.
		"DATABASE_URI":      "; did you mean DATABASE_URL?",
		"DATABASE_UR":       "; did you mean DATABASE_URL?",
		"LOG_LEVELS":        "; did you mean LOG_LEVEL?",
		"LOGLEVEL":          "; did you mean LOG_LEVEL?",
		"JWKS_AGL":          "; did you mean JWKS_ALG?",
		"ADMIN_PASWORD":     "; did you mean ADMIN_PASSWORD?",
		"DATABASE_URL_FIEL": "; did you mean DATABASE_URL_FILE?",
		"USER_STORAGE_HOST": "; did you mean USERS_STORAGE_HOST?",
		// Two slips in a long name, one at most in a short one.
		"REQUESTS_TIMEOUTS":  "; did you mean REQUEST_TIMEOUT?",
		"DATADIRS":           "",
		"REQUESTS_TIMEOUT_":  "; did you mean REQUEST_TIMEOUT?",
		"REQUEST_TIMEOUT_MS": "",
		"LOG_FARMET":         "; did you mean LOG_FORMAT?",
		"LOG_LAVAL":          "",
		// Short names are never matched, on either side.
		"POST": "", "HOSTS": "", "TARGETS": "", "API_URLS": "", "API_UR": "", "PORTS": "",
		// Ours for sure.
		"ATELIER_PORT":     "; did you mean PORT?",
		"ATELIER_CONFIGS":  "; did you mean ATELIER_CONFIG?",
		"ATELIER_DATA_DIR": "; did you mean DATA_DIR?",
		"ATELIER_X":        "; allowed: the names in docs/configuration.md",
		// Not ours.
		"HOSTNAME": "", "OTEL_SERVICE_NAME": "", "OTEL_LOG_LEVEL": "", "": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fromEnviron(name + "=3004")
			if want != "" {
				want = name + ": not a setting" + want + " (from environment)"
			}
			if diff := cmp.Diff(want, message(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEmptyVariableIsNotSet(t *testing.T) {
	t.Parallel()
	if _, err := fromEnviron("ATELIER_X=", "DATABASE_URI=", "PORT=", "TARGET=", "API_URL=", "broken", "=C:=C:\\"); err != nil {
		t.Error(err)
	}
}

// A container of a Kubernetes cluster sees its neighbours as variables, also those named like the product.
func TestKubernetesVariables(t *testing.T) {
	t.Parallel()
	var variables []string
	for _, service := range words("EVENTS WORKSPACES ATELIER ATELIER_GATEWAY KUBERNETES BROKER RATE_LIMITS_STORAGE SESSIONS_STORAGE") {
		variables = append(variables,
			service+"_PORT=tcp://10.43.0.7:3002", service+"_SERVICE_HOST=10.43.0.7", service+"_SERVICE_PORT=3002",
			service+"_SERVICE_PORT_HTTP=3002", service+"_PORT_3002_TCP=tcp://10.43.0.7:3002", service+"_PORT_3002_TCP_PROTO=tcp",
			service+"_PORT_3002_TCP_PORT=3002", service+"_PORT_3002_TCP_ADDR=10.43.0.7", service+"_PORT_53_UDP=udp://10.43.0.7:53")
	}
	if _, err := fromEnviron(variables...); err != nil {
		t.Error(err)
	}
	for _, variable := range words("ATELIER_GATEWAY_PORT=3001 BROKER_PORT=4222 ATELIER_PORT=http://a:1 ATELIER_X=tcp://a:1 ATELIER_X=http://a") {
		if _, err := fromEnviron(variable); err == nil {
			t.Errorf("a person wrote %s, and it was passed over", variable)
		}
	}
}

func TestRealisticEnvironments(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/environ.txt")
	if err != nil {
		t.Fatal(err)
	}
	variables := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(variables) < 90 {
		t.Fatalf("only %d variables", len(variables))
	}
	loaded, err := fromEnviron(variables...)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range loaded.Values {
		if value.Origin != "default" {
			t.Errorf("%s from %s", value.Name, value.Origin)
		}
	}
}

// Names of the specification for features that do not exist here are not slips of ours: an installation may share its
// environment with one that has them.
func TestOtherNamesOfTheSpecificationPass(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/specification_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	var variables []string
	for _, name := range words(string(content)) {
		variables = append(variables, name+"=x")
	}
	if len(variables) < 90 {
		t.Fatalf("only %d names", len(variables))
	}
	if _, err := fromEnviron(variables...); err != nil {
		t.Error(err)
	}
}
