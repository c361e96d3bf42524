package egress_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"atelier/internal/egress"
	"atelier/internal/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a guard whose dials are recorded and never leave the machine.
type watched struct {
	*egress.Guard
	mu      sync.Mutex
	allowed []string // addresses the guard would connect to
	refused []string
}

var errStopped = errors.New("test: this connection must not leave the machine")

func newGuard(t *testing.T, networks ...string) *watched {
	t.Helper()
	allowed, err := egress.ParseNetworks(networks)
	if err != nil {
		t.Fatal(err)
	}
	return newGuardFrom(t, egress.Config{AllowedNetworks: allowed})
}

func newGuardFrom(t *testing.T, cfg egress.Config) *watched {
	t.Helper()
	guard, err := egress.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(guard.Client().CloseIdleConnections)
	w := &watched{Guard: guard}
	guard.Observe(w.watch)
	return w
}

func (w *watched) watch(address string, verdict error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if verdict != nil {
		w.refused = append(w.refused, address)
		return verdict
	}
	w.allowed = append(w.allowed, address)
	if !netip.MustParseAddrPort(address).Addr().IsLoopback() {
		return errStopped
	}
	return nil
}

func (w *watched) dials() (allowed, refused []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.allowed, w.refused
}

// get fetches and returns the body, or the error.
func (w *watched) get(t *testing.T, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := w.Client().Do(r) //nolint:bodyclose // ReadBody does
	if err != nil {
		return "", err
	}
	data, err := egress.ReadBody(resp, 1<<20)
	return string(data), err
}

// names answers DNS questions; each question for a name takes the next of its answers, the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
}

func (n *names) next(name string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := n.answers[name]
	if len(left) == 0 {
		return nil
	}
	if len(left) > 1 {
		n.answers[name] = left[1:]
	}
	return left[0]
}

// resolver is a resolver that asks only n, over a pipe within the process.
func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	var served sync.WaitGroup
	t.Cleanup(served.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		served.Go(func() { n.serve(ours) })
		return theirs, nil
	}}
}

// serve speaks DNS over a stream: two bytes of length before each message. A name has only addresses of IPv4 here, so
// that one lookup takes one answer.
func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, int(length[0])<<8|int(length[1]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := n.answer(question)
		if _, err := conn.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
			return
		}
	}
}

func (n *names) answer(question []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	if q.Type == dnsmessage.TypeA {
		for _, text := range n.next(strings.TrimSuffix(q.Name.String(), ".")) {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()},
			})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// serve starts a server on an address of the loopback network and returns its address and port.
func serve(t *testing.T, ip string, handle http.HandlerFunc) (base, port string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handle}}
	server.Start()
	t.Cleanup(server.Close)
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + listener.Addr().String(), port
}

// wantHidden checks that a user is told the one message and nothing else, and that the log knows more.
func wantHidden(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("the call succeeded")
	}
	shown := errs.From(err)
	if shown.Message != egress.Unreachable || len(shown.Details) != 0 || len(shown.Fields) != 0 || shown.Code != errs.Unavailable {
		t.Errorf("the user is told %s %q %v %v", shown.Code, shown.Message, shown.Details, shown.Fields)
	}
	if errors.Unwrap(shown) == nil {
		t.Error("the log does not learn the cause")
	}
}
