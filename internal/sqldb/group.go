package sqldb

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// groupWriter lets concurrent transactions of a single-writer engine share one commit, and so one sync of the disk.
// While a commit is being made durable the next callers queue up; the next commit carries all of them, each in its own
// savepoint, so that one that fails undoes only itself.
type groupWriter struct {
	db     *DB
	queue  chan *groupJob
	failed chan struct{}
	done   chan struct{}
}

// groupMax bounds how many callers share a commit, and with it how long the first of them waits.
const groupMax = 256

type groupJob struct {
	ctx   context.Context //nolint:containedctx // the job carries its caller's context to the writer
	fn    func(*Tx) error
	taken atomic.Bool // set by whoever decides its fate: the writer, or the caller giving up
	err   error
	panic any
	done  chan struct{}
}

// undone tells that nothing of the job is to be kept.
func (j *groupJob) undone() bool { return j.err != nil || j.panic != nil }

func newGroupWriter(db *DB) *groupWriter {
	g := &groupWriter{db: db, queue: make(chan *groupJob, groupMax), failed: make(chan struct{}), done: make(chan struct{})}
	go g.loop()
	return g
}

// run queues fn and waits until its commit is durable. It is not called after close.
func (g *groupWriter) run(ctx context.Context, fn func(*Tx) error) error {
	job := &groupJob{ctx: ctx, fn: fn, done: make(chan struct{})}
	select {
	case g.queue <- job:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-job.done:
	case <-ctx.Done():
		if job.taken.CompareAndSwap(false, true) {
			return ctx.Err() // not started yet: nothing happened
		}
		<-job.done // started: only the commit can tell what became of it
	}
	if job.panic != nil {
		panic(job.panic) //nolint:forbidigo // the caller's own panic, carried back to its goroutine
	}
	return job.err
}

// close ends the writer; nobody is in run any more.
func (g *groupWriter) close() {
	close(g.queue)
	<-g.done
}

func (g *groupWriter) loop() {
	defer close(g.done)
	batch := make([]*groupJob, 0, groupMax)
	for job := range g.queue {
		batch = g.drain(append(batch, job))
		g.commit(batch)
		clear(batch)
		batch = batch[:0]
	}
}

// drain adds what is already waiting, without waiting for more.
func (g *groupWriter) drain(batch []*groupJob) []*groupJob {
	for len(batch) < groupMax {
		select {
		case job, ok := <-g.queue:
			if !ok {
				return batch
			}
			batch = append(batch, job)
		default:
			return batch
		}
	}
	return batch
}

func (g *groupWriter) commit(batch []*groupJob) {
	ran := batch[:0]
	for _, job := range batch {
		if job.taken.CompareAndSwap(false, true) {
			ran = append(ran, job)
		}
	}
	if len(ran) == 0 {
		return
	}
	if err := g.work(ran); err != nil {
		for _, job := range ran {
			if !job.undone() {
				job.err = err
			}
		}
	}
	for _, job := range ran {
		close(job.done)
	}
}

// work runs the jobs in one transaction. Its error is that of the whole commit; a job's own error stays in the job.
func (g *groupWriter) work(jobs []*groupJob) error {
	select {
	case <-g.failed:
		return errFailed
	default:
	}
	sqlTx, err := g.db.engine.Write.BeginTx(context.Background(), nil)
	if err != nil {
		return g.db.translate(err)
	}
	defer func() { _ = sqlTx.Rollback() }()
	tx := &Tx{tx: sqlTx, db: g.db, shared: true}
	one := g.savepoint
	if len(jobs) == 1 {
		one = alone
	}
	kept := 0
	for _, job := range jobs {
		if err := one(tx, job); err != nil {
			return err
		}
		if !job.undone() {
			kept++
		}
	}
	if kept == 0 {
		return nil
	}
	tx.count()
	defer tx.count()
	if err := sqlTx.Commit(); err != nil {
		err = g.db.translate(err)
		if KindOf(err) == KindIO {
			close(g.failed) // a sync that failed once is never retried and then believed
		}
		return err
	}
	return nil
}

// alone runs a job that has the transaction for itself: undoing it undoes only its own work, without keeping a copy of every
// page that it changes.
func alone(tx *Tx, job *groupJob) error {
	if job.err = job.ctx.Err(); job.err == nil {
		runJob(tx, job)
	}
	return nil
}

// savepoint runs one job so that its failure undoes only its own work. An error means the whole transaction is lost.
func (g *groupWriter) savepoint(tx *Tx, job *groupJob) error {
	ctx := context.Background()
	if job.err = job.ctx.Err(); job.err != nil {
		return nil //nolint:nilerr // it concerns this job only
	}
	if _, err := tx.Exec(ctx, "SAVEPOINT job"); err != nil {
		return err
	}
	runJob(tx, job)
	if job.undone() {
		if _, err := tx.Exec(ctx, "ROLLBACK TO job"); err != nil {
			return lost(job.err, err)
		}
	}
	_, err := tx.Exec(ctx, "RELEASE job")
	return err
}

// lost tells the neighbours why their transaction is gone. On a full or failing disk the engine undoes all of it by
// itself; that the savepoint is gone too is only the consequence.
func lost(cause, consequence error) error {
	switch KindOf(cause) {
	case KindFull, KindIO, KindRetry, KindUnavailable:
		return cause
	default:
		return consequence
	}
}

func runJob(tx *Tx, job *groupJob) {
	defer func() {
		if p := recover(); p != nil {
			job.panic = fmt.Sprintf("in a transaction: %v\n%s", p, debug.Stack()) // the caller's own stack does not show where
		}
	}()
	job.err = job.fn(tx)
}
