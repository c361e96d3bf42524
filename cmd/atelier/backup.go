package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"atelier/internal/app"
	"atelier/internal/backup"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/sqldb/sqlite"
)

func backupCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy an embedded data directory to one file, while it is in use",
		Long: `Copy an embedded data directory to one file, while it is in use: the database as it is at one moment, the contents it
names, and the installation's key. FILE gets its name when the backup is whole; one that is there is replaced. It holds
password hashes and signing keys: keep it as safe as the data directory.`,
		Example: `  atelier backup --data-dir /var/lib/atelier /backups/atelier.tar.zst`,
		Args:    takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := load(cmd, p)
			if err != nil {
				return err
			}
			manifest, err := makeBackup(cmd.Context(), args[0], loaded.Config)
			if err != nil {
				return err
			}
			return describeBackup(p, args[0], loaded.Config, manifest)
		},
	}
	settingFlags(cmd, dataDirFlag)
	return cmd
}

func makeBackup(ctx context.Context, path string, cfg config.Config) (manifest backup.Manifest, err error) {
	if cfg.DatabaseURL != "" {
		return manifest, errNotEmbedded
	}
	if _, err := os.Stat(app.DatabasePath(cfg.DataDir)); err != nil {
		return manifest, fmt.Errorf("there is no Atelier database in %s; choose the data directory with --data-dir", cfg.DataDir)
	}
	db, err := sqlite.Open(ctx, app.DatabasePath(cfg.DataDir))
	if err != nil {
		return manifest, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return backup.Create(ctx, path, backup.Source{
		Snapshot: db.Backup, DataDir: cfg.DataDir, BlobDir: app.BlobDir(cfg), Version: version, Now: clock.System{}.Now(),
	})
}

var errNotEmbedded = errors.New("this installation is on PostgreSQL (DATABASE_URL): use pg_dump and pg_restore, and the tools of your object storage")

// describeBackup says what was made. A content that was damaged already makes the command fail, so that somebody looks.
func describeBackup(p process, path string, cfg config.Config, manifest backup.Manifest) error {
	_, _ = fmt.Fprintf(p.out, "backup of %d files written to %s\n", len(manifest.Files), path)
	if app.BlobDir(cfg) == "" {
		_, _ = fmt.Fprintf(p.out, "contents are in the bucket %s: back that up as well\n", cfg.S3Bucket)
	}
	if len(manifest.Damaged) > 0 {
		return fmt.Errorf("the backup was made, but these contents are damaged on disk; take them from an older backup: %s", strings.Join(manifest.Damaged, ", "))
	}
	return nil
}
