package service_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/egress"
	"atelier/internal/errs"
	"atelier/internal/events/service"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/vault"
)

const subscriptions = "/v2/workspaces/" + home + "/subscriptions"

// post is a house that delivers webhooks. Its log runs by the machine's clock, deliveries by one that the test moves.
type post struct {
	*house

	clock   *clock.Manual
	service *service.Service
	people  *people
	deps    service.Deps
}

// people are the accounts.
type people struct {
	mu   sync.Mutex
	gone map[string]bool
}

func (p *people) Principal(_ context.Context, _ sqldb.Reader, id string) (access.Principal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone[id] {
		return access.Principal{}, errs.Missing("users", id)
	}
	return access.Principal{
		Kind: access.User, Credential: access.BySession, UserID: id, SuperAdmin: id == "root", Scopes: access.Scopes(),
		AuthData: map[string]map[string]any{"svc": {"id": id}},
	}, nil
}

// workspaces are those that are not gone.
func (p *people) workspaces(_ context.Context, _ sqldb.Reader, ids []string) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return p.gone[id] }), nil
}

func (p *people) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone[id] = true
}

func eachPost(t *testing.T, run func(t *testing.T, p *post)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(t, newPost(t, db, nil)) },
		sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), service.Migrations())
}

// newPost opens the service; change may say what is different about it.
func newPost(t *testing.T, db *sqldb.DB, change func(*service.Deps)) *post {
	t.Helper()
	p := &post{house: newHouse(t, db), clock: clock.NewManual(clock.System{}.Now()), people: &people{gone: map[string]bool{}}}
	log, err := sqlbus.Open(db, clock.System{}, slog.New(slog.DiscardHandler), sqlbus.WithLease(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	cursors, err := restapi.NewCursors("a key for tests, long enough to be one")
	if err != nil {
		t.Fatal(err)
	}
	p.log = log
	p.deps = service.Deps{
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Clock: p.clock, DB: db, Bus: log, Cursors: cursors, Access: p.rules,
		Resolve: resolve, Known: p.people.workspaces, MaxBody: 1 << 20, MaxLen: 100_000,
		Webhooks: service.Webhooks{Vault: newVault(t), Network: newGuard(t), People: p.people, Timeout: 2 * time.Second},
	}
	if change != nil {
		change(&p.deps)
	}
	p.service = service.New(p.deps)
	p.door = p.service.API.Handler()
	return p
}

func newVault(t *testing.T) *vault.Vault {
	t.Helper()
	key, err := vault.DerivedKey("a key for tests")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// newGuard lets calls go to this machine, and trusts the certificate of test servers.
func newGuard(t *testing.T) *egress.Guard {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.StartTLS()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	guard, err := egress.New(egress.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, ExtraCACerts: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Client().CloseIdleConnections)
	return guard
}

// deliver runs the delivery until the test ends, or stop is called.
func (p *post) deliver() (stop func()) {
	p.t.Helper()
	return run(p.t, p.service)
}

func run(t *testing.T, s *service.Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Deliver(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the delivery failed: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// until waits for a condition while the clock goes on.
func (p *post) until(what string, holds func() bool) {
	p.t.Helper()
	p.wait(what, 50*time.Millisecond, holds)
}

// wait waits for a condition and moves the clock by a step every few milliseconds.
func (p *post) wait(what string, step time.Duration, holds func() bool) {
	p.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for !holds() {
		select {
		case <-tick.C:
			p.clock.Advance(step)
		case <-limit.C:
			p.t.Fatalf("%s: it did not happen", what)
		}
	}
}

// subscribe makes a subscription of ann's from fields of JSON besides the address.
func (p *post) subscribe(r *receiver, fields string) *answer {
	p.t.Helper()
	return p.subscribeAs(p.ann, r, fields)
}

func (p *post) subscribeAs(who *caller, r *receiver, fields string) *answer {
	p.t.Helper()
	if fields != "" {
		fields = "," + fields
	}
	return who.do(http.MethodPost, subscriptions, `{"url":"`+r.URL+`/hook"`+fields+`}`).want(http.StatusCreated)
}

// delivery reads the newest delivery of a subscription with its attempts; an empty list while there is none.
func (p *post) delivery(id string) *answer {
	p.t.Helper()
	list := p.ann.get(subscriptions + "/" + id + "/deliveries?limit=1").want(http.StatusOK)
	if list.text("0.id") == "" {
		return list
	}
	return p.ann.get(subscriptions + "/" + id + "/deliveries/" + list.text("0.id")).want(http.StatusOK)
}

// total is how many deliveries of a subscription are in a state.
func (p *post) total(id, state string) string {
	p.t.Helper()
	return p.ann.get(subscriptions + "/" + id + "/deliveries?state=" + state).want(http.StatusOK).header.Get("X-Total-Count")
}

// received is a request that a receiver got.
type received struct {
	id, timestamp, signature, eventType string
	header                              http.Header
	body                                []byte
}

// receiver is an endpoint on TLS. It keeps what it got, and answers as it is told.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	got    []received
	flying int
	most   int
	answer func(w http.ResponseWriter, r received)
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(r.serve))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	var event struct{ Type string }
	_ = json.Unmarshal(body, &event)
	one := received{
		id: request.Header.Get("webhook-id"), timestamp: request.Header.Get("webhook-timestamp"), signature: request.Header.Get("webhook-signature"),
		eventType: event.Type, header: request.Header, body: body,
	}
	r.mu.Lock()
	r.got = append(r.got, one)
	answer := r.answer
	r.flying++
	r.most = max(r.most, r.flying)
	r.mu.Unlock()
	if answer != nil {
		answer(w, one)
	}
	r.mu.Lock()
	r.flying--
	r.mu.Unlock()
}

// answers sets how the receiver answers from now on.
func (r *receiver) answers(answer func(w http.ResponseWriter, r received)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// status makes the receiver answer with a status.
func (r *receiver) status(status int) {
	r.answers(func(w http.ResponseWriter, _ received) { w.WriteHeader(status) })
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// atOnce is how many requests were there at the same time, at most.
func (r *receiver) atOnce() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

func (r *receiver) has(n int) func() bool { return func() bool { return len(r.all()) >= n } }

// types lists what came, in the order it came.
func (r *receiver) types() string {
	var types []string
	for _, one := range r.all() {
		types = append(types, one.eventType)
	}
	return strings.Join(types, " ")
}

// mac is the signature of HMAC as the specification of Standard Webhooks defines it.
func (r received) mac(t *testing.T, secret string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", r.id, r.timestamp, r.body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// event writes an event to emit.
func event(eventType, payload string) string {
	return `{"type":"` + eventType + `","payload":` + payload + `}`
}
