package filemail_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/clock"
	"atelier/internal/mail"
	"atelier/internal/mail/filemail"
	"atelier/internal/mail/mailtest"
)

func open(t *testing.T, dir string, log *slog.Logger) *filemail.Sender {
	t.Helper()
	sender, err := filemail.Open(filemail.Config{
		Dir: dir, From: mailtest.From, Clock: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sender.Close() })
	return sender
}

// files gives the mails of a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, filepath.Join(dir, entry.Name()))
	}
	return names
}

func TestContract(t *testing.T) {
	t.Parallel()
	mailtest.Run(t, func(t *testing.T) (mail.Sender, mailtest.Box) {
		dir := filepath.Join(t.TempDir(), "mail")
		return open(t, dir, slog.New(slog.DiscardHandler)), func(t *testing.T, to string) (mails [][]byte) {
			for _, name := range files(t, dir) {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(text, []byte("<"+to+">")) {
					mails = append(mails, text)
				}
			}
			return mails
		}
	})
}

// Mails are for the process's own user, and the log says where they are without saying what they hold.
func TestFilesAndLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "some", "where")
	var log bytes.Buffer
	sender := open(t, dir, slog.New(slog.NewTextHandler(&log, nil)))
	const secret = "https://example.com/?token=s3cr3t-t0ken"
	if err := sender.Send(t.Context(), mail.Message{To: "ada@example.com", Subject: "Hello", Text: secret, HTML: secret}); err != nil {
		t.Fatal(err)
	}
	names := files(t, dir)
	if len(names) != 1 || !strings.HasPrefix(filepath.Base(names[0]), "20260301T120000.000Z-") || filepath.Ext(names[0]) != ".eml" {
		t.Fatalf("%v", names)
	}
	if !strings.Contains(log.String(), names[0]) || !strings.Contains(log.String(), "SMTP_HOST") || strings.Contains(log.String(), "t0ken") {
		t.Errorf("the log says: %s", log.String())
	}
	for name, want := range map[string]os.FileMode{names[0]: 0o600, dir: 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if err := sender.Ping(t.Context()); err != nil || len(files(t, dir)) != 1 {
		t.Errorf("ping left something behind: %v %v", files(t, dir), err)
	}
}

// A folder that cannot be made is an error, not before there is a mail.
func TestBrokenFolder(t *testing.T) {
	t.Parallel()
	sender := open(t, filepath.Join("/dev/null", "mail"), slog.New(slog.DiscardHandler))
	if err := sender.Send(t.Context(), mail.Message{To: "ada@example.com", Subject: "x", Text: "x"}); err == nil {
		t.Error("a mail was written to nowhere")
	}
	if err := sender.Ping(t.Context()); err == nil {
		t.Error("nowhere answers")
	}
	if _, err := filemail.Open(filemail.Config{Dir: t.TempDir(), From: "a@b\r\nBcc: c@d"}); err == nil {
		t.Error("a sender that is none")
	}
}
