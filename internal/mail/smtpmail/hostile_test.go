package smtpmail_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/clock"
	"atelier/internal/mail"
	"atelier/internal/mail/mailtest"
	"atelier/internal/mail/smtpmail"
)

// fake is a server that answers commands from a script: the first word of a command gives the answer. An empty answer
// hangs up; a missing one is silence.
type fake struct {
	answers map[string]string
	tls     *tls.Config // from the first byte, when set

	mu       sync.Mutex
	commands []string
}

func polite() map[string]string {
	return map[string]string{
		"": "220 fake", "EHLO": "250-fake\r\n250 AUTH PLAIN", "AUTH": "235 fine", "MAIL": "250 fine", "RCPT": "250 fine", "DATA": "354 go on",
		".": "250 mine", "RSET": "250 fine", "NOOP": "250 fine", "QUIT": "221 bye",
	}
}

// serve starts the server and gives the configuration to reach it without encryption.
func (f *fake) serve(t *testing.T) smtpmail.Config {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { f.talk(conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); group.Wait() })
	return smtpmail.Config{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, Security: smtpmail.None, From: mailtest.From, Clock: clock.System{},
	}
}

func (f *fake) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if f.tls != nil {
		conn = tls.Server(conn, f.tls)
	}
	lines := bufio.NewScanner(conn)
	inData := false
	if !f.answer(conn, "") {
		return
	}
	for lines.Scan() {
		word, _, _ := strings.Cut(strings.ToUpper(lines.Text()), " ")
		if inData && word != "." {
			continue
		}
		f.mu.Lock()
		f.commands = append(f.commands, lines.Text())
		f.mu.Unlock()
		inData = word == "DATA" && strings.HasPrefix(f.answers["DATA"], "3")
		if !f.answer(conn, word) {
			return
		}
	}
}

func (f *fake) answer(conn net.Conn, word string) bool {
	text, known := f.answers[word]
	if known && text == "" {
		return false
	}
	if known {
		_, _ = fmt.Fprintf(conn, "%s\r\n", text)
	}
	return true
}

func (f *fake) heard(command string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, line := range f.commands {
		if strings.HasPrefix(line, command) {
			return true
		}
	}
	return false
}

// Only the server's word that the mail is its own counts, and only what it says of the mail is the mail's fault.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const good, again, never = "good", "again", "never"
	for name, c := range map[string]struct{ command, answer, want string }{
		"polite":                        {"NOOP", "250 fine", good},
		"no greeting":                   {"", "", again},
		"busy":                          {"", "421 too busy", again},
		"not for you":                   {"", "554 go away", again},
		"a refused sender":              {"MAIL", "550 not from you", again},
		"wants a password":              {"MAIL", "530 authenticate first", again},
		"a recipient that is not":       {"RCPT", "550 nobody", never},
		"a recipient later":             {"RCPT", "450 full", again},
		"no data":                       {"DATA", "554 no", never},
		"data later":                    {"DATA", "451 not now", again},
		"a mail it does not like":       {".", "554 spam", never},
		"a mail it does not like now":   {".", "452 disk full", again},
		"hangs up at the end":           {".", "", again},
		"hangs up after the mail":       {"RSET", "", good},
		"complains after the mail":      {"RSET", "500 what", good},
		"does not say goodbye":          {"QUIT", "", good},
		"says goodbye badly":            {"QUIT", "500 no", good},
		"speaks another language":       {"", "HTTP/1.1 400 Bad Request", again},
		"a very long greeting":          {"", "220 " + strings.Repeat("x", 100_000), good},
		"many lines where one would do": {"MAIL", "250-a\r\n250-b\r\n250 c", good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &fake{answers: polite()}
			server.answers[c.command] = c.answer
			err := open(t, server.serve(t)).Send(t.Context(), message("ada@example.com"))
			got := again
			switch {
			case err == nil:
				got = good
			case errors.Is(err, mail.ErrRejected):
				got = never
			}
			if got != c.want {
				t.Errorf("%s, want %s: %v", got, c.want, err)
			}
		})
	}
}

// A server that takes no encryption gets neither a mail nor a password, whatever else it offers.
func TestNoSilentDowngrade(t *testing.T) {
	t.Parallel()
	server := &fake{answers: polite()}
	cfg := server.serve(t)
	cfg.Security, cfg.User, cfg.Password = smtpmail.STARTTLS, "ada", "secret"
	sender := open(t, cfg)
	if sender.Send(t.Context(), message("ada@example.com")) == nil || sender.Ping(t.Context()) == nil {
		t.Error("the mail went out in the clear")
	}
	if server.heard("AUTH") || server.heard("MAIL") {
		t.Errorf("%v", server.commands)
	}
}

// Silence ends with the context, and with the time allowed for a step.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "EHLO", "MAIL", "."} {
		t.Run("at "+command, func(t *testing.T) {
			t.Parallel()
			server := &fake{answers: polite()}
			delete(server.answers, command)
			cfg := server.serve(t)
			ctx, cancel := context.WithCancel(t.Context())
			wait := 5 * time.Millisecond
			timer := time.AfterFunc(wait, cancel)
			defer timer.Stop()
			if err := open(t, cfg).Send(ctx, message("ada@example.com")); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			cfg.Timeout = 20 * time.Millisecond
			if err := open(t, cfg).Send(t.Context(), message("ada@example.com")); err == nil || errors.Is(err, mail.ErrRejected) {
				t.Errorf("slow: %v", err)
			}
		})
	}
}

func TestTLSFromTheFirstByte(t *testing.T) {
	t.Parallel()
	certificate, roots := selfSigned(t)
	server := &fake{answers: polite(), tls: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	cfg := server.serve(t)
	cfg.Security, cfg.User, cfg.Password = smtpmail.TLS, "ada", "secret"
	if err := open(t, cfg).Ping(t.Context()); err == nil {
		t.Error("a certificate of nobody was believed")
	}
	cfg.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if err := open(t, cfg).Send(t.Context(), message("ada@example.com")); err != nil || !server.heard("AUTH PLAIN") {
		t.Errorf("%v", err)
	}
	// The port says it too.
	port := 0
	cfg.Security, cfg.Port = smtpmail.STARTTLS, 465
	cfg.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		_, err := fmt.Sscanf(address, "127.0.0.1:%d", &port)
		client, other := net.Pipe()
		go func() {
			defer func() { _ = other.Close() }()
			server.talk(other)
		}()
		return client, err
	}
	if err := open(t, cfg).Ping(t.Context()); err != nil || port != 465 {
		t.Errorf("port %d: %v", port, err)
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, roots
}
