package machine_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

// still is a clock on which no time passes, and whoever waits for some goes on at once.
type still struct{ *clock.Manual }

func (s still) NewTimer(time.Duration) clock.Timer { return s.Manual.NewTimer(0) }

// crowd counts who works at the same time.
type crowd struct{ now, most atomic.Int32 }

func (c *crowd) instruction() machine.Instructions {
	return machine.Instructions{
		"work": machine.Simple(func(*machine.Frame, *value.Object) (any, error) {
			n := c.now.Add(1)
			defer c.now.Add(-1)
			for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
			}
			for end := (clock.System{}).Now().Add(20 * time.Microsecond); (clock.System{}).Now().Before(end); { // others could come
			}
			return value.Undefined{}, nil
		}),
		"sleep": machine.Simple(func(f *machine.Frame, _ *value.Object) (any, error) {
			return value.Undefined{}, f.Sleep(100 * time.Microsecond)
		}),
	}
}

const crowded = `{do: [
	{repeat: {until: 20, batch: {size: 10}, do: [{work: {}}, {sub: {}}, {sleep: {}}, {work: {}}]}},
	{all: [{work: {}}, {sub: {}}, {sleep: {}}]},
	{repeat: {until: 300, do: [{set: {name: x, value: 'a{{item}}'}}]}}, {work: {}}]}`

// Of a workspace that has used much, so many goroutines work at the same time as there are turns, whatever its runs do, and every
// turn comes back.
func TestHeavyWorkspacesTakeTurns(t *testing.T) {
	t.Parallel()
	var c crowd
	bench := machinetest.New(t, c.instruction())
	stopped := still{clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))} // on which nothing is forgotten
	bench.Machine.Turns = turns.New(stopped, turns.Settings{Processors: 1})
	bench.Machine.Turns.Of("light").Begin(t.Context()).End() // who is alone takes no turns
	bench.Machine.Turns.Of(bench.Home.WorkspaceID).Used(time.Hour)
	bench.Add("sub", `{do: [{work: {}}, {sleep: {}}]}`)
	automation := bench.Add("main", crowded)
	for range 2 { // the second time nobody would get a turn that was lost
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if result := bench.Machine.Execute(t.Context(), bench.Fresh(), automation, nil); result.Err != nil {
					t.Error(result.Err)
				}
			})
		}
		all.Wait()
	}
	if most := c.most.Load(); most != 1 {
		t.Errorf("%d worked at the same time", most)
	}
}

// A workspace that has used little works while turns are taken.
func TestLightWorkspacesTakeNone(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	stopped := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	bench.Machine.Turns = turns.New(stopped, turns.Settings{Processors: 1})
	heavy := bench.Machine.Turns.Of("other")
	heavy.Used(time.Hour)
	held := heavy.Begin(t.Context())
	defer held.End()
	automation := bench.Add("main", `{do: [{repeat: {until: 1000, do: [{set: {name: x, value: '{{item}}'}}]}}], output: '{{x}}'}`)
	if result := bench.Machine.Execute(t.Context(), bench.Run, automation, nil); result.Err != nil || result.Output != 999.0 {
		t.Error(result)
	}
}
