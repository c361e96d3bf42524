package locks_test

import (
	"math/rand/v2"
	"sync"
	"time"
)

// nemesis kills processes.
type nemesis struct {
	*contest

	random *rand.Rand
}

// run kills until it has killed so often and there are so many events. One or two of the processes are killed at a time, at any
// moment; in some rounds somebody clears the lock, whoever has it.
func (n *nemesis) run(kills, events int) {
	for killed := 0; (killed < kills || n.seen.count() < events) && !n.t.Failed(); {
		n.impatient.Store(n.random.IntN(2) == 0)
		wait(n.t.Context(), time.Duration(n.random.IntN(800))*time.Millisecond)
		order := n.random.Perm(len(n.places))[:1+n.random.IntN(2)]
		if killed >= kills {
			continue
		}
		var together sync.WaitGroup
		for _, i := range order {
			together.Go(func() { n.restart(n.places[i]) })
		}
		together.Wait()
		killed += len(order)
	}
}
