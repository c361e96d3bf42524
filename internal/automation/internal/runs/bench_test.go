package runs_test

import (
	"sync"
	"testing"

	"atelier/internal/automation/internal/runs"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/sqldb/sqldbtest"
)

// BenchmarkRuns measures an event that starts an automation which emits another, from end to end.
func BenchmarkRuns(b *testing.B) {
	w := newWorld(b)
	w.add("w1", "do", "when: {events: [go]}\ndo:\n- emit: {event: done}\n")
	i := w.start(sqldbtest.SQLite(b, sqlbus.Migrations(), runs.Migrations()), options{settings: runs.Settings{Alone: true, Queue: 1_000_000}})
	b.ResetTimer()
	var emitting sync.WaitGroup
	const callers = 32
	for n := range callers {
		emitting.Go(func() {
			for k := n; k < b.N; k += callers {
				i.emit("w1", "go", `{}`)
			}
		})
	}
	emitting.Wait()
	i.eventually("all are done", func() bool { return i.count(`SELECT COUNT(*) FROM bus_events WHERE type = 'done'`) == b.N })
	i.eventually("nothing is left", func() bool { return i.count(`SELECT COUNT(*) FROM runs`) == 0 })
	b.StopTimer()
	i.stop()
}
