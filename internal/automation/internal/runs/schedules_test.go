package runs_test

import (
	"fmt"
	"testing"
	"time"

	"atelier/internal/automation/internal/runs"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// skewed is a clock that is wrong.
type skewed struct {
	clock.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

const ticking = `
when: {schedules: ['* * * * *', '0 12 * * *']}
do:
- emit: {event: ticked, payload: {cron: '{{payload.trigger.value}}', id: '{{id}}', user: '{{source.userId}}'}}
`

// native appends an event of the platform.
func (i *instance) native(workspaceID string, payload catalogue.Payload) {
	i.t.Helper()
	record, err := envelope.Native(i.t.Context(), "workspaces", workspaceID, payload)
	if err != nil {
		i.t.Fatal(err)
	}
	if _, err := i.log.Append(i.t.Context(), record); err != nil {
		i.t.Fatal(err)
	}
}

// advance moves a clock by steps, so that those who wait for it come along, until something is so.
func (i *instance) advance(clk *clock.Manual, step time.Duration, what string, is func() bool) {
	i.t.Helper()
	i.eventually(what, func() bool {
		clk.Advance(step)
		return is()
	})
}

func (i *instance) scheduled() int { return i.count(`SELECT COUNT(*) FROM run_schedules`) }

// Each tick starts its automation once in the cluster, not more often than allowed; what passed while nothing ran is made up for by
// one; a workspace that is suspended has no schedules.
func TestSchedules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w := newWorld(t)
		w.add("w1", "tick", ticking)
		clk := clock.NewManual(time.Date(2026, 3, 1, 11, 50, 0, 0, time.UTC))
		var all []*instance
		for _, skew := range []time.Duration{-5 * time.Second, 0, 5 * time.Second} {
			all = append(all, w.start(open(), options{clock: skewed{clk, skew}, settings: runs.Settings{Silence: time.Hour}}))
		}
		i := all[1]
		i.advance(clk, time.Millisecond, "the schedules are stored", func() bool { return i.scheduled() == 2 })
		holds(t, i.came("w1", "runtime.schedules.created", 1)[0], `"slug":"tick"`, `"0 12 * * *"`, `"launched":2`)
		end := time.Date(2026, 3, 1, 12, 31, 0, 0, time.UTC)
		i.advance(clk, 4*time.Second, "the time comes", func() bool { return clk.Now().After(end) })
		i.advance(clk, time.Millisecond, "all ticks are done", func() bool { return len(i.events("w1", "ticked")) >= 4 })
		i.advance(clk, time.Millisecond, "no run is left", func() bool { return i.count(`SELECT COUNT(*) FROM runs`) == 0 })
		minutes := i.came("w1", "runtime.schedules.triggered", 4) // each minute is each quarter of an hour, and noon is noon
		noon := 0
		for _, e := range i.came("w1", "ticked", 4) {
			var said struct{ Cron, ID, User string }
			if err := decode(e.Payload, &said); err != nil || said.ID == "" || said.User != "" {
				t.Errorf("%s: %v", e.Payload, err)
			}
			if said.Cron == "0 12 * * *" {
				noon++
			}
		}
		if noon != 1 {
			t.Errorf("noon came %d times of %v", noon, minutes)
		}
		holds(t, i.events("w1", catalogue.ExecutedType)[0], `"type":"schedule"`)
		clk.Advance(5 * time.Hour)
		i.advance(clk, time.Millisecond, "the missed ticks are made up for", func() bool { return len(i.events("w1", "ticked")) >= 5 })
		i.advance(clk, time.Millisecond, "no run is left", func() bool { return i.count(`SELECT COUNT(*) FROM runs`) == 0 })
		i.came("w1", "ticked", 5)

		w.change("w1", func(s *space) { s.suspended = true })
		i.native("w1", &catalogue.WorkspaceSuspended{Suspended: true})
		i.advance(clk, time.Millisecond, "it has no schedules", func() bool { return i.scheduled() == 0 })
		w.change("w1", func(s *space) { s.suspended = false })
		i.native("w1", &catalogue.WorkspaceSuspended{})
		i.advance(clk, time.Millisecond, "it has them again", func() bool { return i.scheduled() == 2 })
		w.add("w1", "tick", "when: {schedules: ['0 3 * * *']}\ndo: []\n")
		i.native("w1", &catalogue.Automation{Verb: catalogue.Updated})
		i.advance(clk, time.Millisecond, "it has others", func() bool { return i.scheduled() == 1 })
		i.came("w1", "runtime.schedules.created", 3)
	})
}

// Many schedules of one minute are all started, though they are more than fit into memory.
func TestManySchedules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		const workspaces, automations = 12, 20
		w := newWorld(t)
		for n := range workspaces {
			for a := range automations {
				w.add(fmt.Sprintf("w%02d", n), fmt.Sprint("a", a), "when: {schedules: ['0 12 * * *']}\ndo: []\n")
			}
		}
		clk := clock.NewManual(time.Date(2026, 3, 1, 11, 50, 0, 0, time.UTC))
		i := w.start(open(), options{clock: clk, settings: runs.Settings{Total: 4, Share: 2, Silence: time.Hour, Queue: 15}})
		i.advance(clk, time.Millisecond, "the schedules are stored", func() bool { return i.scheduled() == workspaces*automations })
		clk.Advance(20 * time.Minute)
		done := func() (ran, refused int) {
			const of = `SELECT COUNT(*) FROM bus_events WHERE type = $1`
			return i.count(of, catalogue.ExecutedType), i.count(of, "error")
		}
		i.advance(clk, 100*time.Millisecond, "all ticks are done or refused", func() bool {
			ran, refused := done()
			return ran+refused >= workspaces*automations
		})
		if ran, refused := done(); ran+refused != workspaces*automations || refused > workspaces*(automations-15) {
			t.Errorf("%d ran, %d were refused", ran, refused)
		}
	})
}
