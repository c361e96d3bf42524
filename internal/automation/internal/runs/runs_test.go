package runs_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

func asUser(e *envelope.Event) { e.Source.UserID, e.Source.SessionID = "ann", "s1" }

// An event starts its listener once, with what is known of the event, and is told of.
func TestEventStarts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w := newWorld(t)
		w.users["ann"] = access.Principal{Kind: access.User, UserID: "ann", SuperAdmin: true}
		w.add("w1", "pay", `
when: {events: [order, order]}
do:
- emit: {event: paid, payload: {id: '{{id}}', user: '{{source.userId}}', amount: '{{payload.amount}}'}}
`)
		w.add("w1", "after", `
when: {events: [paid]}
do:
- emit: {event: thanks, payload: {amount: '{{payload.amount}}'}}
`)
		i := w.start(open(), options{})
		order := i.emit("w1", "order", `{"amount": 12}`, asUser, func(e *envelope.Event) { e.Source.SocketID = "socket" })
		paid := i.came("w1", "paid", 1)[0]
		holds(t, paid, order.Position.ID(), `"user":"ann"`, `"amount":12`, `"automationSlug":"pay"`, `"automationDepth":1`, `"socketId":"socket"`, `"sessionId":"s1"`)
		if paid.Source.UserID != "" {
			t.Errorf("the account is in the source: %+v", paid.Source)
		}
		holds(t, i.came("w1", "thanks", 1)[0], `"automationDepth":2`, `"amount":12`)
		i.idle()
		told := i.events("w1", "runtime.interactions.triggered")
		if len(told) != 1 {
			t.Fatalf("%d interactions, want that of the user", len(told))
		}
		holds(t, told[0], `"automation":"pay"`, `"value":"order"`, order.Position.ID(), `"userId":"ann"`)
		executed := i.came("w1", catalogue.ExecutedType, 2)
		holds(t, executed, `"id":"`+order.Position.ID(), `"slug":"pay"`, `"slug":"after"`)
	})
}

// hang is an instruction that stops where it is until it is told to go on.
type hang struct {
	reached atomic.Int64
	open    chan struct{}
}

func (h *hang) instruction() machine.Instruction {
	return machine.Simple(func(f *machine.Frame, _ *value.Object) (any, error) {
		h.reached.Add(1)
		select {
		case <-h.open:
			return value.Undefined{}, nil
		case <-f.Context().Done():
			return nil, f.Context().Err()
		}
	})
}

const twoSteps = `
when: {events: [go]}
do:
- emit: {event: first, payload: {n: '{{payload.n}}'}, output: sent}
- hang: {}
- emit: {event: second, payload: {n: '{{payload.n}}', answers: '{{sent.id}}'}}
`

// Runs whose process is killed half-way are begun anew, and what they did is not done again.
func TestKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		const many = 40
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("w1", "two", twoSteps)
		w.add("w2", "two", twoSteps)
		a := w.start(open(), options{settings: runs.Settings{Total: many, Share: many, Silence: time.Hour}})
		for range many / 2 {
			a.emit("w1", "go", `{"n": 1}`)
			a.emit("w2", "go", `{"n": 1}`)
		}
		a.eventually("all hang", func() bool { return stuck.reached.Load() == many })
		b := w.start(open(), options{quiet: true}) // to look with
		a.kill()
		close(stuck.open)
		b.stop()
		b = w.start(open(), options{settings: runs.Settings{Total: many, Share: many, Alone: b.db.Driver() == "sqlite"}})
		for _, ws := range []string{"w1", "w2"} {
			b.came(ws, "second", many/2)
			ids := map[string]bool{}
			for _, first := range b.came(ws, "first", many/2) {
				ids[first.ID] = true
			}
			for _, second := range b.events(ws, "second") {
				var said struct{ Answers string }
				if err := decode(second.Payload, &said); err != nil || !ids[said.Answers] {
					t.Errorf("%s answers %q: %v", second.ID, said.Answers, err)
				}
				delete(ids, said.Answers)
			}
			if len(ids) != 0 {
				t.Errorf("%d are not answered", len(ids))
			}
		}
		b.idle()
	})
}

