package schedule

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/sqldb"
)

// row is a job as it is stored, and the tick that this instance has of it.
type row struct {
	spec    string
	next    int64
	running int64 // the tick that is being done; 0 is none, or none of ours
	epoch   int64
	expires int64
}

// nextTime is when the job is due next; without one, a look later.
func (r row) nextTime(now time.Time) time.Time {
	if r.next == 0 {
		return now.Add(look)
	}
	return sqldb.Time(r.next)
}

// claim takes the tick that is due, or one that another instance has left, for this instance.
func (r *Runner) claim(ctx context.Context, job Job, now time.Time) (held row, err error) {
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		held, err = r.stored(ctx, tx, job, now)
		if err != nil {
			return err
		}
		free := held.running == 0
		switch {
		case free && (held.next == 0 || held.next > sqldb.Millis(now)):
			return nil // nothing is due
		case !free && held.expires > sqldb.Millis(now):
			held.running = 0 // somebody else is at it
			return nil
		case free:
			held.running = held.next
			held.next = job.after(now, sqldb.Time(held.next))
		}
		before := held.epoch
		held.epoch++
		n, err := tx.Exec(ctx, `UPDATE schedule_jobs SET next_at = $1, running_at = $2, epoch = $3, expires_at = $4 WHERE name = $5 AND epoch = $6`,
			held.next, held.running, held.epoch, sqldb.Millis(now.Add(lease)), job.Name, before)
		if err == nil && n == 0 {
			held.running = 0 // somebody else was faster
		}
		return err
	})
	return held, err
}

// after is the tick that follows one, and follows now: what was missed in between is made up for by the one.
func (j Job) after(now, tick time.Time) int64 {
	if tick.After(now) {
		now = tick
	}
	next, ok := j.Next(now)
	if !ok {
		return 0
	}
	return sqldb.Millis(next)
}

// stored reads the row of a job, which is made or brought up to date when the schedule is another one.
func (r *Runner) stored(ctx context.Context, tx *sqldb.Tx, job Job, now time.Time) (found row, err error) {
	spec := job.At.String() + " " + job.zone().String()
	err = tx.QueryRow(ctx, `SELECT spec, next_at, running_at, epoch, expires_at FROM schedule_jobs WHERE name = $1`, job.Name).
		Scan(&found.spec, &found.next, &found.running, &found.epoch, &found.expires)
	if err != nil && !sqldb.IsNotFound(err) {
		return found, err
	}
	if err == nil && found.spec == spec {
		return found, nil
	}
	found.spec, found.next = spec, job.after(now, now)
	_, err = tx.Exec(ctx, `INSERT INTO schedule_jobs (name, spec, next_at, running_at, epoch, expires_at, last_at, last_error) VALUES ($1, $2, $3, 0, 0, 0, 0, '')
		ON CONFLICT (name) DO UPDATE SET spec = $2, next_at = $3`, job.Name, spec, found.next)
	return found, err
}

// extend renews the lease; it is false when the tick is another instance's by now.
func (r *Runner) extend(ctx context.Context, job Job, held row) (mine bool, err error) {
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE schedule_jobs SET expires_at = $1 WHERE name = $2 AND epoch = $3 AND running_at <> 0`,
			sqldb.Millis(r.Clock.Now().Add(lease)), job.Name, held.epoch)
		mine = n == 1
		return err
	})
	return mine, err
}

// release notes what became of a tick. One that the end of this instance interrupted is left for another.
func (r *Runner) release(ctx context.Context, job Job, held row, failure error) error {
	const patience = 5 * time.Second
	stopped := ctx.Err() != nil && failure != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	message := ""
	if failure != nil {
		message = failure.Error()
	}
	return r.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		if stopped {
			_, err = tx.Exec(ctx, `UPDATE schedule_jobs SET expires_at = 0 WHERE name = $1 AND epoch = $2`, job.Name, held.epoch)
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE schedule_jobs SET running_at = 0, expires_at = 0, last_at = $1, last_error = $2 WHERE name = $3 AND epoch = $4`,
			held.running, message, job.Name, held.epoch)
		return err
	})
}

// Done is how a job stands.
type Done struct {
	Name string
	// Next is when it is due, Last the tick that was done last; zero when there is none.
	Next, Last time.Time
	// Error is what was wrong with the last one.
	Error string
}

// Jobs lists the jobs that were ever run.
func Jobs(ctx context.Context, r sqldb.Reader) ([]Done, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (d Done, err error) {
		var next, last int64
		err = rows.Scan(&d.Name, &next, &last, &d.Error)
		d.Next, d.Last = timeOrZero(next), timeOrZero(last)
		return d, err
	}, `SELECT name, next_at, last_at, last_error FROM schedule_jobs ORDER BY name`)
}

func timeOrZero(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return sqldb.Time(ms)
}
