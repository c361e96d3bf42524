// Package webhooks tells addresses outside what happens in a workspace: subscriptions, and the delivery of every event that
// matches one, signed, repeated until it arrived, and on record. Permission is checked here, below every way in.
package webhooks

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Network is the guarded way out of the product.
type Network interface {
	// CheckURL refuses, with a validation error on the field "url", an address that can be seen to be forbidden.
	CheckURL(raw string) error
	// Transport connects to nothing that is forbidden, whatever a name resolves to.
	Transport() http.RoundTripper
}

// Directory knows the accounts of the installation, which another service keeps.
type Directory interface {
	// Principal gives the caller that an account is when it has signed in; resource_not_found when there is none.
	Principal(ctx context.Context, r sqldb.Reader, userID string) (access.Principal, error)
}

// Settings are what an operator decides. Zero values stand for the defaults.
type Settings struct {
	// Timeout is how long an endpoint may take to answer: 15 seconds.
	Timeout time.Duration
	// Workers is how many deliveries one process sends at the same time: 200.
	Workers int
	// Lease is how long an endpoint stays with an instance that does not renew it: half a minute and two timeouts.
	Lease time.Duration
}

func (s Settings) withDefaults() Settings {
	const timeout, workers, margin = 15 * time.Second, 200, 30 * time.Second
	if s.Timeout <= 0 {
		s.Timeout = timeout
	}
	if s.Workers <= 0 {
		s.Workers = workers
	}
	if s.Lease <= 0 {
		s.Lease = margin + 2*s.Timeout
	}
	return s
}

// Deps is what webhooks need.
type Deps struct {
	DB     *sqldb.DB
	Bus    bus.Log
	Clock  clock.Clock
	IDs    ident.Source
	Log    *slog.Logger
	Access *access.Enforcer
	// Resolve gives the id of the workspace that a caller names. What names no workspace comes back as it is.
	Resolve func(ctx context.Context, r sqldb.Reader, ref string) (string, error)
	// Known tells which of some workspaces there are, the bin included.
	Known    func(ctx context.Context, r sqldb.Reader, ids []string) ([]string, error)
	People   Directory
	Vault    *vault.Vault
	Network  Network
	Settings Settings
}

// Webhooks is the subscriptions of all workspaces and the delivery to them.
type Webhooks struct {
	Deps

	// instance is this process among those that deliver.
	instance string
	// now is the database's time in milliseconds, as an expression: leases last by it, so that a host whose clock is wrong
	// neither loses its endpoints nor steals those of others.
	now string
	// slots are the deliveries that may be under way.
	slots chan struct{}
	// wake tells the dispatcher that there may be something to deliver.
	wake chan struct{}

	mu      sync.Mutex
	sets    map[string]*set
	running map[string]*runner
}

// New returns webhooks that deliver nothing until Run is called.
func New(deps Deps) *Webhooks {
	deps.Settings = deps.Settings.withDefaults()
	w := &Webhooks{
		Deps: deps, instance: deps.IDs.UUID(), now: `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
		slots: make(chan struct{}, deps.Settings.Workers), wake: make(chan struct{}, 1),
		sets: map[string]*set{}, running: map[string]*runner{},
	}
	if deps.DB != nil && deps.DB.Driver() == "sqlite" {
		w.now = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`
	}
	return w
}

// time is the time as it is stored, so that an answer shows what a later read will show.
func (w *Webhooks) time() time.Time { return sqldb.Time(sqldb.Millis(w.Clock.Now())) }

// nudge makes the dispatcher and those that it started look for work.
func (w *Webhooks) nudge() {
	select {
	case w.wake <- struct{}{}:
	default: // it will look anyway
	}
}
