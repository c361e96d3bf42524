// Package filemail writes mails into a folder instead of sending them, one .eml file each, for installations without an SMTP
// server. Only the user the process runs as can read them: they hold one-time links.
package filemail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/mail"
	"atelier/internal/mail/internal/compose"
)

// Config is where mails go, and from whom they are.
type Config struct {
	// Dir is made with the first mail, so that an installation without any needs no place for them.
	Dir   string
	From  string
	Clock clock.Clock
	IDs   ident.Source
	Log   *slog.Logger
}

// Sender writes mails into a folder. Several processes may share it.
type Sender struct {
	dir      string
	composer compose.Composer
	ids      ident.Source
	log      *slog.Logger
}

const (
	folderMode = 0o700
	fileMode   = 0o600
)

// Open checks the configuration.
func Open(cfg Config) (*Sender, error) {
	composer := compose.Composer{From: cfg.From, Clock: cfg.Clock, IDs: cfg.IDs}
	if err := composer.Check(); err != nil {
		return nil, err
	}
	return &Sender{dir: cfg.Dir, composer: composer, ids: cfg.IDs, log: cfg.Log}, nil
}

// folder opens the place of mails.
func (s *Sender) folder() (*os.Root, error) {
	if err := os.MkdirAll(s.dir, folderMode); err != nil {
		return nil, fmt.Errorf("make the mail folder: %w", err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("open the mail folder: %w", err)
	}
	return root, nil
}

// Driver is file.
func (s *Sender) Driver() string { return "file" }

// Send writes the message to a file, whole or not at all, and says where.
func (s *Sender) Send(ctx context.Context, message mail.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	composed, err := s.composer.Message(message)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := composed.WriteTo(&text); err != nil {
		return fmt.Errorf("write a mail: %w", err)
	}
	const stamp = "20060102T150405.000Z"
	name := s.composer.Clock.Now().UTC().Format(stamp) + "-" + s.ids.UUID() + ".eml"
	if err := s.write(name, text.Bytes()); err != nil {
		return fmt.Errorf("write a mail: %w", err)
	}
	s.log.InfoContext(ctx, "a mail was written to a file and not sent, because no SMTP server is configured; set SMTP_HOST to send mails",
		"file", filepath.Join(s.dir, name), "subject", message.Subject)
	return nil
}

// write makes the file under another name first, so that nobody finds half a mail.
func (s *Sender) write(name string, text []byte) (err error) {
	root, err := s.folder()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	partial := "." + name + ".partial"
	file, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(partial)
		}
	}()
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := root.Rename(partial, name); err != nil {
		return err
	}
	return syncFolder(root)
}

// syncFolder makes a new name survive a power cut.
func syncFolder(root *os.Root) error {
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Ping writes a file and removes it.
func (s *Sender) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := s.folder()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name := ".ping-" + s.ids.UUID()
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("the mail folder cannot be written: %w", err)
	}
	return errors.Join(file.Close(), root.Remove(name))
}

// Close has nothing to release.
func (s *Sender) Close() error { return nil }

var _ mail.Sender = (*Sender)(nil)
