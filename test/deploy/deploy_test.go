// Package deploy_test checks the deployment files as far as a machine without a container engine can.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"atelier/internal/app"
	"atelier/internal/config"
)

const deploy = "../../deploy"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type compose struct {
	Services map[string]struct {
		Command     []string          `yaml:"command"`
		Environment map[string]string `yaml:"environment"`
		DependsOn   map[string]any    `yaml:"depends_on"`
	} `yaml:"services"`
}

// Every service of the cluster starts with settings that this binary accepts, each target once.
func TestComposeSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	var file compose
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(deploy, "compose.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\$\{(\w+)(?::[?-]([^}]*))?\}`)
	var targets []string
	for name, service := range file.Services {
		if len(service.Command) == 0 || service.Command[0] != "serve" {
			continue
		}
		flags := map[string]string{}
		for _, argument := range service.Command[1:] {
			flag, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
			flags[flag] = value
		}
		var environ []string
		for setting, value := range service.Environment {
			environ = append(environ, setting+"="+variable.ReplaceAllString(value, "a-secret-of-at-least-24-characters"))
		}
		environ = slices.DeleteFunc(environ, func(s string) bool { return strings.HasPrefix(s, "ADMIN_EMAIL=") })
		loaded, err := config.Load(config.Sources{Environ: environ, Flags: flags, Targets: app.TargetNames()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(loaded.Config.Target) != 1 || loaded.Config.Target[0] != name {
			t.Errorf("%s runs %v", name, loaded.Config.Target)
		}
		targets = append(targets, name)
		for other := range service.DependsOn {
			if _, ok := file.Services[other]; !ok {
				t.Errorf("%s depends on %s, which does not exist", name, other)
			}
		}
	}
	slices.Sort(targets)
	if !slices.Equal(targets, app.TargetNames()) {
		t.Errorf("the cluster runs %v, the binary has %v", targets, app.TargetNames())
	}
}

// The container is built with the Go version of the module.
func TestContainerGoVersion(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../../go.mod"))
	if version == nil || !strings.Contains(read(t, filepath.Join(deploy, "Containerfile")), "golang:"+version[1]+"-") {
		t.Errorf("the Containerfile does not build with Go %v", version)
	}
}

func TestNATSSyncsAlways(t *testing.T) {
	t.Parallel()
	if !strings.Contains(read(t, filepath.Join(deploy, "nats.conf")), "sync_interval: always") {
		t.Error("the NATS servers would acknowledge events before they are on disk")
	}
}

// The systemd unit is well-formed, by systemd's own judgement where it is installed.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(deploy, "atelier.service")
	unit := read(t, path)
	for _, want := range []string{"ExecStart=/usr/local/bin/atelier serve", "[Install]", "Restart=on-failure"} {
		if !strings.Contains(unit, want) {
			t.Errorf("the unit lacks %q", want)
		}
	}
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: only the text was checked")
		return
	}
	work := t.TempDir()
	copied := filepath.Join(work, "atelier.service")
	text := strings.Replace(unit, "ExecStart=/usr/local/bin/atelier", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "verify", copied).CombinedOutput(); err != nil && strings.Contains(string(out), "atelier.service") {
		t.Errorf("systemd-analyze: %s", out)
	}
}
