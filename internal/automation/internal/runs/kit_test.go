package runs_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/automation/internal/instructions"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/recorder"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/automation/internal/signals"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/sqldb/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test on every engine with a way to open the database as another process does.
func each(t *testing.T, run func(t *testing.T, open func() *sqldb.DB)) {
	t.Helper()
	opener := func(t *testing.T, open func() (*sqldb.DB, error)) func() *sqldb.DB {
		t.Helper()
		migrated := false
		return func() *sqldb.DB {
			db, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if !migrated {
				migrated = true
				if _, err := sqldb.Migrate(t.Context(), db, time.UnixMilli(0), sqlbus.Migrations(), runs.Migrations()); err != nil {
					t.Fatal(err)
				}
			}
			return db
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		run(t, opener(t, func() (*sqldb.DB, error) { return sqlite.Open(t.Context(), path) }))
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		address := sqldbtest.PostgresURL(t)
		run(t, opener(t, func() (*sqldb.DB, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 6})
		}))
	})
}

// world is the workspaces that all instances of a test see.
type world struct {
	t  testing.TB
	mu sync.Mutex
	// more are instructions of the test.
	more   machine.Instructions
	models map[string]*space
	users  map[string]access.Principal
}

type space struct {
	suspended, deleted bool
	automations        map[string]string
	version            int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{t: t, more: machine.Instructions{}, models: map[string]*space{}, users: map[string]access.Principal{}}
}

// add defines an automation.
func (w *world) add(workspaceID, slug, text string) {
	w.change(workspaceID, func(s *space) { s.automations[slug] = text })
}

func (w *world) change(workspaceID string, change func(*space)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.models[workspaceID] == nil {
		w.models[workspaceID] = &space{automations: map[string]string{}}
	}
	w.models[workspaceID].version++
	change(w.models[workspaceID])
}

// in is the workspaces as one instance sees them.
type in struct {
	*world
	instructions machine.Instructions
	compiled     map[string]compiled
}

type compiled struct {
	version int
	model   runs.Model
}

// Of implements runs.Models.
func (w in) Of(_ context.Context, workspaceID string) (runs.Model, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.models[workspaceID]
	if !ok {
		return runs.Model{}, errs.Missing("workspaces", workspaceID)
	}
	if known := w.compiled[workspaceID]; known.version == s.version {
		return known.model, nil
	}
	model := w.compile(workspaceID, s)
	w.compiled[workspaceID] = compiled{s.version, model}
	return model, nil
}

func (w in) compile(workspaceID string, s *space) runs.Model {
	home := &machine.Home{WorkspaceID: workspaceID, WorkspaceSlug: workspaceID, Automations: map[string]*machine.Automation{}, Config: value.NewObject(0), Secrets: value.NewObject(0), Global: value.NewObject(0)}
	listeners := map[string][]*machine.Automation{}
	var schedules []runs.Schedule
	for slug, text := range s.automations {
		document, problems := dsul.Parse(dsul.Automation, slug, []byte(text))
		if len(problems) > 0 {
			w.t.Errorf("%s: %v", slug, problems)
			continue
		}
		made := machine.Compile(w.instructions, home, slug, document.Root)
		home.Automations[slug] = made
		var said struct {
			When struct {
				Events, Schedules []string
			}
		}
		if err := document.Root.Decode(&said); err != nil {
			w.t.Error(err)
		}
		for _, event := range said.When.Events {
			listeners[event] = append(listeners[event], made)
		}
		if len(said.When.Schedules) > 0 {
			schedules = append(schedules, runs.Schedule{Automation: made, Crons: said.When.Schedules})
		}
	}
	return runs.Model{
		Root: home, Suspended: s.suspended, Deleted: s.deleted,
		Find:      func(slug string) (*machine.Automation, bool) { a, ok := home.Automations[slug]; return a, ok },
		Hears:     func(eventType string) bool { return len(listeners[eventType]) > 0 },
		Listeners: func(eventType string, _ envelope.Source) []*machine.Automation { return listeners[eventType] },
		Schedules: func() []runs.Schedule { return schedules },
	}
}

