package smtpmail_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/mail"
	"atelier/internal/mail/mailtest"
	"atelier/internal/mail/smtpmail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setting(name string) string { return os.Getenv(name) } //nolint:forbidigo // the servers for tests are named there

// provided is the server that tests were given; it skips, loudly, when there is none.
func provided(t *testing.T) smtpmail.Config {
	t.Helper()
	address := setting("TEST_SMTP")
	if address == "" {
		t.Skip("SKIPPED: smtp: TEST_SMTP is not set")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(setting("TEST_SMTP_CA"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return smtpmail.Config{
		Host: host, Port: number, User: setting("TEST_SMTP_USER"), Password: setting("TEST_SMTP_PASS"), Security: smtpmail.STARTTLS,
		From: mailtest.From, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Clock: clock.System{},
	}
}

func open(t *testing.T, cfg smtpmail.Config) *smtpmail.Sender {
	t.Helper()
	sender, err := smtpmail.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return sender
}

func received(t *testing.T, to string) (mails [][]byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(setting("TEST_SMTP_DIR"), strings.ReplaceAll(to, "/", "_"), "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		mails = append(mails, text)
	}
	return mails
}

func TestContract(t *testing.T) {
	t.Parallel()
	provided(t)
	mailtest.Run(t, func(t *testing.T) (mail.Sender, mailtest.Box) { return open(t, provided(t)), received })
}

func message(to string) mail.Message {
	return mail.Message{To: to, Subject: "Hello", Text: "Hello"}
}

// What the real server says of a recipient tells a mail that will never arrive from one that may.
func TestRefusedRecipients(t *testing.T) {
	t.Parallel()
	sender := open(t, provided(t))
	if err := sender.Send(t.Context(), message("reject@example.com")); !errors.Is(err, mail.ErrRejected) {
		t.Errorf("refused for good: %v", err)
	}
	if err := sender.Send(t.Context(), message("later@example.com")); err == nil || errors.Is(err, mail.ErrRejected) {
		t.Errorf("refused for now: %v", err)
	}
}

// Without a right certificate, name or password nothing is sent, and it is not the mail's fault.
func TestNotLetIn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*smtpmail.Config){
		"a wrong password":     func(c *smtpmail.Config) { c.Password = "wrong" },
		"a wrong name":         func(c *smtpmail.Config) { c.User = "wrong" },
		"no name":              func(c *smtpmail.Config) { c.User = "" },
		"an unknown authority": func(c *smtpmail.Config) { c.TLS = nil },
		"no encryption":        func(c *smtpmail.Config) { c.Security = smtpmail.None },
		"TLS from the start":   func(c *smtpmail.Config) { c.Security = smtpmail.TLS },
		"another host's certificate": func(c *smtpmail.Config) {
			dial := (&net.Dialer{}).DialContext
			real := net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
			c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, real) }
			c.Host = "mail.example.com"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := provided(t)
			change(&cfg)
			sender := open(t, cfg)
			to := "not-let-in-" + strings.ReplaceAll(name, " ", "-") + "@example.com"
			err := sender.Send(t.Context(), message(strings.ReplaceAll(to, "'", "")))
			if err == nil || errors.Is(err, mail.ErrRejected) || errors.Is(err, mail.ErrInvalid) {
				t.Errorf("send: %v", err)
			}
			if cfg.Password != "" && err != nil && strings.Contains(err.Error(), cfg.Password) && cfg.Password != "wrong" {
				t.Error("the error tells the password")
			}
			if name != "no name" && sender.Ping(t.Context()) == nil {
				t.Error("ping finds nothing wrong")
			}
			if len(received(t, to)) != 0 {
				t.Error("something arrived")
			}
		})
	}
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	fine := smtpmail.Config{Host: "mail.example.com", Port: 587, Security: smtpmail.STARTTLS, From: mailtest.From}
	for name, c := range map[string]struct {
		change func(*smtpmail.Config)
		good   bool
	}{
		"as usual":                       {func(*smtpmail.Config) {}, true},
		"no host":                        {func(c *smtpmail.Config) { c.Host = "" }, false},
		"a bad sender":                   {func(c *smtpmail.Config) { c.From = "Atelier <a@example.com>" }, false},
		"a password in the clear":        {func(c *smtpmail.Config) { c.Security, c.User = smtpmail.None, "ada" }, false},
		"no password, in the clear":      {func(c *smtpmail.Config) { c.Security = smtpmail.None }, true},
		"a password on the same machine": {func(c *smtpmail.Config) { c.Security, c.User, c.Host = smtpmail.None, "ada", "::1" }, true},
	} {
		cfg := fine
		c.change(&cfg)
		if _, err := smtpmail.Open(cfg); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
