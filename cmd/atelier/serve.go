package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"atelier/internal/app"
	automation "atelier/internal/automation/service"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/ident"
	"atelier/internal/telemetry"
)

func serveCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start the platform, or some of its services",
		Long: `Start the platform, or some of its services, and serve until SIGTERM or SIGINT.

Without settings everything runs in this process, listens on port 3001 and keeps its data in ./data. The first start makes
the database, the signing key, the workspace "platform" and a super admin: ADMIN_EMAIL with ADMIN_PASSWORD, or with a
password that is shown once.

A signal makes it refuse new work, finish what it is doing and exit with code 0; a second one ends it at once.`,
		Example: `  atelier serve
  atelier serve --port 8080 --data-dir /var/lib/atelier
  atelier serve --target gateway,workspaces --config /etc/atelier.yaml`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := load(cmd, p)
			if err != nil {
				return err
			}
			shareProcessors()
			defer tuneMemory(cmd.Context(), p)()
			return serve(cmd.Context(), options(loaded.Config, p))
		},
	}
	settingFlags(cmd)
	return cmd
}

// serve runs until ctx ends. Being told to stop while still starting is not a failure either.
func serve(ctx context.Context, opts app.Options) error {
	running, err := app.Start(ctx, opts)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	return running.Wait(ctx)
}

func options(cfg config.Config, p process) app.Options {
	return app.Options{
		Config: cfg, Version: version, Log: logger(cfg, p.err), Terminal: p.out, Clock: clock.System{}, IDs: ident.Source{}, Worker: automation.ThisProgram(),
		Lookup:  func(name string) string { return lookup(p.environ, name) },
		Environ: func(prefix string) map[string]string { return begin(p.environ, prefix) },
	}
}

func logger(cfg config.Config, w io.Writer) *slog.Logger {
	format := cfg.LogFormat
	if format == "auto" {
		format = "json"
		if isTerminal(w) {
			format = "text"
		}
	}
	return telemetry.NewLogger(w, cfg.LogLevel, format)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// lookup reads a variable; of a name that occurs twice the first counts, as for settings.
func lookup(environ []string, name string) string {
	for _, variable := range environ {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// begin gives the variables that begin with a prefix, by the rest of their names.
func begin(environ []string, prefix string) map[string]string {
	found := map[string]string{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		rest, ok := strings.CutPrefix(name, prefix)
		if _, seen := found[rest]; ok && !seen {
			found[rest] = value
		}
	}
	return found
}
