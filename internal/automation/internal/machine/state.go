package machine

import (
	"sync"
	"sync/atomic"
)

// state is what a run has used so far, and what must not be seen of it.
type state struct {
	steps, memory atomic.Int64
	branches      atomic.Int32
	told          atomic.Bool // that the run is over, by something beside it
	hidden        hidden
}

// branch takes the right to work beside others; false when so many do.
func (s *state) branch(most int32) bool {
	if s.branches.Add(1) <= most {
		return true
	}
	s.branches.Add(-1)
	return false
}

// root is one automation that a trigger started, with all that it starts.
type root struct {
	beside sync.WaitGroup
}