// An instance that stands still loses its runs, and cannot do anything for them when it wakes up.
func TestFenced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("w1", "two", twoSteps)
		frozen := clock.NewManual(clock.System{}.Now())
		a := w.start(open(), options{clock: frozen})
		a.emit("w1", "go", `{"n": 1}`)
		a.eventually("it hangs", func() bool { return stuck.reached.Load() == 1 })
		b := w.start(open(), options{})
		b.eventually("it is taken over", func() bool { return stuck.reached.Load() == 2 })
		close(stuck.open)
		b.came("w1", "second", 1)
		b.idle()
		<-time.After(100 * time.Millisecond) // the first one would have emitted by now
		b.came("w1", "second", 1)
		b.came("w1", "first", 1)
		b.eventually("one of them has told of it", func() bool { return len(b.events("w1", catalogue.ExecutedType)) > 0 })
		if told := b.events("w1", catalogue.ExecutedType); len(told) != 1 {
			t.Errorf("%d runs told of it: %v", len(told), told)
		}
	})
}

// A run that waits for something is handed over at once when its process stops; another one is waited for.
func TestStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("w1", "waits", `
when: {events: [go]}
do:
- emit: {event: asked}
- wait: {oneOf: [{event: answer, filters: {payload.ok: true}}], timeout: 600, output: came}
- emit: {event: told, payload: {n: '{{came.payload.n}}'}}
`)
		w.add("w1", "works", "when: {events: [work]}\ndo:\n- hang: {}\n- emit: {event: worked}\n")
		a := w.start(open(), options{})
		a.emit("w1", "go", `{}`)
		a.emit("w1", "work", `{}`)
		a.came("w1", "asked", 1)
		a.eventually("it works", func() bool { return stuck.reached.Load() == 1 })
		a.eventually("it waits", func() bool { return a.count(`SELECT COUNT(*) FROM run_wait_types`) == 1 })
		began := clock.System{}.Now()
		go func() {
			<-time.After(200 * time.Millisecond)
			close(stuck.open)
		}()
		a.stop()
		if took := (clock.System{}).Now().Sub(began); took > 5*time.Second {
			t.Errorf("stopping took %s", took)
		}
		b := w.start(open(), options{})
		b.came("w1", "worked", 1)
		if n := b.count(`SELECT COUNT(*) FROM run_waits`); n != 1 {
			t.Fatalf("%d waits are left", n)
		}
		b.emit("w1", "answer", `{"ok": false, "n": 1}`)
		b.emit("w1", "answer", `{"ok": true, "n": 2}`)
		holds(t, b.came("w1", "told", 1)[0], `"n":2`)
		b.idle()
		if n := b.count(`SELECT COUNT(*) FROM run_waits`); n != 0 {
			t.Errorf("%d waits are left of runs that are done", n)
		}
		b.came("w1", "asked", 1)
	})
}

// A workspace with many runs does not keep others waiting, and runs that wait hold no place.
func TestFair(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("flood", "slow", "when: {events: [go]}\ndo:\n- hang: {}\n- emit: {event: done}\n")
		w.add("calm", "quick", "when: {events: [go]}\ndo:\n- emit: {event: done}\n")
		w.add("ask", "asks", `
when: {events: [go]}
do:
- emit: {event: question, output: q}
- wait: {oneOf: [{event: answer, filters: {payload.to: '{{q.id}}'}}], timeout: 30, output: a}
- emit: {event: done, payload: {came: '{{a.payload.to}}'}}
`)
		w.add("ask", "answers", "when: {events: [question]}\ndo:\n- emit: {event: answer, payload: {to: '{{id}}'}}\n")
		i := w.start(open(), options{settings: runs.Settings{Total: 4, Share: 2}})
		const flood = 150
		for range flood {
			i.emit("flood", "go", `{}`)
		}
		i.eventually("the flood works", func() bool { return stuck.reached.Load() == 2 })
		i.emit("calm", "go", `{}`)
		i.came("calm", "done", 1)
		for range 6 { // more than may work at once: all of them wait for runs that come after them
			i.emit("ask", "go", `{}`)
		}
		i.came("ask", "done", 6)
		if n := stuck.reached.Load(); n != 2 {
			t.Errorf("%d runs of one workspace work at the same time, 2 may", n)
		}
		if n := i.count(`SELECT COUNT(*) FROM runs WHERE workspace_id = 'flood' AND owner = ''`); n == 0 {
			t.Error("all of the flood is in memory")
		}
		close(stuck.open)
		i.came("flood", "done", flood)
		i.idle()
	})
}

