package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"atelier/internal/app"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/sqldb"
)

func migrateCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up to date and exit",
		Long: `Bring the database schema up to date and exit. "atelier serve" does the same at its start; use this where a separate job
changes the schema before new processes are started. Steps are only ever added, so older processes may go on meanwhile.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := load(cmd, p)
			if err != nil {
				return err
			}
			return migrate(cmd.Context(), loaded.Config, p)
		},
	}
	settingFlags(cmd, dataDirFlag)
	return cmd
}

func migrate(ctx context.Context, cfg config.Config, p process) (err error) {
	if cfg.DatabaseURL == "" {
		lock, err := app.LockDataDir(cfg.DataDir)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
	}
	db, err := app.OpenDatabase(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	applied, err := sqldb.Migrate(ctx, db, clock.System{}.Now(), app.Migrations()...)
	for _, step := range applied {
		_, _ = fmt.Fprintf(p.out, "applied %s/%s\n", step.Component, step.Name)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "the %s schema is up to date\n", db.Driver())
	return err
}
