package bustest

import (
	"context"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// idle shows that a consumer which has nothing to do for most events is told of each once, and goes on behind all of them.
func idle(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	const every = 10 // events there is one with something to do
	seen, done := &collector{}, &collector{}
	handle := func(ctx context.Context, events []bus.Event) error {
		_ = seen.handle(ctx, events)
		var mine []bus.Event
		for _, e := range events {
			if number(t, e)%every == 0 {
				mine = append(mine, e)
			}
		}
		if len(mine) == 0 {
			return bus.ErrIdle
		}
		return done.handle(ctx, mine)
	}
	for kind, consumer := range map[string]bus.Consumer{
		"Handle":   {Name: "plain", FromStart: true, Batch: 3, Handle: handle},
		"HandleTx": {Name: "tx", FromStart: true, Batch: 3, HandleTx: func(ctx context.Context, _ *sqldb.Tx, events []bus.Event) error { return handle(ctx, events) }},
	} {
		*seen, *done = collector{}, collector{} // nobody uses them between two consumers
		stop := start(t, log, consumer)
		eventually(t, kind+": the first events to be seen", seen.has(mustAppend(t, log, spread(200)...)))
		eventually(t, kind+": all to be acknowledged", func() bool { return lagOf(t, log, consumer.Name) == 0 })
		last := mustAppend(t, log, spread(200)[1])
		eventually(t, kind+": the last event to be seen", seen.has(last))
		stop()
		if n := lagOf(t, log, consumer.Name); n != 0 {
			t.Errorf("%s: %d events are not acknowledged after the consumer has left", kind, n)
		}
		seen.inOrder(t)
		for p, times := range seen.positions() {
			if times != 1 {
				t.Errorf("%s: %s was seen %d times, want once", kind, p.ID(), times)
			}
		}
	}
}
