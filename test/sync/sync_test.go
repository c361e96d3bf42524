package sync_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestRandomSyncs runs SYNC_SEQUENCES sequences of random edits, pushes, pulls, conflicts and their settling over two workspaces
// that share a repository, four at a time, while the process is killed and started again. SYNC_SEED repeats a run, as far as
// the moments of the kills let it.
func TestRandomSyncs(t *testing.T) {
	sequences, seed := number(t, "SYNC_SEQUENCES", 8), number(t, "SYNC_SEED", int(rand.Int32()))
	t.Logf("seed %d, %d sequences", seed, sequences)
	h := newHouse(t)
	kills := rand.New(rand.NewPCG(uint64(seed), 1))
	const atOnce, steps = 4, 16
	killed, did := 0, 0
	for first := 0; first < sequences; first += atOnce {
		ended := make(chan struct{})
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for range 2 { // moments in the middle of things
				timer := time.NewTimer(time.Duration(300+kills.IntN(3000)) * time.Millisecond)
				select {
				case <-ended:
					timer.Stop()
					return
				case <-timer.C:
					killed++
					h.restart()
				}
			}
		}()
		t.Run(fmt.Sprintf("from %d", first), func(t *testing.T) {
			for i := first; i < min(first+atOnce, sequences); i++ {
				t.Run(fmt.Sprintf("sequence %d", i), func(t *testing.T) {
					t.Parallel()
					p := newPair(t, h, fmt.Sprintf("pair%d", i), rand.New(rand.NewPCG(uint64(seed), uint64(i)+2)))
					for range steps {
						p.step()
					}
					p.finish()
				})
			}
		})
		close(ended)
		<-stopped
		did += min(atOnce, sequences-first)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d sequences, %d kills, nothing lost", did, killed)
}
