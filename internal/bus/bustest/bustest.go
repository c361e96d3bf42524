// Package bustest is the conformance suite of the event log: every driver passes it on every engine it runs on.
package bustest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// Lease is the lease the logs under test are opened with: short, so that takeovers are seen soon, yet long enough for a
// busy machine to renew it.
const Lease = 2 * time.Second

// patience bounds every wait of the suite.
const patience = 40 * time.Second

// Fixture is an empty log to test.
type Fixture struct {
	DB *sqldb.DB
	// Open starts another instance of the log on the same database, with Lease. The fixture closes it with the test.
	Open func(t *testing.T, clk clock.Clock) bus.Log
}

// trial is one test of the suite with its own log.
type trial struct {
	t *testing.T
	Fixture
}

// Run runs the suite; setup makes an empty log for each of its tests.
func Run(t *testing.T, setup func(t *testing.T) Fixture) {
	t.Helper()
	tests := map[string]func(trial){
		"appended events are read back in order":        readBack,
		"a rolled back append leaves nothing":           rolledBack,
		"positions grow although the clock jumps back":  clockJumps,
		"concurrent appenders lose nothing":             concurrentAppenders,
		"an abandoned append leaves nothing":            abandoned,
		"a record that cannot be stored is refused":     refused,
		"a consumer sees everything in order":           everythingInOrder,
		"a restarted consumer goes on at its cursor":    restart,
		"a new consumer starts with the next event":     startsWithNext,
		"a failing handler gets the events again":       failingHandler,
		"a poisoned partition does not stop the others": poisoned,
		"instances share the partitions":                sharing,
		"a dead instance's partitions are taken over":   takeover,
		"a stale holder cannot commit":                  fencing,
		"a frozen holder stops only its own partition":  frozen,
		"a lost lease ends the handler's context":       lostLease,
		"a wrong host clock breaks no lease":            wrongClock,
		"lag counts what is not acknowledged":           lag,
		"idle consumers see each event once":            idle,
		"a closed log refuses work":                     closed,
		"transient events are told and not found":       transient,
		"removed transient events stop nobody":          transientRemoved,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(trial{t: t, Fixture: setup(t)}) })
	}
}

func record(workspace string, n int) bus.Record {
	return bus.Record{WorkspaceID: workspace, Type: "test.happened", Body: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// number reads back what record was given.
func number(t *testing.T, e bus.Event) int {
	t.Helper()
	var body struct{ N int }
	if err := json.Unmarshal(e.Body, &body); err != nil {
		t.Errorf("the body of %s: %v", e.Position.ID(), err)
	}
	return body.N
}

func mustAppend(t *testing.T, log bus.Log, records ...bus.Record) []bus.Event {
	t.Helper()
	events, err := log.Append(t.Context(), records...)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// spread makes records over so many workspaces that every partition has some.
func spread(count int) []bus.Record {
	const workspaces = 64
	records := make([]bus.Record, count)
	for n := range records {
		records[n] = record(fmt.Sprint("workspace-", n%workspaces), n)
	}
	return records
}

func mustPage(t *testing.T, f Fixture, workspace string, query sqlbus.PageQuery) []bus.Event {
	t.Helper()
	events, err := sqlbus.Page(t.Context(), f.DB, workspace, query)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// eventually waits until the condition holds. It looks again at short intervals, since what it waits for happens in
// the database.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited too long for: %s", what)
		}
	}
}

// start runs a consumer beside the test; stop ends it and waits.
func start(t *testing.T, log bus.Log, c bus.Consumer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- log.Consume(ctx, c) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Consume: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// collector remembers what a consumer was given.
type collector struct {
	mu     sync.Mutex
	events []bus.Event
}

func (c *collector) handle(_ context.Context, events []bus.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, events...)
	return nil
}

func (c *collector) all() []bus.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// positions are the different positions seen.
func (c *collector) positions() map[bus.Position]int {
	seen := make(map[bus.Position]int)
	for _, e := range c.all() {
		seen[e.Position]++
	}
	return seen
}

func (c *collector) has(events []bus.Event) func() bool {
	return func() bool {
		seen := c.positions()
		return !slices.ContainsFunc(events, func(e bus.Event) bool { return seen[e.Position] == 0 })
	}
}

// inOrder checks that first sights within a partition are in the order of the log.
func (c *collector) inOrder(t *testing.T) {
	t.Helper()
	last := make(map[int]bus.Position)
	seen := make(map[bus.Position]bool)
	for _, e := range c.all() {
		p := e.Position.Partition()
		if !seen[e.Position] && e.Position < last[p] {
			t.Errorf("partition %d: %s came after %s", p, e.Position.ID(), last[p].ID())
		}
		seen[e.Position] = true
		last[p] = max(last[p], e.Position)
	}
}

func exec(t *testing.T, db *sqldb.DB, query string, args ...any) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func queryInt(t *testing.T, db *sqldb.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := db.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// reader is the name of the consumer under test.
const reader = "reader"

// registered waits until the consumer has its cursors.
func registered(t *testing.T, f Fixture) {
	t.Helper()
	eventually(t, "the consumer to register", func() bool {
		return queryInt(t, f.DB, `SELECT COUNT(*) FROM bus_cursors WHERE consumer = $1`, reader) == bus.Partitions
	})
}

// holders counts the partitions of each instance of the consumer.
func holders(t *testing.T, f Fixture) map[string]int {
	t.Helper()
	rows, err := f.DB.Query(t.Context(), `SELECT owner, COUNT(*) FROM bus_cursors WHERE consumer = $1 GROUP BY owner`, reader)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	out := make(map[string]int)
	for rows.Next() {
		var owner string
		var count int
		if err := rows.Scan(&owner, &count); err != nil {
			t.Fatal(err)
		}
		out[owner] = count
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func holdsAll(t *testing.T, f Fixture) func() bool {
	t.Helper()
	return func() bool {
		h := holders(t, f)
		return len(h) == 1 && h[""] == 0
	}
}

// NATS are the servers of a cluster to test with; it skips, loudly, when there is none.
func NATS(t *testing.T) []string {
	t.Helper()
	list := os.Getenv("TEST_NATS_URL")
	if list == "" {
		t.Skip("SKIPPED: nats: TEST_NATS_URL is not set")
	}
	return strings.Split(list, ",")
}

var errWanted = errors.New("wanted by the test")
