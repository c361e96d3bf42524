package runs

import (
	"context"
	"sync"
	"time"
)

const (
	// countedFor is how long the number of runs that wait is believed, and longCount how many have to wait for that: fewer are
	// counted in no time.
	countedFor = time.Second
	longCount  = 1000
)

// backlog remembers how many runs wait in workspaces where they are many: counting them takes milliseconds.
type backlog struct {
	mu    sync.Mutex
	known map[string]counted
}

type counted struct {
	waiting int // what has come since is in it, what was done since is not
	at      time.Time
}

// recall gives what is known of a workspace; false when that is old, or so much that it has to be known exactly.
func (b *backlog) recall(workspaceID string, now time.Time, limit int) (waiting int, ok bool) {
	const exactly = 2 // from one in so many of the limit on
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.known[workspaceID]
	return c.waiting, ok && now.Sub(c.at) < countedFor && c.waiting < limit/exactly
}

// counted remembers what was counted.
func (b *backlog) counted(workspaceID string, now time.Time, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if waiting < longCount {
		delete(b.known, workspaceID)
		return
	}
	if b.known == nil {
		b.known = map[string]counted{}
	}
	b.known[workspaceID] = counted{waiting: waiting, at: now}
}

// add tells of runs that come to wait.
func (b *backlog) add(workspaceID string, runs int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.known[workspaceID]; ok {
		c.waiting += runs
		b.known[workspaceID] = c
	}
}

// free is how many more runs of a workspace may wait. Those who make some of the same workspace at the same time, in this process or
// another one, may together make a few more.
func (r *Runs) free(ctx context.Context, workspaceID string) (int, error) {
	now := r.Clock.Now()
	if waiting, ok := r.backlog.recall(workspaceID, now, r.Settings.Queue); ok {
		return r.Settings.Queue - waiting, nil
	}
	waiting, err := waitingRuns(ctx, r.DB, workspaceID, r.Settings.Queue)
	if err != nil {
		return 0, err
	}
	r.backlog.counted(workspaceID, now, waiting)
	return r.Settings.Queue - waiting, nil
}