// After implements runs.Workspaces.
func (w in) After(_ context.Context, workspaceID string, limit int) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(w.models)) {
		if id > workspaceID && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Using implements runs.Workspaces.
func (in) Using(context.Context, string) ([]string, error) { return nil, nil }

// Principal implements runs.People.
func (w in) Principal(_ context.Context, userID, sessionID string) (access.Principal, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, ok := w.users[userID]; ok {
		return p, nil
	}
	return access.Principal{}, errs.Missing("accounts", userID+sessionID)
}

// Open implements runs.Contexts.
func (in) Open(run *machine.Run) machine.Scopes {
	s := machinetest.NewScopes()
	s.Become(run.Caller)
	return s
}

// instance is one process.
type instance struct {
	t     testing.TB
	db    *sqldb.DB
	log   *sqlbus.Log
	runs  *runs.Runs
	waits *waits.Store
	stop  func()
}

// options of an instance; zero values are those that a test needs most.
type options struct {
	clock    clock.Clock
	settings runs.Settings
	engine   runs.Engine
	quiet    bool // nothing runs
}

// start starts a process on the database.
func (w *world) start(db *sqldb.DB, o options) *instance {
	w.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	if o.clock == nil {
		o.clock = clock.System{}
	}
	if o.settings.Grace == 0 {
		o.settings.Grace = 2 * time.Second
	}
	if o.settings.Silence == 0 {
		o.settings.Silence = 400 * time.Millisecond
	}
	log, err := sqlbus.Open(db, clock.System{}, logger, sqlbus.WithLease(time.Second))
	if err != nil {
		w.t.Fatal(err)
	}
	i := &instance{t: w.t, db: db, log: log}
	i.waits = waits.New(waits.Deps{DB: db, Bus: log, Clock: o.clock, Log: logger, Alone: o.settings.Alone})
	writer := recorder.New(log, clock.System{}, logger, recorder.Settings{})
	all := instructions.Control()
	for _, more := range []machine.Instructions{signals.New(signals.Deps{Bus: log, Waits: i.waits}).Instructions(), w.more} {
		maps.Copy(all, more)
	}
	m := &machine.Machine{
		Log: logger, Clock: o.clock, DB: db, Recorder: writer,
		Limits: machine.Limits{Depth: 20, Memory: 64 << 20, Steps: 10_000_000, Local: 50 << 20}, Locale: "en", Zone: time.UTC,
	}
	var engine runs.Engine = m
	if o.engine != nil {
		engine = o.engine
	}
	seen := in{w, all, map[string]compiled{}}
	i.runs = runs.New(runs.Deps{
		DB: db, Bus: log, Clock: o.clock, Log: logger, Engine: engine, Models: seen, Workspaces: seen, People: seen, Contexts: seen,
		Recorder: writer, Waits: i.waits, Settings: o.settings,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var working, writing sync.WaitGroup
	writes, end := context.WithCancel(context.Background())
	writing.Go(func() { _ = writer.Run(writes) })
	if !o.quiet {
		working.Go(func() { _ = i.waits.Run(ctx) })
		working.Go(func() { _ = i.runs.Run(ctx) })
	}
	i.stop = sync.OnceFunc(func() {
		cancel()
		working.Wait()
		end()
		writing.Wait()
		_ = log.Close()
	})
	w.t.Cleanup(i.stop)
	if !o.quiet {
		i.ready()
	}
	return i
}

// ready waits until the events of the log are read.
func (i *instance) ready() {
	i.eventually("the events are read", func() bool {
		var n int
		return i.db.QueryRow(i.t.Context(), `SELECT COUNT(*) FROM bus_cursors WHERE consumer = 'runtime' AND owner <> ''`).Scan(&n) == nil && n == bus.Partitions
	})
}

// kill cuts the process off from the world, as if it were killed: whatever it still does has no effect.
func (i *instance) kill() {
	_ = i.db.Close()
	go i.stop() // the cleanup of the test waits for it
}

func (i *instance) eventually(what string, is func() bool) {
	i.t.Helper()
	deadline := time.After(30 * time.Second)
	for !is() {
		select {
		case <-deadline:
			i.t.Fatalf("not within 30 seconds: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// emit emits an event as a user does.
func (i *instance) emit(workspaceID, eventType, payload string, change ...func(*envelope.Event)) bus.Event {
	i.t.Helper()
	e := envelope.Event{Payload: json.RawMessage(payload)}
	for _, c := range change {
		c(&e)
	}
	ctx := access.With(i.t.Context(), access.Principal{Kind: access.User, UserID: e.Source.UserID, SessionID: e.Source.SessionID})
	record, err := envelope.Custom(ctx, workspaceID, eventType, e, 100_000)
	if err != nil {
		i.t.Fatal(err)
	}
	var events []bus.Event
	for range 10 { // several processes on one SQLite file may be in each other's way
		if events, err = i.log.Append(i.t.Context(), record); sqldb.KindOf(err) != sqldb.KindRetry {
			break
		}
	}
	if err != nil {
		i.t.Error(err)
		return bus.Event{}
	}
	return events[0]
}

// events are those of a type, oldest first.
func (i *instance) events(workspaceID, eventType string) []envelope.Event {
	i.t.Helper()
	stored, err := sqlbus.Page(i.t.Context(), i.db, workspaceID, sqlbus.PageQuery{Types: []string{eventType}, Ascending: true, Limit: 10_000})
	if err != nil {
		i.t.Fatal(err)
	}
	out := make([]envelope.Event, len(stored))
	for n, e := range stored {
		if out[n], err = envelope.Read(e); err != nil {
			i.t.Fatal(err)
		}
	}
	return out
}

// came waits until there are as many events of a type, and gives them.
func (i *instance) came(workspaceID, eventType string, n int) []envelope.Event {
	i.t.Helper()
	var found []envelope.Event
	i.eventually(eventType, func() bool {
		found = i.events(workspaceID, eventType)
		return len(found) >= n
	})
	if len(found) != n {
		i.t.Fatalf("%d events %s, want %d", len(found), eventType, n)
	}
	return found
}

// count asks the database for a number.
func (i *instance) count(query string, args ...any) (n int) {
	i.t.Helper()
	if err := i.db.QueryRow(i.t.Context(), query, args...).Scan(&n); err != nil {
		i.t.Fatal(err)
	}
	return n
}

// idle waits until no run is left.
func (i *instance) idle() {
	i.t.Helper()
	i.eventually("all runs are done", func() bool { return i.count(`SELECT COUNT(*) FROM runs`) == 0 })
	if n := i.count(`SELECT COUNT(*) FROM run_effects`); n != 0 {
		i.t.Errorf("%d notes of runs that are done are left", n)
	}
}

func holds(t *testing.T, where any, parts ...string) {
	t.Helper()
	text, _ := json.Marshal(where)
	for _, part := range parts {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

func decode(text json.RawMessage, into any) error { return json.Unmarshal(text, into) }
