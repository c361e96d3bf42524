package smtpmail

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"sync"
)

// line is the connection of one session. The library knows neither the context behind dialling nor, after an early failure,
// the connection; this does.
type line struct {
	cfg  Config
	mu   sync.Mutex
	conn net.Conn
	gone bool
}

// dial connects, with TLS where it comes first.
func (l *line) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	conn, err := l.cfg.Dial(ctx, network, net.JoinHostPort(l.cfg.Host, strconv.Itoa(l.cfg.Port)))
	if err != nil {
		return nil, err
	}
	if !l.keep(conn) {
		return nil, net.ErrClosed
	}
	if l.cfg.Security != TLS {
		return conn, nil
	}
	secured := tls.Client(conn, l.cfg.TLS)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured, nil
}

func (l *line) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		_ = conn.Close()
		return false
	}
	l.conn = conn
	return true
}

// cut ends the connection, whatever it is doing, and lets no other begin.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	if l.conn != nil {
		_ = l.conn.Close()
	}
}
