package natsbus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Config is how to reach the cluster.
type Config struct {
	// URLs are the servers, nats:// or tls://, with user and password inside where they are needed.
	URLs []string
	// CAFile is a PEM file of the authorities to trust instead of the system's; may be empty.
	CAFile string
	// Roots are the authorities to trust when there is no CAFile; nil means those of the system.
	Roots *x509.CertPool
	// Namespace sets installations apart that share a cluster: letters, digits, _ and -; may be empty.
	Namespace string
	// Replicas is on how many servers the stream is kept; zero means 3.
	Replicas int
}

const (
	publishTimeout = 5 * time.Second
	connectTimeout = 5 * time.Second
	reconnectWait  = 250 * time.Millisecond
)

// stream is the stream of the installation.
func (c Config) stream() (stream, error) {
	if c.Namespace != "" && !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(c.Namespace) {
		return stream{}, fmt.Errorf("the namespace %q has characters other than letters, digits, _ and -", c.Namespace)
	}
	s := stream{name: "EVENTS", prefix: "events.", replicas: c.Replicas}
	if c.Namespace != "" {
		s.name = strings.ToUpper(c.Namespace) + "_" + s.name
		s.prefix = c.Namespace + "." + s.prefix
	}
	if s.replicas == 0 {
		s.replicas = 3
	}
	return s, nil
}

// dial connects. Addresses hold passwords, so no error shows one.
func (c Config) dial(log *slog.Logger, dialer nats.CustomDialer) (*nats.Conn, error) {
	if len(c.URLs) == 0 {
		return nil, errNoURL
	}
	for i, address := range c.URLs {
		if u, err := url.Parse(address); err != nil || u.Host == "" {
			return nil, fmt.Errorf("server address %d is not a nats:// URL", i+1)
		}
	}
	options := []nats.Option{
		nats.Name("atelier"),
		nats.Timeout(connectTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectBufSize(-1), // nothing is sent blindly: the relay repeats what was not acknowledged
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the event broker is gone; events are kept in the database and read from it", "error", err)
			}
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			log.Info("the event broker is back", "server", conn.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("the event broker reports an error", "error", err)
		}),
	}
	if dialer != nil {
		options = append(options, nats.SetCustomDialer(dialer))
	}
	switch {
	case c.CAFile != "":
		options = append(options, nats.RootCAs(c.CAFile))
	case c.Roots != nil:
		options = append(options, trust(c.Roots))
	}
	conn, err := nats.Connect(strings.Join(c.URLs, ","), options...)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", hideAddress(err))
	}
	return conn, nil
}

// trust sets the authorities without asking for TLS where an address does not.
func trust(roots *x509.CertPool) nats.Option {
	return func(o *nats.Options) error {
		o.TLSConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		return nil
	}
}

// hideAddress drops errors that quote the address they are about.
func hideAddress(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return errors.New("a server address is not valid")
	}
	return err
}
