package sqlbus

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// appender lets concurrent callers share a transaction. While one commit is being made durable the next callers queue
// up, and the next commit carries all of them: one lock of each partition and one sync of the disk for many events.
type appender struct {
	log   *Log
	queue chan *appendJob

	closing sync.RWMutex
	closed  bool
	done    chan struct{}
}

const (
	batchJobs    = 256     // bounds how many callers wait in line
	batchRecords = 1024    // bounds a shared transaction, and with it how long the first caller waits
	batchBytes   = 4 << 20 // likewise

	commitTimeout = 30 * time.Second // after which a server that does not answer has failed the callers
)

// appenderCount is how many transactions of shared appends run at once: SQLite has one writer; on PostgreSQL a
// partition that another transaction holds for long stops only the callers of its own appender.
func appenderCount(driver string) int {
	if driver == "sqlite" {
		return 1
	}
	return 4
}

type appendJob struct {
	records []bus.Record
	bytes   int
	taken   atomic.Bool // set by whoever decides its fate: the appender, or the caller giving up
	events  []bus.Event
	err     error
	done    chan struct{}
}

func newAppender(log *Log) *appender {
	a := &appender{log: log, queue: make(chan *appendJob, batchJobs), done: make(chan struct{})}
	go a.loop()
	return a
}

// Append adds the events on their own and returns when they are durable. Concurrent callers share a commit, which is
// not the caller's transaction: a hook that sqldb.WithHook put into ctx does not run here. Use AppendTx where one must.
func (l *Log) Append(ctx context.Context, records ...bus.Record) ([]bus.Event, error) {
	if err := check(records); err != nil || len(records) == 0 {
		return nil, err
	}
	lane := bus.PartitionOf(records[0].WorkspaceID) % len(l.appenders)
	events, err := l.appenders[lane].append(ctx, records)
	if err != nil {
		return nil, fmt.Errorf("append events: %w", err)
	}
	return events, nil
}

func (a *appender) append(ctx context.Context, records []bus.Record) ([]bus.Event, error) {
	job := &appendJob{records: records, done: make(chan struct{})}
	for _, r := range records {
		job.bytes += len(r.Body)
	}
	if err := a.enqueue(ctx, job); err != nil {
		return nil, err
	}
	select {
	case <-job.done:
	case <-ctx.Done():
		if job.taken.CompareAndSwap(false, true) {
			return nil, ctx.Err() // not started yet: nothing was appended
		}
		<-job.done // started: only the commit can tell what became of it
	}
	return job.events, job.err
}

func (a *appender) enqueue(ctx context.Context, job *appendJob) error {
	a.closing.RLock()
	defer a.closing.RUnlock()
	if a.closed {
		return errs.New(errs.Unavailable, "The server is stopping; try again shortly.")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case a.queue <- job:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *appender) close() {
	a.closing.Lock()
	already := a.closed
	a.closed = true
	a.closing.Unlock()
	if !already {
		close(a.queue)
	}
	<-a.done
}

func (a *appender) loop() {
	defer close(a.done)
	for job := range a.queue {
		a.commit(a.collect(job))
	}
}

// collect adds what is already waiting to the first job, without waiting for more.
func (a *appender) collect(first *appendJob) []*appendJob {
	var jobs []*appendJob
	records, bytes := 0, 0
	for job := first; ; {
		if job.taken.CompareAndSwap(false, true) {
			jobs = append(jobs, job)
			records += len(job.records)
			bytes += job.bytes
		}
		if records >= batchRecords || bytes >= batchBytes {
			return jobs
		}
		select {
		case next, ok := <-a.queue:
			if !ok {
				return jobs
			}
			job = next
		default:
			return jobs
		}
	}
}

// commit appends the records of all jobs in one transaction and hands each its events. Callers who went away in between
// are not waited for, so the work is not bound to any of their contexts.
func (a *appender) commit(jobs []*appendJob) {
	var records []bus.Record
	for _, job := range jobs {
		records = append(records, job.records...)
	}
	if len(records) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	var before heads
	var events []bus.Event
	err := a.log.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		if before, err = a.before(ctx, tx); err == nil {
			events, err = a.log.appendTx(ctx, tx, records)
		}
		return err
	})
	if err == nil {
		if a.log.single() {
			a.log.recent.add(before, events)
		}
		a.log.heads.advance(events)
	}
	for _, job := range jobs {
		if job.err = err; err == nil {
			job.events, events = events[:len(job.records):len(job.records)], events[len(job.records):]
		}
		close(job.done)
	}
}

// before gives the heads that a transaction begins with. Where others may append at the same time they say nothing.
func (a *appender) before(ctx context.Context, tx *sqldb.Tx) (heads, error) {
	if !a.log.single() {
		return heads{}, nil
	}
	return readHeads(ctx, tx)
}

// single tells that the database has one writer at a time.
func (l *Log) single() bool { return l.db.Driver() == "sqlite" }
