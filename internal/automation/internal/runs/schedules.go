package runs

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/cron"
	"atelier/internal/envelope"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
)

// next is when a schedule is due after a time: not before the most frequent schedule that is allowed would be.
func (r *Runs) next(schedule cron.Schedule, after time.Time) (time.Time, bool) {
	own, ok := schedule.Next(after)
	if floor, some := r.Settings.Floor.Next(after); some && floor.After(own) {
		own = floor
	}
	return own, ok
}

// tick is a schedule that is due.
type tick struct {
	workspaceID, automation, cron string
	at                            int64
}

const (
	// ticksAtOnce is how many schedules are started in one commit; the longest that nobody looks for them is lookForTicks.
	ticksAtOnce  = 200
	lookForTicks = 10 * time.Second
)

// scheduling starts automations at the times of their schedules until ctx ends. Ticks that passed while nothing ran are made up for
// by one.
func (r *Runs) scheduling(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := r.ticks(ctx)
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "schedules cannot be started; trying again", "error", err)
		}
		if more && err == nil {
			continue
		}
		r.pause(ctx, r.untilTick(ctx))
	}
}

// untilTick is how long it is until a schedule is due; not so long that one which another instance stores would be late.
func (r *Runs) untilTick(ctx context.Context) time.Duration {
	var next sql.NullInt64
	err := r.DB.QueryRow(ctx, `SELECT MIN(next_at) FROM run_schedules`).Scan(&next)
	if err != nil || !next.Valid {
		return lookForTicks
	}
	const soonest = 100 * time.Millisecond
	return min(max(sqldb.Time(next.Int64).Sub(r.Clock.Now()), soonest), lookForTicks)
}

// ticks starts what is due. More tells that there may be more.
func (r *Runs) ticks(ctx context.Context) (more bool, err error) {
	now := r.Clock.Now()
	due, err := sqldb.All(ctx, r.DB, func(rows *sql.Rows) (t tick, err error) {
		return t, rows.Scan(&t.workspaceID, &t.automation, &t.cron, &t.at)
	}, `SELECT workspace_id, automation, cron, next_at FROM run_schedules WHERE next_at <= $1 ORDER BY next_at, workspace_id, automation, cron LIMIT $2`,
		sqldb.Millis(now), ticksAtOnce)
	if err != nil || len(due) == 0 {
		return false, err
	}
	var jobs []*job
	var spilled []string
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		jobs, spilled, err = r.fire(ctx, tx, due, now)
		return err
	})
	if err != nil {
		return false, err
	}
	failpoint.At("runs.ticked")
	r.pool.add(jobs...)
	for _, workspaceID := range spilled {
		r.pool.spill(workspaceID, true)
	}
	if len(spilled) > 0 {
		r.pool.nudgeClaims()
	}
	return len(due) == ticksAtOnce, nil
}

// fire takes ticks that no other instance has taken, and stores their events and runs.
func (r *Runs) fire(ctx context.Context, tx *sqldb.Tx, due []tick, now time.Time) (jobs []*job, spilled []string, err error) {
	free := map[string]int{}
	var mine []tick
	var records []bus.Record
	for _, t := range due {
		ok, err := r.takeTick(ctx, tx, t, now)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		if _, known := free[t.workspaceID]; !known {
			waiting, err := waitingRuns(ctx, tx, t.workspaceID, r.Settings.Queue)
			if err != nil {
				return nil, nil, err
			}
			free[t.workspaceID] = r.Settings.Queue - waiting
		}
		record, fits, err := r.tickRecord(ctx, t, free[t.workspaceID], now)
		if err != nil {
			return nil, nil, err
		}
		if fits {
			free[t.workspaceID]--
		} else {
			t.automation = "" // it is told of, and not run
		}
		mine, records = append(mine, t), append(records, record)
	}
	if len(mine) == 0 {
		return nil, nil, nil
	}
	events, err := r.Bus.AppendTx(ctx, tx, records...)
	if err != nil {
		return nil, nil, err
	}
	return r.storeTicks(ctx, tx, mine, events, now)
}

// takeTick moves a schedule on; false when another instance did.
func (r *Runs) takeTick(ctx context.Context, tx *sqldb.Tx, t tick, now time.Time) (bool, error) {
	schedule, err := cron.Parse(t.cron)
	if err != nil {
		return false, err
	}
	after := now
	if at := sqldb.Time(t.at); at.After(after) {
		after = at
	}
	next, ok := r.next(schedule, after)
	var n int64
	if ok {
		n, err = tx.Exec(ctx, `UPDATE run_schedules SET next_at = $1 WHERE workspace_id = $2 AND automation = $3 AND cron = $4 AND next_at = $5`,
			sqldb.Millis(next), t.workspaceID, t.automation, t.cron, t.at)
	} else {
		n, err = tx.Exec(ctx, `DELETE FROM run_schedules WHERE workspace_id = $1 AND automation = $2 AND cron = $3 AND next_at = $4`,
			t.workspaceID, t.automation, t.cron, t.at)
	}
	return n == 1, err
}

// tickRecord is the event of a tick, or the error event when too many runs of the workspace wait.
func (r *Runs) tickRecord(ctx context.Context, t tick, free int, now time.Time) (record bus.Record, fits bool, err error) {
	ctx = correlated(ctx, r.IDs.UUID())
	if free <= 0 {
		record, err = errorRecord(ctx, t.workspaceID, scheduleFailed, machine.Fail(machine.QuotaExceeded,
			"Too many runs of this workspace wait, so that a schedule started no automation.").
			With(map[string]any{"automation": t.automation, "schedule": t.cron, "limit": r.Settings.Queue}))
		return record, false, err
	}
	record, err = envelope.Native(ctx, service, t.workspaceID, &catalogue.Interaction{
		Scheduled: true, WorkspaceID: t.workspaceID, Automation: t.automation, StartedAt: now.UTC(),
		Trigger: catalogue.Trigger{Type: bySchedule, Value: t.cron},
	})
	return record, true, err
}

// storeTicks stores the runs of ticks.
func (r *Runs) storeTicks(ctx context.Context, tx *sqldb.Tx, ticks []tick, events []bus.Event, now time.Time) (jobs []*job, spilled []string, err error) {
	me, here := r.owner.get(), map[string]int{}
	var rows []row
	for i, t := range ticks {
		if t.automation == "" {
			continue
		}
		one := row{
			id: runID(events[i].Position, t.automation), workspaceID: t.workspaceID, position: events[i].Position,
			automation: t.automation, kind: bySchedule, cron: t.cron,
		}
		if _, known := here[t.workspaceID]; !known {
			here[t.workspaceID] = r.pool.room(t.workspaceID, false)
		}
		if here[t.workspaceID] > 0 {
			here[t.workspaceID]--
			one.owner = me
			jobs = append(jobs, &job{row: one, event: &events[i]})
		} else {
			spilled = append(spilled, t.workspaceID)
		}
		rows = append(rows, one)
	}
	return jobs, spilled, insertRows(ctx, tx, rows, now)
}
