package contexts_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/automation/internal/contexts"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal does effects in transactions of a database, and remembers their places while the run can be begun anew.
type journal struct {
	db       *sqldb.DB
	survives bool
	mu       sync.Mutex
	done     map[string]bool
}

func (j *journal) Once(ctx context.Context, place string, do func(context.Context, *sqldb.Tx) (any, error)) (out any, err error) {
	j.mu.Lock()
	known := j.done[place]
	j.mu.Unlock()
	if known && j.survives {
		return value.Undefined{}, nil
	}
	err = j.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		out, err = do(ctx, tx)
		return err
	})
	if err == nil {
		j.mu.Lock()
		j.done[place] = true
		j.mu.Unlock()
	}
	return out, err
}

func (j *journal) Durable() bool { return j.survives }
func (j *journal) RunID() string { return "" }

// people is a directory of accounts and sessions.
type people struct {
	accounts map[string]access.Principal
	sessions map[string]time.Time // of the account with the same name
}

func (p *people) Principal(_ context.Context, _ sqldb.Reader, userID string) (access.Principal, error) {
	if found, ok := p.accounts[userID]; ok {
		return found, nil
	}
	return access.Principal{}, errs.Missing("users", userID)
}

func (p *people) Session(_ context.Context, _ sqldb.Reader, sessionID string) (access.Principal, time.Time, error) {
	ends, ok := p.sessions[sessionID]
	if !ok {
		return access.Principal{}, time.Time{}, errs.Missing("sessions", sessionID)
	}
	found := p.accounts[sessionID]
	found.SessionID = sessionID
	return found, ends, nil
}

// definitions is a configuration that can be changed.
type definitions struct {
	mu       sync.Mutex
	config   any
	instance []string
	refuse   bool
	calls    int
}

func (d *definitions) SetConfig(_ context.Context, _ *sqldb.Tx, _ string, instancePath, _ []string, apply func(any) (any, error)) (_ any, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.refuse {
		return nil, errors.New("refused")
	}
	d.instance = instancePath
	d.config, err = apply(d.config)
	return d.config, err
}

// kit is an installation with a process that runs automations.
type kit struct {
	*testing.T
	db          *sqldb.DB
	clock       *clock.Manual
	people      *people
	definitions *definitions
	settings    contexts.Settings
	store       *contexts.Store
	bench       *machinetest.Bench
}

func start() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

func each(t *testing.T, run func(k *kit)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(newKit(t, db)) }, access.Migrations(), contexts.Migrations())
}

func newKit(t *testing.T, db *sqldb.DB) *kit {
	t.Helper()
	k := &kit{
		T: t, db: db, clock: clock.NewManual(start()), settings: contexts.Defaults(), bench: machinetest.New(t),
		definitions: &definitions{config: value.NewObject(0)},
		people:      &people{accounts: map[string]access.Principal{}, sessions: map[string]time.Time{}},
	}
	k.store = k.process(true)
	return k
}

// process is one more process of the installation.
func (k *kit) process(alone bool) *contexts.Store {
	return contexts.New(contexts.Deps{
		Log: slog.New(slog.DiscardHandler), Clock: k.clock, DB: k.db, Access: access.NewEnforcer(k.clock), People: k.people,
		Config: k.definitions, Settings: k.settings, Alone: alone,
	})
}

func user() access.Principal {
	return access.Principal{Kind: access.User, Credential: access.BySession, UserID: "ann", SessionID: "s-ann"}
}

// run begins a run for somebody, in a process.
func (k *kit) run(store *contexts.Store, caller access.Principal) *machine.Run {
	run := k.bench.Fresh()
	run.Caller, run.Journal = caller, &journal{db: k.db, done: map[string]bool{}}
	run.Scopes = store.Open(run)
	return run
}

// do runs an automation that is given as its text, and gives its output as JSON.
func (k *kit) do(run *machine.Run, text string) string {
	k.Helper()
	out, err := k.try(run, text)
	if err != nil {
		k.Fatalf("%s: %v", text, err)
	}
	return out
}

func (k *kit) try(run *machine.Run, text string) (string, error) {
	k.Helper()
	result := k.bench.Machine.Execute(k.Context(), run, k.bench.Add("main", text), value.NewObject(0))
	return machinetest.JSON(result.Output), result.Err
}

// read gives a variable as a new run of somebody sees it.
func (k *kit) read(run *machine.Run, name string) string {
	k.Helper()
	return k.do(run, "do: []\noutput:\n  it: '{{"+name+"}}'\n")
}

// set sets a variable.
func (k *kit) set(run *machine.Run, name, v string) {
	k.Helper()
	k.do(run, "do:\n  - set: {name: '"+name+"', value: '"+v+"'}\n")
}

func (k *kit) want(got, want string) {
	k.Helper()
	if got != want {
		k.Errorf("got  %s\nwant %s", got, want)
	}
}
