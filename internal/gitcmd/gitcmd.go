// Package gitcmd runs the git program. It is the only package that starts processes with arguments: fixed words are
// literals, what users choose comes after "--", and the environment is made from nothing.
//
// A Repository is a bare repository on this machine, a Remote one elsewhere. Programs that git starts connect to the one
// address that was checked, and what a remote sends enters the repository only when all of it has arrived and is sound.
package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Config says which git to run. An empty Path means the one on the search path; CABundle is a file of certificate
// authorities that replaces the system's, empty for none.
type Config struct {
	Path     string
	CABundle string
	Limits   Limits
}

// Git is an installed git program. It is safe for concurrent use.
type Git struct {
	path     string
	caBundle string
	limits   Limits
	usual    surroundings
	version  Version
}

// Open finds git and asks for its version. Check tells whether it can be used.
func Open(ctx context.Context, cfg Config) (*Git, error) {
	name := cfg.Path
	if name == "" {
		name = "git"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("find git (version %s or newer must be installed): %w", oldest(), err)
	}
	g := &Git{path: path, caBundle: cfg.CABundle, limits: cfg.Limits.orDefaults(), usual: usual(cfg.CABundle)}
	var out strings.Builder
	if err := g.Run(ctx, "", NewCommand("version"), nil, &out); err != nil {
		return nil, fmt.Errorf("ask git for its version: %w", err)
	}
	version, ok := parseVersion(out.String())
	if !ok {
		return nil, errors.New("ask git for its version: " + path + " does not answer like git")
	}
	g.version = version
	return g, nil
}

// Version is the version of the program.
func (g *Git) Version() Version { return g.version }
