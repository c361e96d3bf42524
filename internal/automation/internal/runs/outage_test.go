package runs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// fragile is an instruction whose effect the database refuses so many times.
type fragile struct {
	kind  sqldb.Kind
	fails int64
	asked atomic.Int64
	done  atomic.Int64
}

func (d *fragile) instruction() machine.Instruction {
	return machine.Simple(func(f *machine.Frame, _ *value.Object) (any, error) {
		return f.Once(func(context.Context, *sqldb.Tx) (any, error) {
			if d.asked.Add(1) <= d.fails {
				return nil, &sqldb.Error{Kind: d.kind}
			}
			d.done.Add(1)
			return nil, nil
		})
	})
}

const interrupted = `
when: {events: [go]}
do:
- emit: {event: first}
- try:
    do: [{fragile: {}}]
    catch: [{emit: {event: caught, payload: {name: '{{$error.name}}'}}}]
    finally: [{emit: {event: finally}}]
- emit: {event: second}
`

// A run that the database interrupts is begun anew, does nothing twice, and is told of once.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, weak := newWorld(t), &fragile{kind: sqldb.KindUnavailable, fails: 3}
		w.more["fragile"] = weak.instruction()
		w.add("w1", "do", interrupted)
		clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		i := w.start(open(), options{clock: clk, settings: runs.Settings{Silence: time.Hour, Total: 1, Share: 1}})
		i.emit("w1", "go", `{}`)
		i.advance(clk, 100*time.Millisecond, "it comes to its end", func() bool { return len(i.events("w1", "second")) > 0 })
		i.idle()
		for eventType, n := range map[string]int{"first": 1, "second": 1, "finally": 1, "caught": 0, "error": 0, catalogue.ExecutedType: 1} {
			i.came("w1", eventType, n)
		}
		if weak.asked.Load() != 4 || weak.done.Load() != 1 {
			t.Errorf("asked %d times, done %d times", weak.asked.Load(), weak.done.Load())
		}
	})
}

// What the database always refuses ends some day as the failure that it is, and what lies in the effect itself at once.
func TestInterruptedInVain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  sqldb.Kind
		tries int64
	}{
		"unavailable": {sqldb.KindUnavailable, 7},
		"full":        {sqldb.KindFull, 7},
		"refused":     {sqldb.KindCheck, 1},
		"unknown":     {sqldb.KindOther, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, open func() *sqldb.DB) {
				w, weak := newWorld(t), &fragile{kind: c.kind, fails: 1000}
				w.more["fragile"] = weak.instruction()
				w.add("w1", "do", interrupted)
				clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
				i := w.start(open(), options{clock: clk, settings: runs.Settings{Silence: time.Hour}})
				i.emit("w1", "go", `{}`)
				i.advance(clk, time.Second, "it comes to its end", func() bool { return len(i.events("w1", "second")) > 0 })
				i.idle()
				for _, eventType := range []string{"first", "second", "finally", "caught", catalogue.ExecutedType} {
					i.came("w1", eventType, 1)
				}
				holds(t, i.events("w1", "caught"), machine.Broke)
				if weak.asked.Load() != c.tries || weak.done.Load() != 0 {
					t.Errorf("asked %d times, want %d, done %d times", weak.asked.Load(), c.tries, weak.done.Load())
				}
			})
		})
	}
}

// A run that rests because of the database gives its place to others, and is handed over when the process stops.
func TestInterruptedRests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, weak := newWorld(t), &fragile{kind: sqldb.KindIO, fails: 1}
		w.more["fragile"] = weak.instruction()
		w.add("w1", "do", interrupted)
		w.add("w1", "other", "when: {events: [other]}\ndo:\n- emit: {event: done}\n")
		still := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		a := w.start(open(), options{clock: still, settings: runs.Settings{Silence: time.Hour, Total: 1, Share: 1, Grace: time.Hour}})
		a.emit("w1", "go", `{}`)
		a.eventually("it is interrupted", func() bool { return weak.asked.Load() == 1 })
		a.emit("w1", "other", `{}`)
		a.came("w1", "done", 1)
		a.stop()
		b := w.start(open(), options{})
		b.came("w1", "second", 1)
		b.idle()
		b.came("w1", "first", 1)
	})
}

// A wait that is opened again begins where it began: what came in between, and was read before it was stored, is not missed.
func TestWaitBeginsWhereItBegan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		i := newWorld(t).start(open(), options{quiet: true})
		wanted := waits.Wait{ID: "run_1/0", RunID: "run_1", WorkspaceID: "w1", Wanted: waits.Wanted{{Type: "answer"}}, Timeout: time.Minute}
		var err error
		if wanted.Since, err = i.waits.Head(t.Context(), "w1"); err != nil {
			t.Fatal(err)
		}
		first, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, came, err := i.waits.Await(first, wanted); came || err == nil {
			t.Fatalf("nothing was sent: %v %v", came, err)
		}
		sent := i.emit("w1", "answer", `{"n": 1}`)
		wanted.Since = sent.Position // as it would be if the run had begun to wait now
		second, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		event, came, err := i.waits.Await(second, wanted)
		if err != nil || !came || value.Get(value.Get(event, "payload"), "n") != 1.0 {
			t.Errorf("%v %v %v", event, came, err)
		}
	})
}
