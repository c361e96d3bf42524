package runs

import "context"

// handOver ends the runs that wait for an event: they go on elsewhere, or after a restart. So does what has not begun.
func (p *pool) handOver() {
	p.mu.Lock()
	p.stopped, p.handing = true, true
	var waiting []*job
	for j := range p.jobs {
		if j.idle > 0 {
			waiting = append(waiting, j)
		}
	}
	for _, l := range p.lanes { // nobody gives places any more
		for _, c := range l.returning {
			close(c)
			l.working++
			p.working++
		}
		l.returning = nil
	}
	p.mu.Unlock()
	for _, j := range waiting {
		j.abandon()
	}
}

// lose ends the runs that belong to an owner which this instance is not any more.
func (p *pool) lose(owner string) {
	p.mu.Lock()
	var lost []*job
	for j := range p.jobs {
		if j.owner == owner {
			lost = append(lost, j)
		}
	}
	p.mu.Unlock()
	for _, j := range lost {
		j.abandon()
	}
}

// idler lets one run wait.
type idler struct {
	pool *pool
	job  *job
	// outage is told of failures of the database.
	outage *outage
}

// Idle calls wait while the place of the run is free for others.
func (i idler) Idle(ctx context.Context, wait func(ctx context.Context) error) error {
	if i.pool.away(i.job) {
		i.job.abandon() // the process stops: the run waits elsewhere
		return ctx.Err()
	}
	err := wait(ctx)
	if back := i.pool.back(i.job); back != nil {
		<-back // it comes: whoever works ends, and whoever comes back is first
	}
	return i.outage.notice(err)
}

// away frees the place of a run when the first of its branches waits. True tells that the run is to go on elsewhere.
func (p *pool) away(j *job) (handing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handing {
		return true
	}
	l := p.lane(j.workspaceID)
	j.idle++
	if j.idle == 1 && l.idle < maxIdle {
		j.free = true
		l.idle++
		l.working--
		p.working--
		nudge(p.woken)
	}
	return false
}

// back takes a place again when a branch of the run goes on; it gives what to wait for, nil when there is nothing.
func (p *pool) back(j *job) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.idle--
	if !j.free {
		return nil
	}
	j.free = false
	l := p.lane(j.workspaceID)
	l.idle--
	if p.handing { // nobody gives places any more, and nothing new takes one
		l.working++
		p.working++
		return nil
	}
	c := make(chan struct{})
	l.returning = append(l.returning, c)
	p.list(l)
	nudge(p.woken)
	return c
}
