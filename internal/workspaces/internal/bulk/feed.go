package bulk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"atelier/internal/workspaces/internal/versioning"
)

// Run is a bulk operation that this process has begun.
type Run struct {
	// ID is that of the operation.
	ID string

	job    *versioning.Job
	feed   *feed
	answer *answer
}

// answer settles who tells the client of a refusal: whoever is first, the client waiting for it or the operation.
type answer struct{ state atomic.Int32 }

const (
	open int32 = iota
	// left means that the client does not wait any more: an event tells.
	left
	// told means that the client gets it as the answer.
	told
)

func (a *answer) settle(as int32) bool { return a.state.CompareAndSwap(open, as) }

// Wait waits for the operation to end, at most for a while, and tells whether it has. One that goes on elsewhere has not.
func (r *Run) Wait(ctx context.Context, most <-chan time.Time) (completed any, ended bool, err error) {
	select {
	case <-r.job.Done():
		return r.result()
	case <-ctx.Done():
		r.answer.settle(left)
		return nil, false, ctx.Err()
	case <-most:
	}
	if r.answer.settle(left) {
		return nil, false, nil
	}
	<-r.job.Done() // it is just being refused
	return r.result()
}

func (r *Run) result() (completed any, ended bool, err error) {
	completed, err = r.job.Result()
	if errors.Is(err, errHandedOver) {
		return nil, false, nil // another process goes on with it
	}
	return completed, err == nil, err
}

// Listed is closed when the operation has frozen its workspaces; one that is refused never does.
func (r *Run) Listed() <-chan struct{} { return r.feed.listed }

// Done is closed when the operation has ended here.
func (r *Run) Done() <-chan struct{} { return r.job.Done() }

// Leave tells that the client does not wait for a refusal any more.
func (r *Run) Leave() { r.answer.settle(left) }

// Since gives what was told after a number of tellings, and a channel that is closed when there is more.
func (r *Run) Since(seen int) (more []Progress, next <-chan struct{}) { return r.feed.since(seen) }

// feed is what a bulk operation tells while it runs.
type feed struct {
	listed   chan struct{}
	isListed sync.Once

	mu   sync.Mutex
	said []Progress
	more chan struct{}
}

func newFeed() *feed { return &feed{listed: make(chan struct{}), more: make(chan struct{})} }

func (f *feed) list() { f.isListed.Do(func() { close(f.listed) }) }

func (f *feed) tell(p Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, p)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *feed) since(seen int) (more []Progress, next <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said[min(seen, len(f.said)):], f.more
}
