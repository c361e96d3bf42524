package rediskv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/rueidis"
)

// Config is how to reach the server.
type Config struct {
	// URL is a redis:// or rediss:// address, the latter with TLS: rediss://user@host:6379/0. It is one server, unless
	// ?addr=host:port names another node, be it the same: then it is a cluster.
	URL string
	// Password wins over the one in the URL.
	Password string //nolint:gosec // a configuration value; this struct is never encoded
	// CAFile holds the certificates to trust, in PEM, instead of those of the system. It needs rediss://.
	CAFile string
	// Roots are the authorities to trust when there is no CAFile; nil means those of the system.
	Roots *x509.CertPool
	// Prefix begins every key, for a server that is shared.
	Prefix string
}

const (
	// dialTimeout bounds reaching the server, whoever waits for it.
	dialTimeout = 2 * time.Second
	// answerTimeout is when a silent connection is given up. Callers leave with their context, long before.
	answerTimeout = 3 * time.Second
	// bufferSize suits small values; the library's half a megabyte for each direction does not.
	bufferSize = 64 << 10
)

// Open connects to the server or the cluster and makes a round trip. The caller closes the store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	options, err := clientOptions(cfg)
	if err != nil {
		return nil, err
	}
	s := &Store{
		prefix:   cfg.Prefix,
		password: options.Password,
		scripts:  newScripts(),
		flights:  make(chan struct{}, maxFlights),
	}
	s.client, err = connect(ctx, options)
	if err != nil {
		return nil, s.failed(ctx, "connect", err)
	}
	if err := s.Ping(ctx); err != nil {
		s.client.Close()
		return nil, err
	}
	return s, nil
}

func clientOptions(cfg Config) (rueidis.ClientOption, error) {
	options, err := rueidis.ParseURL(cfg.URL)
	if err != nil { // the cause would show the password
		return options, errors.New("the Redis address is not a valid redis:// or rediss:// URL")
	}
	if cfg.Password != "" {
		options.Password = cfg.Password
	}
	if options.TLSConfig != nil {
		options.TLSConfig.RootCAs = cfg.Roots
	}
	if cfg.CAFile != "" {
		if err := trust(options.TLSConfig, cfg.CAFile); err != nil {
			return options, err
		}
	}
	options.ClientName = "atelier"
	options.Dialer.Timeout = dialTimeout
	options.ConnWriteTimeout = answerTimeout
	options.ReadBufferEachConn = bufferSize
	options.WriteBufferEachConn = bufferSize
	// Trying whether one server is a cluster would leave a client behind that looks for it whenever a connection ends.
	options.ForceSingleClient = len(options.InitAddress) == 1
	options.DisableCache = true     // what is read must be what is stored
	options.DisableRetry = true     // the caller decides, and has a fallback
	options.AlwaysPipelining = true // a caller that leaves does not take the connection with it
	return options, nil
}

func trust(config *tls.Config, file string) error {
	if config == nil {
		return errors.New("a CA file is given for Redis, but the address does not ask for TLS: use rediss://")
	}
	pem, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("read the CA file of Redis: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("the CA file of Redis, %s, holds no certificate", file)
	}
	config.RootCAs = pool
	return nil
}

// connect gives up with the context, which rueidis.NewClient does not take: a client that comes too late is closed.
func connect(ctx context.Context, options rueidis.ClientOption) (rueidis.Client, error) {
	type connected struct {
		client rueidis.Client
		err    error
	}
	result := make(chan connected)
	go func() {
		client, err := rueidis.NewClient(options)
		select {
		case result <- connected{client, err}:
		case <-ctx.Done():
			if err == nil {
				client.Close()
			}
		}
	}()
	select {
	case r := <-result:
		return r.client, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
