package limits

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// runningShards is how many parts of the table can be written at the same time; a power of two.
const runningShards = 64

// running counts the calls of each caller that this process handles right now. A caller without one is forgotten.
type running struct {
	seed   maphash.Seed
	shards [runningShards]runningShard
}

type runningShard struct {
	mu    sync.Mutex
	calls map[string]int
}

// enter counts a call unless most of the caller are running already. leave may be called more than once.
func (r *running) enter(key string, most int) (leave func(), ok bool) {
	shard := r.shard(key)
	if !shard.add(key, most) {
		return nil, false
	}
	var left atomic.Bool
	return func() {
		if left.CompareAndSwap(false, true) {
			shard.remove(key)
		}
	}, true
}

func (r *running) shard(key string) *runningShard {
	return &r.shards[maphash.String(r.seed, key)%runningShards]
}

func (s *runningShard) add(key string, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[key] >= most {
		return false
	}
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[key]++
	return true
}

func (s *runningShard) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[key] > 1 {
		s.calls[key]--
		return
	}
	delete(s.calls, key)
}
