package runs_test

import (
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// What is waited for may come before the wait, through another process, and never.
func TestWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("w1", "early", `
when: {events: [early]}
do:
- emit: {event: question, output: q}
- hang: {}
- wait: {oneOf: [{event: answer, filters: {payload.to: '{{q.id}}'}}], timeout: 30, output: a}
- emit: {event: came early, payload: {from: '{{a.source.automationSlug}}'}}
`)
		w.add("w1", "answers", "when: {events: [question]}\ndo:\n- emit: {event: answer, payload: {to: '{{id}}'}, options: {persist: false}}\n- emit: {event: answered}\n")
		w.add("w1", "cancels", `
when: {events: [cancel]}
do:
- wait: {oneOf: [{event: never}, {event: stolen, cancelTriggers: true}], timeout: 30, output: a}
- emit: {event: came cancelled, payload: {n: '{{a.payload.n}}'}}
`)
		w.add("w1", "never", "when: {events: [stolen]}\ndo:\n- emit: {event: fired}\n")
		w.add("w1", "late", `
when: {events: [late]}
do:
- wait: {oneOf: [{event: nothing}], timeout: 0.2, output: a}
- conditions:
    '{{a}} exists':
    - emit: {event: wrong}
    default:
    - emit: {event: came late}
`)
		w.add("w1", "executed", `
when: {events: [run]}
do:
- emit: {event: late, output: sent}
- wait: {oneOf: [{event: runtime.automations.executed, filters: {payload.trigger.id: '{{sent.id}}'}}], timeout: 30, output: a}
- emit: {event: ran, payload: {slug: '{{a.payload.slug}}'}}
`)
		i := w.start(open(), options{})
		other := w.start(open(), options{settings: runs.Settings{}})
		i.emit("w1", "early", `{}`)
		i.came("w1", "answered", 1)
		close(stuck.open)
		holds(t, i.came("w1", "came early", 1), `"from":"answers"`)
		i.emit("w1", "cancel", `{}`)
		i.eventually("it waits", func() bool { return i.count(`SELECT COUNT(*) FROM run_wait_types`) == 2 })
		other.emit("w1", "stolen", `{"n": 1}`)
		holds(t, i.came("w1", "came cancelled", 1), `"n":1`)
		other.emit("w1", "stolen", `{"n": 2}`) // nobody waits any more
		i.came("w1", "fired", 1)
		i.emit("w1", "late", `{}`)
		i.came("w1", "came late", 1)
		i.emit("w1", "run", `{}`)
		holds(t, i.came("w1", "ran", 1), `"slug":"late"`)
		i.idle()
		for _, table := range []string{"run_waits", "run_wait_types"} {
			if n := i.count(`SELECT COUNT(*) FROM ` + table); n != 0 {
				t.Errorf("%d rows are left in %s", n, table)
			}
		}
		if n := len(i.events("w1", "runtime.waits.fulfilled")); n != 3 {
			t.Errorf("%d fulfilled waits are told of, want 3", n)
		}
	})
}

// The run of a request waits like any other, and leaves nothing behind. Its journal keeps nothing.
func TestRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w := newWorld(t)
		w.add("w1", "asks", `
do:
- emit: {event: question, output: q}
- wait: {oneOf: [{event: answer, filters: {payload.to: '{{q.id}}'}}], timeout: 30, output: a}
output: '{{a.payload.n}}'
`)
		w.add("w1", "answers", "when: {events: [question]}\ndo:\n- emit: {event: answer, payload: {to: '{{id}}', n: 7}}\n")
		i := w.start(open(), options{})
		model, err := i.runs.Models.Of(t.Context(), "w1")
		if err != nil {
			t.Fatal(err)
		}
		ctx, run := i.runs.Begin(t.Context(), runs.Beginning{Root: model.Root, SocketID: "socket", Hops: 2})
		asks, _ := model.Find("asks")
		result := i.runs.Engine.Execute(ctx, run, asks, machine.Payload())
		if result.Err != nil || result.Output != 7.0 {
			t.Fatalf("%v %v", result.Output, result.Err)
		}
		question := i.came("w1", "question", 1)[0]
		if question.Source.CorrelationID == "" || question.Source.SocketID != "socket" || question.Source.Hops != 2 {
			t.Errorf("%+v", question.Source)
		}
		answer := i.came("w1", "answer", 1)[0]
		if answer.Source.CorrelationID != question.Source.CorrelationID || answer.Source.SocketID != "socket" || answer.Source.Hops != 2 {
			t.Errorf("%+v", answer.Source)
		}
		i.idle()
		if n := i.count(`SELECT COUNT(*) FROM run_waits`); n != 0 {
			t.Errorf("%d waits are left", n)
		}
	})
}

// An event that the log does not keep starts its automation too, also when the run has to wait in the table.
func TestTransient(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("w1", "slow", "when: {events: [go]}\ndo:\n- hang: {}\n- emit: {event: done, payload: {n: '{{payload.n}}'}}\n")
		i := w.start(open(), options{settings: runs.Settings{Total: 1, Share: 1}})
		gone := func(e *envelope.Event) { no := false; e.Options = &envelope.Options{Persist: &no} }
		const many = 12
		for range many {
			i.emit("w1", "go", `{"n": 3}`, gone)
		}
		i.eventually("all of them wait", func() bool { return i.count(`SELECT COUNT(*) FROM runs`) == many })
		if i.count(`SELECT COUNT(*) FROM runs WHERE owner = ''`) == 0 {
			t.Error("all of them are in memory")
		}
		err := i.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `DELETE FROM bus_events WHERE transient = 1`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		close(stuck.open)
		for _, e := range i.came("w1", "done", many) {
			holds(t, e, `"n":3`)
		}
		i.idle()
	})
}
