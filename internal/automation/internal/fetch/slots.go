package fetch

import (
	"context"
	"sync"
)

const (
	// small is what an answer may have without taking a place.
	small = 1 << 20
	// bigAnswers is how many large answers are read at the same time, bigShare how many of them one workspace may read.
	bigAnswers = 16
	bigShare   = 4
)

// slots are the places for large answers. A workspace whose servers are slow fills its share, not all of them.
type slots struct {
	free   chan struct{}
	mu     sync.Mutex
	shares map[string]*share
}

type share struct {
	free  chan struct{}
	users int // who holds a place of it or waits for one
}

func newSlots() *slots {
	return &slots{free: make(chan struct{}, bigAnswers), shares: make(map[string]*share)}
}

// take waits for a place.
func (s *slots) take(ctx context.Context, workspaceID string) (release func(), err error) {
	own := s.join(workspaceID)
	if err := fill(ctx, own.free); err != nil {
		s.leave(workspaceID)
		return nil, err
	}
	if err := fill(ctx, s.free); err != nil {
		<-own.free
		s.leave(workspaceID)
		return nil, err
	}
	return func() {
		<-s.free
		<-own.free
		s.leave(workspaceID)
	}, nil
}

func fill(ctx context.Context, free chan<- struct{}) error {
	select {
	case free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slots) join(workspaceID string) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.shares[workspaceID]
	if own == nil {
		own = &share{free: make(chan struct{}, bigShare)}
		s.shares[workspaceID] = own
	}
	own.users++
	return own
}

func (s *slots) leave(workspaceID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.shares[workspaceID]; own != nil {
		if own.users--; own.users == 0 {
			delete(s.shares, workspaceID)
		}
	}
}
