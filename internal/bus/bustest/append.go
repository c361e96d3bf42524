package bustest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

func readBack(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	var mine []bus.Event
	for n := range 10 {
		events := mustAppend(t, log, record("a", 3*n), record("b", 0), record("a", 3*n+1), record("a", 3*n+2))
		mine = append(mine, events[0], events[2], events[3])
	}
	same := func(what string, want []bus.Event, query sqlbus.PageQuery) {
		t.Helper()
		if diff := gocmp.Diff(want, mustPage(t, f, "a", query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	newest := slices.Clone(mine)
	slices.Reverse(newest)
	same("oldest first", mine, sqlbus.PageQuery{Ascending: true})
	same("newest first", newest, sqlbus.PageQuery{})
	same("a page after a position", mine[5:9], sqlbus.PageQuery{After: mine[4].Position, Limit: 4, Ascending: true})
	same("a page before a position", newest[26:], sqlbus.PageQuery{Before: newest[25].Position, Limit: 10})
	same("a page by number", newest[4:8], sqlbus.PageQuery{Limit: 4, Offset: 4})
	for most, want := range map[int]int{1000: len(mine), 5: 5} {
		if got, err := sqlbus.Count(t.Context(), f.DB, mine[0].WorkspaceID, sqlbus.PageQuery{Limit: 1}, most); err != nil || got != want {
			t.Errorf("counting up to %d: %d, %v", most, got, err)
		}
	}
	same("by type", mine[:1], sqlbus.PageQuery{Types: []string{"x", "test.happened"}, Limit: 1, Ascending: true})
	same("by another type", nil, sqlbus.PageQuery{Types: []string{"x"}})
	for i, e := range mine {
		if number(t, e) != i {
			t.Errorf("event %d holds %d", i, number(t, e))
		}
		if p, err := bus.ParseID(e.Position.ID()); err != nil || p != e.Position || p.Partition() != bus.PartitionOf("a") {
			t.Errorf("the id %s reads as %d, %v; want %d", e.Position.ID(), p, err, e.Position)
		}
	}
	got, err := sqlbus.Get(t.Context(), f.DB, "a", mine[3].Position)
	if diff := gocmp.Diff(mine[3], got); err != nil || diff != "" {
		t.Errorf("Get: %v\n%s", err, diff)
	}
	if _, err := sqlbus.Get(t.Context(), f.DB, "b", mine[3].Position); !sqldb.IsNotFound(err) {
		t.Errorf("an event of another workspace was found: %v", err)
	}
}

func rolledBack(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	ctx := t.Context()
	exec(t, f.DB, `CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY)`)
	save := func(id string, end error) error {
		return f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO things (id) VALUES ($1)`, id); err != nil {
				return err
			}
			for n := range 2 {
				if _, err := log.AppendTx(ctx, tx, record("a", n)); err != nil {
					return err
				}
			}
			return end
		})
	}
	if err := save("first", errWanted); !errors.Is(err, errWanted) {
		t.Fatalf("the failing transaction: %v", err)
	}
	if events := mustPage(t, f, "a", sqlbus.PageQuery{}); len(events) != 0 {
		t.Errorf("%d events are left of a rolled back transaction", len(events))
	}
	if err := save("second", nil); err != nil {
		t.Fatal(err)
	}
	events := mustPage(t, f, "a", sqlbus.PageQuery{Ascending: true})
	if len(events) != 2 || number(t, events[0]) != 0 || number(t, events[1]) != 1 {
		t.Errorf("the committed events are %v", events)
	}
	if n := queryInt(t, f.DB, `SELECT COUNT(*) FROM things`); n != 1 {
		t.Errorf("%d rows beside the events, want 1", n)
	}
}

func clockJumps(tr trial) {
	t, f := tr.t, tr.Fixture
	start := time.UnixMilli(1_700_000_000_000)
	clk := clock.NewManual(start)
	log := f.Open(t, clk)
	var last bus.Position
	for _, jump := range []time.Duration{0, time.Second, -time.Hour, 0, 2 * time.Hour, -3 * time.Hour} {
		clk.Advance(jump)
		for _, e := range mustAppend(t, log, record("a", 0), record("a", 1)) {
			if e.Position <= last {
				t.Errorf("after a jump of %s: %s follows %s", jump, e.Position.ID(), last.ID())
			}
			last = e.Position
		}
	}
	if got := last.Time(); !got.Equal(start.Add(time.Second + time.Hour)) {
		t.Errorf("the last event is of %s: not the latest time the clock showed", got)
	}
}

func concurrentAppenders(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	const callers, each, workspaces = 64, 20, 10
	given := make([][]bus.Event, callers)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for n := range each {
				events, err := log.Append(t.Context(), record(fmt.Sprint("w", caller%workspaces), caller*each+n))
				if err != nil {
					t.Errorf("caller %d: %v", caller, err)
					return
				}
				given[caller] = append(given[caller], events...)
			}
		})
	}
	wg.Wait()
	stored := make(map[bus.Position]int)
	for w := range workspaces {
		for _, e := range mustPage(t, f, fmt.Sprint("w", w), sqlbus.PageQuery{Limit: callers * each}) {
			stored[e.Position] = number(t, e)
		}
	}
	if len(stored) != callers*each {
		t.Errorf("%d events are stored, want %d", len(stored), callers*each)
	}
	for caller, events := range given {
		for n, e := range events {
			if want := caller*each + n; stored[e.Position] != want {
				t.Errorf("at %s there is %d, want %d", e.Position.ID(), stored[e.Position], want)
			}
			if n > 0 && e.Position <= events[n-1].Position {
				t.Errorf("caller %d: %s follows %s", caller, e.Position.ID(), events[n-1].Position.ID())
			}
		}
	}
}

func abandoned(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ctx, record("a", 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("an append with an ended context: %v", err)
	}
	mustAppend(t, log, record("a", 1))
	if events := mustPage(t, f, "a", sqlbus.PageQuery{}); len(events) != 1 {
		t.Errorf("%d events are stored, want the one that was acknowledged", len(events))
	}
}

func refused(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	for name, r := range map[string]bus.Record{
		"no body":           {WorkspaceID: "a", Type: "t"},
		"broken JSON":       {WorkspaceID: "a", Type: "t", Body: []byte(`{"n":`)},
		"broken UTF-8":      {WorkspaceID: "a", Type: "t", Body: []byte("\"\xff\"")},
		"zero in the type":  {WorkspaceID: "a", Type: "t\x00", Body: []byte(`{}`)},
		"broken workspace":  {WorkspaceID: "\xff", Type: "t", Body: []byte(`{}`)},
		"zero byte in JSON": {WorkspaceID: "a", Type: "t", Body: []byte("{}\x00")},
	} {
		if _, err := log.Append(t.Context(), record("a", 0), r); errs.CodeOf(err) != errs.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustAppend(t, log, bus.Record{WorkspaceID: "a", Type: "t", Body: []byte(`{"escaped":"\u0000\ud800"}`)})
	if events := mustPage(t, f, "a", sqlbus.PageQuery{}); len(events) != 1 {
		t.Errorf("%d events are stored, want only the good one", len(events))
	}
	if events, err := log.Append(t.Context()); err != nil || len(events) != 0 {
		t.Errorf("nothing to append: %v, %v", events, err)
	}
}

func closed(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	if err := log.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	c := &collector{}
	stop := start(t, log, bus.Consumer{Name: reader, Handle: c.handle})
	registered(t, f)
	for range 2 {
		if err := log.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	stop()
	if n := queryInt(t, f.DB, `SELECT COUNT(*) FROM bus_cursors WHERE consumer = 'reader' AND owner <> ''`); n != 0 {
		t.Errorf("%d partitions were not given back", n)
	}
	if _, err := log.Append(t.Context(), record("a", 0)); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("an append after Close: %v", err)
	}
	if err := log.Consume(t.Context(), bus.Consumer{Name: "late", Handle: c.handle}); err == nil {
		t.Error("a consumer of a closed log ended without an error")
	}
}
