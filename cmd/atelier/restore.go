package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"atelier/internal/app"
	"atelier/internal/backup"
	"atelier/internal/config"
	"atelier/internal/sqldb/sqlite"
)

func restoreCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into an empty data directory",
		Long: `Restore a backup into a data directory that is empty or does not exist. Everything is checked first; when something is
wrong with the backup, nothing is left behind. Afterwards "atelier serve" goes on with it: accounts, sessions and tokens
stay valid.`,
		Example: `  atelier restore --data-dir /var/lib/atelier /backups/atelier.tar.zst`,
		Args:    takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := load(cmd, p)
			if err != nil {
				return err
			}
			manifest, err := restore(cmd.Context(), args[0], loaded.Config)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.out, "restored the backup of %s (%d files) to %s\n",
				manifest.CreatedAt.Format(time.RFC3339), len(manifest.Files), loaded.Config.DataDir)
			return err
		},
	}
	settingFlags(cmd, dataDirFlag)
	return cmd
}

func restore(ctx context.Context, path string, cfg config.Config) (backup.Manifest, error) {
	if cfg.DatabaseURL != "" {
		return backup.Manifest{}, errNotEmbedded
	}
	file, err := os.Open(path)
	if err != nil {
		return backup.Manifest{}, err
	}
	defer func() { _ = file.Close() }()
	return backup.Restore(ctx, file, restoreTarget(cfg), checkDatabase)
}

// restoreTarget puts contents that were in files back into files, also when new ones go to a bucket.
func restoreTarget(cfg config.Config) backup.Target {
	blobs := app.BlobDir(cfg)
	if blobs == "" {
		cfg.StorageType, cfg.StorageDir = "FILESYSTEM", ""
		blobs = app.BlobDir(cfg)
	}
	return backup.Target{DataDir: cfg.DataDir, BlobDir: blobs}
}

// checkDatabase lets the engine look over every page.
func checkDatabase(ctx context.Context, path string) (err error) {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var verdict string
	if err := db.QueryRow(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return errors.New(verdict)
	}
	return nil
}
