package bustest

import (
	"context"
	"sync/atomic"
	"testing"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

func everythingInOrder(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	want := mustAppend(t, log, spread(300)...)
	c := &collector{}
	start(t, log, bus.Consumer{Name: reader, FromStart: true, Batch: 7, Handle: c.handle})
	want = append(want, mustAppend(t, log, spread(100)...)...)
	ctx := t.Context()
	err := f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		events, err := log.AppendTx(ctx, tx, spread(100)...)
		want = append(want, events...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	other := f.Open(t, clock.System{}) // an instance that the consumer's own cannot hear
	want = append(want, mustAppend(t, other, spread(100)...)...)
	eventually(t, "all events to be handled", c.has(want))
	c.inOrder(t)
	for _, e := range c.all() {
		if e.Type != "test.happened" || e.WorkspaceID == "" || len(e.Body) == 0 {
			t.Fatalf("an incomplete event was handled: %+v", e)
		}
	}
}

func restart(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	first := mustAppend(t, log, spread(100)...)
	before, after := &collector{}, &collector{}
	stop := start(t, log, bus.Consumer{Name: reader, FromStart: true, Handle: before.handle})
	eventually(t, "the first events to be handled", before.has(first))
	stop()
	second := mustAppend(t, log, spread(100)...)
	start(t, f.Open(t, clock.System{}), bus.Consumer{Name: reader, FromStart: true, Handle: after.handle})
	eventually(t, "the second events to be handled", after.has(second))
	after.inOrder(t)
	if n := len(after.all()); n != len(second) {
		t.Errorf("%d events were handled after the restart, want only the %d new ones", n, len(second))
	}
}

func startsWithNext(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	mustAppend(t, log, spread(50)...)
	c := &collector{}
	start(t, log, bus.Consumer{Name: reader, Handle: c.handle})
	registered(t, f)
	want := mustAppend(t, log, spread(50)...)
	eventually(t, "the new events to be handled", c.has(want))
	if n := len(c.all()); n != len(want) {
		t.Errorf("%d events were handled, want only the %d new ones", n, len(want))
	}
}

func failingHandler(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	want := mustAppend(t, log, record("a", 0), record("a", 1), record("a", 2))
	for name, fail := range map[string]func() error{
		"error": func() error { return errWanted },
		"panic": func() error { panic("wanted by the test") },
	} {
		c := &collector{}
		var attempts atomic.Int32
		handle := func(ctx context.Context, events []bus.Event) error {
			_ = c.handle(ctx, events)
			if attempts.Add(1) <= 2 {
				return fail()
			}
			return nil
		}
		handleTx := func(ctx context.Context, _ *sqldb.Tx, events []bus.Event) error { return handle(ctx, events) }
		for kind, consumer := range map[string]bus.Consumer{
			"Handle":   {Name: name, FromStart: true, Handle: handle},
			"HandleTx": {Name: name + "tx", FromStart: true, HandleTx: handleTx},
		} {
			c.events = nil
			attempts.Store(0)
			stop := start(t, log, consumer)
			eventually(t, kind+" to succeed", func() bool { return lagOf(t, log, consumer.Name) == 0 && attempts.Load() > 0 })
			stop()
			for p, times := range c.positions() {
				if times != 3 {
					t.Errorf("%s, %s: %s was handled %d times, want 3", name, kind, p.ID(), times)
				}
			}
			if len(c.all()) != 3*len(want) {
				t.Errorf("%s, %s: %d events were handled, want %d", name, kind, len(c.all()), 3*len(want))
			}
		}
	}
}

func poisoned(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	bad := bus.PartitionOf("workspace-0")
	c := &collector{}
	var poison atomic.Bool
	poison.Store(true)
	start(t, log, bus.Consumer{Name: reader, FromStart: true, Handle: func(ctx context.Context, events []bus.Event) error {
		if poison.Load() && events[0].Position.Partition() == bad {
			return errWanted
		}
		return c.handle(ctx, events)
	}})
	var good, held []bus.Event
	for _, e := range mustAppend(t, log, spread(200)...) {
		if e.Position.Partition() == bad {
			held = append(held, e)
		} else {
			good = append(good, e)
		}
	}
	eventually(t, "the good partitions to be handled", c.has(good))
	eventually(t, "the lag to be the poisoned partition", func() bool { return lagOf(t, log, reader) == int64(len(held)) })
	poison.Store(false)
	eventually(t, "the poisoned partition to recover", c.has(held))
	c.inOrder(t)
}

func lagOf(t *testing.T, log bus.Log, name string) int64 {
	t.Helper()
	n, err := log.Lag(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func lag(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	c := &collector{}
	mustAppend(t, log, spread(10)...)
	if n := lagOf(t, log, reader); n != 0 {
		t.Errorf("a consumer that never ran is %d behind", n)
	}
	stop := start(t, log, bus.Consumer{Name: reader, Handle: c.handle})
	registered(t, f)
	stop()
	mustAppend(t, log, spread(40)...)
	if n := lagOf(t, log, reader); n != 40 {
		t.Errorf("a stopped consumer is %d behind, want 40", n)
	}
	start(t, log, bus.Consumer{Name: reader, Handle: c.handle})
	eventually(t, "the consumer to catch up", func() bool { return lagOf(t, log, reader) == 0 })
	for _, wrong := range []bus.Consumer{
		{Handle: c.handle},
		{Name: "neither"},
		{Name: "both", Handle: c.handle, HandleTx: func(context.Context, *sqldb.Tx, []bus.Event) error { return nil }},
	} {
		if err := log.Consume(t.Context(), wrong); err == nil {
			t.Errorf("consumer %q, which can never work, ended without an error", wrong.Name)
		}
	}
}
