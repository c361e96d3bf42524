package config_test

import (
	"io/fs"
	"strings"
	"testing"

	"atelier/internal/config"
)

// files is the file system of a test: path to content.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	content, found := f[path]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(content), nil
}

func services() []string { return []string{"gateway", "workspaces", "events", "runtime"} }

// fromEnviron loads with variables only.
func fromEnviron(variables ...string) (*config.Loaded, error) {
	return config.Load(config.Sources{Environ: variables, ReadFile: files{}.read, Targets: services()})
}

// fromFile loads with a configuration file only.
func fromFile(content string) (*config.Loaded, error) {
	return config.Load(config.Sources{
		Environ:  []string{"ATELIER_CONFIG=atelier.yaml"},
		ReadFile: files{"atelier.yaml": content, "/run/key": "0123456789abcdef01234567\n"}.read,
		Targets:  services(),
	})
}

// message is the text of an error, or empty.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func valueOf(t *testing.T, loaded *config.Loaded, name string) config.Value {
	t.Helper()
	for _, value := range loaded.Values {
		if value.Name == name {
			return value
		}
	}
	t.Fatalf("no value %s", name)
	return config.Value{}
}

func words(text string) []string { return strings.Fields(text) }
