package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"atelier/internal/bus/natsbus"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqlite"
)

// inDatabase is where that is which needs no server of its own.
const inDatabase = "in the database"

func (d *doctor) databaseFix() string {
	if d.cfg.DatabaseURL != "" {
		return "check DATABASE_URL, that the server runs, and that it is set to be durable"
	}
	return "restore a backup into an empty directory, or put the data directory on a local disk"
}

func (d *doctor) database(ctx context.Context) (driver string, err error) {
	defer func() { d.broken = err != nil }()
	if d.cfg.DatabaseURL != "" {
		return d.server(ctx)
	}
	path := DatabasePath(d.cfg.DataDir)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		work, err := os.MkdirTemp(existing(d.cfg.DataDir), ".atelier-doctor-") // tries the engine where the file will be
		if err != nil {
			return "", err
		}
		defer func() { _ = os.RemoveAll(work) }()
		path = filepath.Join(work, databaseFile)
	}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Driver(), quickCheck(ctx, db)
}

func (d *doctor) server(ctx context.Context) (driver string, err error) {
	db, err := OpenDatabase(ctx, d.cfg)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Driver(), db.Ping(ctx)
}

// quickCheck has the embedded engine look over its file.
func quickCheck(ctx context.Context, db *sqldb.DB) error {
	var verdict string
	if err := db.QueryRow(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return errors.New("the file is damaged: " + verdict)
	}
	return nil
}

func (d *doctor) bus(ctx context.Context) (string, error) {
	if d.cfg.BrokerDriver != "nats" {
		return inDatabase, nil
	}
	return "nats", natsbus.Check(ctx, d.parts.natsConfig(), d.parts.opts.Log)
}

func (d *doctor) sessions(ctx context.Context) (string, error) {
	if d.cfg.SessionsHost == "" {
		return inDatabase, nil
	}
	if err := d.parts.openSessions(ctx); err != nil {
		return "", err
	}
	return d.parts.sessions.Driver(), d.parts.sessions.Ping(ctx)
}

func (d *doctor) limits(ctx context.Context) (string, error) {
	if d.cfg.LimitsHost == "" && d.cfg.SessionsHost != "" {
		return "with the sessions", nil
	}
	if err := d.parts.openLimits(ctx); err != nil {
		return "", err
	}
	return d.parts.limits.Driver(), d.parts.limits.Ping(ctx)
}

// mail reaches the server as for a mail, and sends none. Without a server it tries the place where mails are written to.
func (d *doctor) mail(ctx context.Context) (string, error) {
	if err := d.parts.openMail(ctx); err != nil {
		return "", err
	}
	if !sendsMail(d.cfg) {
		return "written to files in " + filepath.Join(d.cfg.DataDir, mailDir) + ", not sent, because SMTP_HOST is not set", canWrite(existing(d.cfg.DataDir))
	}
	return d.parts.mail.Driver(), d.parts.mail.Ping(ctx)
}

// blobs tries the place of contents. A bucket is made when there is none, as a start would.
func (d *doctor) blobs(ctx context.Context) (string, error) {
	if dir := BlobDir(d.cfg); dir != "" {
		return "filesystem", canWrite(existing(dir))
	}
	if err := d.parts.openBlobs(ctx); err != nil {
		return "", err
	}
	return d.parts.blobs.Driver(), d.parts.blobs.Ping(ctx)
}

// secrets looks whether every stored secret can be opened with the configured master keys.
func (d *doctor) secrets(ctx context.Context) (text string, err error) {
	if d.broken {
		return "not looked at, because of the database", nil
	}
	stored, err := OpenSecrets(ctx, d.cfg)
	if errors.Is(err, errOlder) || d.cfg.DatabaseURL == "" && hasDatabase(d.cfg) != nil {
		return "none yet", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stored.Close()) }()
	found, err := stored.Survey(ctx)
	if err != nil {
		return "", err
	}
	text = fmt.Sprintf("%d under the current master key %q", found.Current, stored.MasterKey())
	if found.Older > 0 {
		text += fmt.Sprintf(", %d under an older one: run \"atelier secrets rotate\"", found.Older)
	}
	return text, Unreadable(found)
}
