package bustest

import (
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// mixed makes records of which every other one is transient.
func mixed(count int) []bus.Record {
	records := spread(count)
	for n := range records {
		records[n].Transient = n%2 == 1
	}
	return records
}

// lasting are the events of mixed records that are not transient.
func lasting(events []bus.Event) (kept []bus.Event) {
	for n, e := range events {
		if n%2 == 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

// transient: whoever consumes or waits gets transient events in their place between the others, however they were appended, and
// who searches finds none of them.
func transient(tr trial) {
	t, f := tr.t, tr.Fixture
	ctx := t.Context()
	log := f.Open(t, clock.System{})
	c := &collector{}
	start(t, log, bus.Consumer{Name: reader, FromStart: true, Batch: 7, Handle: c.handle})
	want := mustAppend(t, log, mixed(200)...)
	err := f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		events, err := log.AppendTx(ctx, tx, mixed(100)...)
		want = append(want, events...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	alone := mustAppend(t, log, bus.Record{WorkspaceID: "alone", Type: "test.happened", Body: []byte(`{"n":1}`), Transient: true})
	want = append(want, alone...)
	eventually(t, "all events to be handled", c.has(want))
	c.inOrder(t)
	at := alone[0].Position
	if head, err := log.Wait(ctx, at.Partition(), at-bus.Step); err != nil || head < at {
		t.Errorf("who waits is told of %s, %v", head.ID(), err)
	}
	followed, err := sqlbus.Following(ctx, f.DB, at.Partition(), at-bus.Step, 1)
	if err != nil || len(followed) != 1 || followed[0].Position != at {
		t.Errorf("who follows gets %v, %v", followed, err)
	}
	for _, workspace := range []string{"alone", "workspace-1"} {
		if found := mustPage(t, f, workspace, sqlbus.PageQuery{Limit: 10}); len(found) != 0 {
			t.Errorf("%d transient events of %s are found", len(found), workspace)
		}
		if n, err := sqlbus.Count(ctx, f.DB, workspace, sqlbus.PageQuery{Limit: 1}, 1000); err != nil || n != 0 {
			t.Errorf("%d transient events of %s are counted, %v", n, workspace, err)
		}
	}
	if found := mustPage(t, f, "workspace-0", sqlbus.PageQuery{Limit: 10}); len(found) == 0 {
		t.Error("the others are not found")
	}
}

// transientRemoved: a consumer that was away when transient events were removed gets all the others, and is behind nothing.
func transientRemoved(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	c := &collector{}
	stop := start(t, log, bus.Consumer{Name: reader, FromStart: true, Handle: c.handle})
	eventually(t, "the first events to be handled", c.has(mustAppend(t, log, mixed(100)...)))
	stop()
	want := lasting(mustAppend(t, log, mixed(100)...))
	exec(t, f.DB, `DELETE FROM bus_events WHERE transient = 1`)
	start(t, f.Open(t, clock.System{}), bus.Consumer{Name: reader, FromStart: true, Handle: c.handle})
	eventually(t, "what is left to be handled", c.has(want))
	c.inOrder(t)
	eventually(t, "nothing to be behind", func() bool { return lagOf(t, log, reader) == 0 })
}
