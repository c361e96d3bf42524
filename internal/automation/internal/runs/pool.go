package runs

import (
	"context"
	"sync"

	"atelier/internal/bus"
)

// job is a run that this instance has.
type job struct {
	row
	// event is what started it; nil when it has to be read.
	event *bus.Event

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	gone   bool // the run goes on elsewhere

	// Those below are the pool's: how many of its branches wait, and whether its place is free meanwhile.
	idle int
	free bool
}

// abandon ends the run here without an end: it is begun anew elsewhere.
func (j *job) abandon() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gone = true
	if j.cancel != nil {
		j.cancel(errHandedOver)
	}
}

func (j *job) abandoned() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone
}

// begin keeps how the run is ended; false when that was asked for already.
func (j *job) begin(cancel context.CancelCauseFunc) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel = cancel
	return !j.gone
}

// pool lets runs work, so many at a time in all and of one workspace, workspaces in turn. What does not fit into memory stays in
// the table.
type pool struct {
	total, share, memory int
	// heavy tells that a workspace uses much of the processors. Its runs take long, and never have the last places.
	heavy func(workspaceID string) bool

	mu       sync.Mutex
	lanes    map[string]*lane
	turn     []*lane // those with something to do, in their order
	working  int
	queued   int
	jobs     map[*job]struct{} // all that this instance has, also those that wait for an event
	stopped  bool              // nothing new begins
	handing  bool              // those who wait for an event go on elsewhere
	woken    chan struct{}
	claimers chan struct{}
}

// lane is the runs of one workspace.
type lane struct {
	workspaceID string
	queue       []*job
	returning   []chan struct{} // runs that waited for an event, and go on
	working     int
	idle        int
	listed      bool
	// spilled tells that runs of the workspace wait in the table.
	spilled bool
}

// lanesDeep is how many runs of one workspace wait in memory for each that works: enough to go on without asking the table, and few
// enough for other instances to get some.
const lanesDeep = 4

// lastPlaces is which part of the places is kept for workspaces that use little: one of so many.
const lastPlaces = 4

// maxIdle is how many runs of one workspace may wait for events without holding a place.
const maxIdle = 2000

func newPool(s Settings, heavy func(workspaceID string) bool) *pool {
	const deep = 32 // runs in memory for each that works
	if heavy == nil {
		heavy = func(string) bool { return false }
	}
	return &pool{
		heavy: heavy, total: s.Total, share: min(s.Share, s.Total), memory: s.Total * deep,
		lanes: map[string]*lane{}, jobs: map[*job]struct{}{}, woken: make(chan struct{}, 1), claimers: make(chan struct{}, 1),
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will look anyway
	}
}

func (p *pool) nudgeClaims() { nudge(p.claimers) }

// lane gives the lane of a workspace. The pool is locked.
func (p *pool) lane(workspaceID string) *lane {
	l, ok := p.lanes[workspaceID]
	if !ok {
		l = &lane{workspaceID: workspaceID}
		p.lanes[workspaceID] = l
	}
	return l
}

// tidy forgets a lane without anything in it. The pool is locked.
func (p *pool) tidy(l *lane) {
	if len(l.queue) == 0 && len(l.returning) == 0 && l.working == 0 && l.idle == 0 && !l.listed && !l.spilled {
		delete(p.lanes, l.workspaceID)
	}
}

// room is how many runs of a workspace there is room for in memory. A workspace with runs in the table gets none but from there,
// so that those who came first are first.
func (p *pool) room(workspaceID string, claiming bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[workspaceID]
	room := min(p.share*lanesDeep, p.memory-p.queued)
	if p.stopped {
		return 0
	}
	if l != nil {
		if l.spilled && !claiming {
			return 0
		}
		room = min(room, p.share*lanesDeep-len(l.queue))
	}
	return max(room, 0)
}

// spill notes whether runs of a workspace wait in the table.
func (p *pool) spill(workspaceID string, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lanes[workspaceID] == nil && !some {
		return
	}
	l := p.lane(workspaceID)
	l.spilled = some
	p.tidy(l)
}

// add queues runs that this instance has.
func (p *pool) add(jobs ...*job) {
	p.mu.Lock()
	for _, j := range jobs {
		l := p.lane(j.workspaceID)
		l.queue = append(l.queue, j)
		p.queued++
		p.jobs[j] = struct{}{}
		p.list(l)
	}
	p.mu.Unlock()
	nudge(p.woken)
}

// list gives a lane its turn. The pool is locked.
func (p *pool) list(l *lane) {
	if !l.listed {
		l.listed = true
		p.turn = append(p.turn, l)
	}
}

// run lets runs work until ctx ends, and waits for them. What is still queued then is left.
func (p *pool) run(ctx context.Context, do func(*job)) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		for j := p.next(); j != nil; j = p.next() {
			all.Go(func() {
				defer p.done(j)
				do(j)
			})
		}
		select {
		case <-p.woken:
		case <-ctx.Done():
			p.stop()
			return
		}
	}
}

// next gives a run that may work now; nil when there is none.
func (p *pool) next() *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	for turns := len(p.turn); turns > 0 && p.working < p.total; turns-- {
		l := p.turn[0]
		p.turn = p.turn[1:]
		l.listed = false
		j, some := p.step(l)
		if len(l.queue)+len(l.returning) > 0 {
			p.list(l)
		}
		if j != nil {
			return j
		}
		if some { // one that waited for an event goes on: its lane had its turn
			turns = len(p.turn) + 1
		}
	}
	return nil
}

// step takes the next run of a lane; those that have begun already come first. The pool is locked.
func (p *pool) step(l *lane) (j *job, some bool) {
	if l.working >= p.share || p.working >= p.total-p.total/lastPlaces && p.heavy(l.workspaceID) {
		return nil, false
	}
	if len(l.returning) > 0 {
		close(l.returning[0])
		l.returning = l.returning[1:]
		l.working++
		p.working++
		return nil, true
	}
	if len(l.queue) == 0 || p.stopped {
		p.tidy(l)
		return nil, false
	}
	j, l.queue = l.queue[0], l.queue[1:]
	l.working++
	p.working++
	p.queued--
	if l.spilled {
		p.nudgeClaims()
	}
	return j, true
}

// done frees the place of a run.
func (p *pool) done(j *job) {
	p.mu.Lock()
	delete(p.jobs, j)
	l := p.lane(j.workspaceID)
	l.working--
	p.working--
	p.tidy(l)
	p.mu.Unlock()
	nudge(p.woken)
}

// stop lets nothing new begin.
func (p *pool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}
