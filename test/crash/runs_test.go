package crash_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"atelier/internal/failpoint/failpointtest"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/sqldb/sqlite"
)

// TestKilledDuringRuns kills the server at every step of runs that events and a schedule started, and starts it again. Afterwards
// every event has had each of its effects exactly once, every wait went on, and nothing is left over.
func TestKilledDuringRuns(t *testing.T) {
	t.Parallel()
	program, err := armed()
	if err != nil {
		t.Fatal(err)
	}
	points := append(failpointtest.Points(t, "../..", "runs."), failpointtest.Points(t, "../..", "waits.")...)
	engines := map[string]func(t *testing.T) string{
		"sqlite":     func(*testing.T) string { return "" },
		"postgresql": func(t *testing.T) string { t.Helper(); return sqldbtest.PostgresURL(t) },
	}
	for engine, address := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			// On PostgreSQL nobody takes the runs of a dead process over before it was silent for a while: two houses wait at the same time.
			const houses = 2
			all := allMoments(points)
			for some := range slices.Chunk(all, (len(all)+houses-1)/houses) {
				t.Run(some[0], func(t *testing.T) {
					t.Parallel()
					newRunning(t, program, address(t), len(some)).killAll(t, some)
				})
			}
		})
	}
}

// allMoments are the points with how often each is reached before the process dies.
func allMoments(points []string) (all []string) {
	for _, point := range points {
		times := []int{1, 3}
		switch point {
		case "runs.effect": // in front of every other effect of an automation
			times = []int{1, 2, 3, 4, 5, 6, 11}
		case "runs.stored", "runs.removed", "runs.ticked": // what comes at the same time shares a commit
			times = []int{1}
		}
		for _, n := range times {
			all = append(all, point+"#"+strconv.Itoa(n))
		}
	}
	return all
}

// running is a house with a workspace for every kill.
type running struct {
	*house

	database   string // the address; empty is SQLite
	workspaces []string
}

func newRunning(t *testing.T, program, database string, kills int) *running {
	t.Helper()
	h := newHouseOf(t, program)
	h.env = append(h.env, "DISABLE_RATE_LIMIT=true")
	if database != "" {
		h.env = append(h.env, "DATABASE_URL="+database, "DATABASE_MAX_CONNS=8")
	}
	h.start(t)
	h.signIn(t)
	r := &running{house: h, database: database}
	for range kills {
		r.workspaces = append(r.workspaces, r.workspace(t))
	}
	return r
}

// killAll kills at each moment, in a workspace of its own, and looks at all of them again in the end.
func (r *running) killAll(t *testing.T, moments []string) {
	t.Helper()
	for i, moment := range moments {
		t.Run(moment, func(t *testing.T) { r.killedAt(t, moment, r.workspaces[i]) })
		if t.Failed() {
			return // the others would wait in vain
		}
	}
	for i, moment := range moments {
		if problem := r.wrong(t, r.workspaces[i]); problem != "" {
			t.Errorf("%s, a while later: %s", moment, problem)
		}
	}
	r.end(t)
	for _, table := range []string{"runs", "run_effects", "run_waits", "run_wait_types"} {
		if n := r.rows(t, table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

const (
	goes = 4 // events that start automations
	asks = 3 // events whose automation waits for an answer
)

// killedAt emits events, and lets a schedule be due, while the program is to die at a moment; then it is started again.
func (r *running) killedAt(t *testing.T, moment, workspace string) {
	t.Helper()
	r.end(t)
	// The schedule is due, as if the program had been down at its time: nobody can wait for a year.
	r.change(t, `INSERT INTO run_schedules (workspace_id, automation, cron, next_at) VALUES ($1, 'timed', $2, 1)
		ON CONFLICT (workspace_id, automation, cron) DO UPDATE SET next_at = 1`, workspace, yearly)
	ordinary := r.env
	r.env = append(slices.Clone(ordinary), "FAILPOINT="+moment)
	_, err := r.launch(t)
	r.env = ordinary
	for i := 0; err == nil && i < max(goes, asks); i++ { // until nobody answers
		if i < goes {
			_, err = r.emitOne(t, workspace, "go", i)
		}
		if err == nil && i < asks {
			_, err = r.emitOne(t, workspace, "ask", i)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if code, err := r.process.Wait(ctx); err != nil || code != -1 {
		t.Fatalf("exit code %d, error %v: it did not die at %s\n%s", code, err, moment, r.logs(t))
	}
	r.client.CloseIdleConnections()
	for _, table := range []string{"bus_cursors", "bus_members"} { // what the dead process holds of the log would end after ten seconds
		r.change(t, `UPDATE `+table+` SET expires_at = 0`)
	}
	r.start(t)
	r.emit(t, workspace, "go", goes)
	r.emit(t, workspace, "ask", asks)
	r.eventually(t, func() string {
		if n := len(r.events(t, workspace, "question")); n < asks {
			return strconv.Itoa(n) + " questions were asked"
		}
		return ""
	})
	r.emit(t, workspace, "answer", asks)
	r.eventually(t, func() string { return r.wrong(t, workspace) })
}

// emitOne emits an event. An error tells that nobody answered.
func (r *running) emitOne(t *testing.T, workspace, eventType string, n int) (status int, err error) {
	t.Helper()
	body := map[string]any{"events": []any{map[string]any{"type": eventType, "payload": map[string]any{"n": n}}}}
	return r.call(t.Context(), http.MethodPost, "/v2/workspaces/"+workspace+"/events", "", body, &[]any{})
}

// emit emits those of n events that are not stored yet. Nobody knows of a request without an answer whether it was done; the list of
// events does.
func (r *running) emit(t *testing.T, workspace, eventType string, n int) {
	t.Helper()
	stored := map[string]bool{}
	for _, e := range r.events(t, workspace, eventType) {
		stored[fmt.Sprint(e.Payload.N)] = true
	}
	for i := range n {
		if stored[strconv.Itoa(i)] {
			continue
		}
		if status, err := r.emitOne(t, workspace, eventType, i); err != nil || status != http.StatusOK {
			t.Fatalf("emit %s: status %d, %v", eventType, status, err)
		}
	}
}

// eventually asks until nothing is wrong any more.
func (r *running) eventually(t *testing.T, wrong func() string) {
	t.Helper()
	until := time.Now().Add(time.Minute)
	for {
		problem := wrong()
		if problem == "" {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s\n%s", problem, r.logs(t))
		}
		wait(50 * time.Millisecond)
	}
}

// end stops the program as an operator does.
func (r *running) end(t *testing.T) {
	t.Helper()
	if err := r.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := r.process.Wait(t.Context()); err != nil || code != 0 {
		t.Fatalf("exit code %d, error %v\n%s", code, err, r.logs(t))
	}
	r.client.CloseIdleConnections()
}

// open opens the database while the program does not run.
func (r *running) open(t *testing.T) *sqldb.DB {
	t.Helper()
	open := func() (*sqldb.DB, error) { return sqlite.Open(t.Context(), filepath.Join(r.dir, "atelier.db")) }
	if r.database != "" {
		open = func() (*sqldb.DB, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: r.database, MaxConns: 2})
		}
	}
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// change changes the database while the program does not run.
func (r *running) change(t *testing.T, query string, args ...any) {
	t.Helper()
	db := r.open(t)
	defer func() { _ = db.Close() }()
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (r *running) rows(t *testing.T, table string) (n int) {
	t.Helper()
	db := r.open(t)
	defer func() { _ = db.Close() }()
	if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
