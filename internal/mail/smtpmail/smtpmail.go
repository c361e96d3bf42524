// Package smtpmail sends mails through an SMTP server: encrypted unless the operator says otherwise, with its certificate
// checked, and with a name and a password when there are any.
package smtpmail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/mail"
	"atelier/internal/mail/internal/compose"
)

// Security is how the connection is protected.
type Security string

// The ways to protect a connection. There is no way that is given up silently: a server without STARTTLS gets no mail.
const (
	STARTTLS Security = "starttls"
	TLS      Security = "tls"
	None     Security = "none"
)

// Config is the server, and from whom mails are.
type Config struct {
	Host     string
	Port     int
	User     string
	Password string //nolint:gosec // a configuration value; this struct is never encoded
	Security Security
	From     string
	// TLS says which authorities to trust; nil means those of the system.
	TLS *tls.Config
	// Dial reaches the server; nil means the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout bounds every step of a conversation; zero means 30 seconds.
	Timeout time.Duration
	Clock   clock.Clock
	IDs     ident.Source
}

const (
	usualTimeout = 30 * time.Second
	// tlsPort is where servers expect TLS from the first byte (RFC 8314).
	tlsPort = 465
)

// Sender sends each mail over a connection of its own.
type Sender struct {
	cfg      Config
	composer compose.Composer
}

// Open checks the configuration; the server is first reached by Ping or Send.
func Open(cfg Config) (*Sender, error) {
	composer := compose.Composer{From: cfg.From, Clock: cfg.Clock, IDs: cfg.IDs}
	if err := composer.Check(); err != nil {
		return nil, err
	}
	if cfg.Host == "" {
		return nil, errors.New("SMTP_HOST: name the SMTP server")
	}
	if cfg.Security == STARTTLS && cfg.Port == tlsPort {
		cfg.Security = TLS
	}
	if cfg.Security == None && cfg.User != "" && !onThisMachine(cfg.Host) {
		return nil, errors.New("SMTP_SECURE: a password is not sent without encryption to another machine; choose starttls or tls")
	}
	if cfg.TLS == nil {
		cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	cfg.TLS = cfg.TLS.Clone()
	cfg.TLS.ServerName = cfg.Host
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = usualTimeout
	}
	return &Sender{cfg: cfg, composer: composer}, nil
}

// onThisMachine names the hosts that the library sends a password to without encryption.
func onThisMachine(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// Driver is smtp.
func (s *Sender) Driver() string { return "smtp" }

// Close has nothing to release: no connection outlives its mail.
func (s *Sender) Close() error { return nil }

// Send hands the message to the server.
func (s *Sender) Send(ctx context.Context, message mail.Message) error {
	composed, err := s.composer.Message(message)
	if err != nil {
		return err
	}
	return s.talk(ctx, func(client *gomail.Client, session *smtp.Client) error {
		err := client.SendWithSMTPClient(session, composed)
		if composed.IsDelivered() {
			return nil // what goes wrong behind the server's word that it has the mail must not send it again
		}
		return judge(err)
	})
}

// Ping connects, encrypts and signs in as for a mail, and sends none.
func (s *Sender) Ping(ctx context.Context) error {
	return s.talk(ctx, func(_ *gomail.Client, session *smtp.Client) error { return session.Noop() })
}

// talk opens a session for the work and ends it, politely when the work was done.
func (s *Sender) talk(ctx context.Context, work func(*gomail.Client, *smtp.Client) error) error {
	line := &line{cfg: s.cfg}
	defer line.cut()
	defer context.AfterFunc(ctx, line.cut)()
	client, err := gomail.NewClient(s.cfg.Host, s.options(line)...)
	if err != nil {
		return fmt.Errorf("smtp: %w", err)
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err == nil {
		err = work(client, session)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("smtp: %w", err)
	}
	_ = session.Quit() // the server has the mail whether it says goodbye or not
	return nil
}

func (s *Sender) options(line *line) []gomail.Option {
	options := []gomail.Option{
		gomail.WithPort(s.cfg.Port), gomail.WithTimeout(s.cfg.Timeout), gomail.WithDialContextFunc(line.dial),
		gomail.WithTLSConfig(s.cfg.TLS), gomail.WithoutNoop(),
	}
	switch s.cfg.Security {
	case TLS:
		options = append(options, gomail.WithSSL())
	case None:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	case STARTTLS:
		fallthrough
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.cfg.User != "" {
		options = append(options, gomail.WithUsername(s.cfg.User), gomail.WithPassword(s.cfg.Password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5))
	}
	return options
}

// judge tells a message that will never be taken from a bad moment. Only what the server says of the recipient and of the
// message counts: that it does not let us in is for the operator to mend.
func judge(err error) error {
	failure, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return err
	}
	const permanent = 500
	ofMessage := failure.Reason == gomail.ErrSMTPRcptTo || failure.Reason == gomail.ErrSMTPData || failure.Reason == gomail.ErrSMTPDataClose
	if ofMessage && failure.ErrorCode() >= permanent {
		return fmt.Errorf("%w: %w", mail.ErrRejected, err)
	}
	return err
}

var _ mail.Sender = (*Sender)(nil)