// More runs than a workspace may have are refused with an error event.
func TestQueueBound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("w1", "slow", "when: {events: [go]}\ndo:\n- hang: {}\n- emit: {event: done}\n")
		i := w.start(open(), options{settings: runs.Settings{Queue: 10}})
		for range 15 {
			i.emit("w1", "go", `{}`)
		}
		i.eventually("what is too much is refused", func() bool {
			refused := 0
			for _, e := range i.events("w1", "error") {
				var said struct {
					Error   string
					Details struct{ Events int }
				}
				if decode(e.Payload, &said) == nil && said.Error == machine.QuotaExceeded {
					refused += said.Details.Events
				}
			}
			return refused == 5
		})
		close(stuck.open)
		i.came("w1", "done", 10)
		i.idle()
	})
}

// An automation that starts itself ends at the limit of depth, with an error event.
func TestItself(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w := newWorld(t)
		w.add("w1", "again", "when: {events: [go]}\ndo:\n- emit: {event: go}\n")
		i := w.start(open(), options{})
		i.emit("w1", "go", `{}`)
		i.eventually("it ends", func() bool { return len(i.events("w1", "error")) > 0 })
		i.idle()
		holds(t, i.came("w1", "error", 1), machine.TooManyCalls)
		i.came("w1", "go", 22)
	})
}

// Nothing of a workspace runs that is suspended or deleted, and the rest goes on.
func TestSuspended(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w := newWorld(t)
		for _, ws := range []string{"w1", "w2", "w3"} {
			w.add(ws, "do", "when: {events: [go]}\ndo:\n- emit: {event: done}\n")
		}
		w.change("w1", func(s *space) { s.suspended = true })
		w.change("w2", func(s *space) { s.deleted = true })
		i := w.start(open(), options{})
		for _, ws := range []string{"w1", "w2", "unknown", "w3"} {
			i.emit(ws, "go", `{}`)
		}
		i.came("w3", "done", 1)
		i.eventually("all events are read", func() bool {
			lag, err := i.log.Lag(t.Context(), "runtime")
			return err == nil && lag == 0
		})
		i.idle()
		if len(i.events("w1", "done")) != 0 || len(i.events("w2", "done")) != 0 {
			t.Error("they run")
		}
	})
}

// A run that ended its process each time is given up.
func TestKillerRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w, stuck := newWorld(t), &hang{open: make(chan struct{})}
		w.more["hang"] = stuck.instruction()
		w.add("w1", "kills", "when: {events: [go]}\ndo:\n- hang: {}\n")
		var a *instance
		for life := int64(1); life <= 6; life++ {
			a = w.start(open(), options{settings: runs.Settings{Silence: 100 * time.Millisecond}})
			if life == 1 {
				a.emit("w1", "go", `{}`)
			}
			a.eventually("it is begun", func() bool { return stuck.reached.Load() == life })
			a.kill()
		}
		b := w.start(open(), options{settings: runs.Settings{Silence: 100 * time.Millisecond}})
		b.idle()
		holds(t, b.came("w1", "error", 1), machine.Broke, `"attempts":5`)
		if n := stuck.reached.Load(); n != 6 {
			t.Errorf("it was begun %d times", n)
		}
	})
}

// The events of one workspace start runs once, however many instances there are.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w := newWorld(t)
		w.add("w1", "do", "when: {events: [go]}\ndo:\n- emit: {event: done}\n")
		var all []*instance
		for range 3 {
			all = append(all, w.start(open(), options{settings: runs.Settings{Share: 2}}))
		}
		var emitting sync.WaitGroup
		for n := range 3 {
			emitting.Go(func() {
				for range 40 {
					all[n].emit("w1", "go", `{}`)
				}
			})
		}
		emitting.Wait()
		all[0].eventually("all are done", func() bool { return len(all[0].events("w1", "done")) >= 120 })
		all[0].idle()
		all[0].came("w1", "done", 120)
	})
}
