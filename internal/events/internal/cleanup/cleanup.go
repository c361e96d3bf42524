// Package cleanup removes events that nobody needs any more. Everything it does can be interrupted and done again, goes in small
// steps so that writers do not wait, and never touches what is younger than configured.
package cleanup

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events/internal/marks"
	"atelier/internal/sqldb"
)

// Settings say what is removed. A number of days that is not positive turns its rule off.
type Settings struct {
	// Retention is the age at which every event goes, in days.
	Retention int
	// Inactivity is after how many days without an event those of a small workspace go; Small is how many it has at most.
	Inactivity, Small int
	// Deleted is how many days the events of a workspace stay that is gone.
	Deleted int
	// Executed is after which time the content of runtime.automations.executed goes.
	Executed time.Duration
}

// Cleanup removes events.
type Cleanup struct {
	Settings
	Clock clock.Clock
	DB    *sqldb.DB
	Bus   bus.Log
	// Known tells which of some workspaces there are, the bin included.
	Known func(ctx context.Context, r sqldb.Reader, ids []string) ([]string, error)
	// Index follows what is removed from the log and changed in it; nil when there is none.
	Index Index
	// Marks are kept beside the log too; nil when there are none.
	Marks *marks.Marks
}

// Index is kept beside the log.
type Index interface {
	// Again notes, in the transaction that removes or changes events, that the index has to look at them again.
	Again(ctx context.Context, tx *sqldb.Tx, at []bus.Position) error
	// Expire drops what is older than a time as a whole where it can; the rest is looked at event by event.
	Expire(ctx context.Context, before time.Time)
	// Settle looks again at what was noted.
	Settle(ctx context.Context) error
	// Deleted are the workspaces whose events go as soon as they are gone, Removed tells that those of one are.
	Deleted(ctx context.Context) ([]string, error)
	Removed(ctx context.Context, workspaceID string) error
}

// Sweeping is what was removed, or what would be.
type Sweeping struct {
	NoStream []string `json:"indicesWithoutDatastream" nullable:"false" doc:"Always empty: the log is one table."`
	Inactive Removed  `json:"inactiveDatastreams" doc:"Small workspaces where nothing happens any more."`
	Empty    Removed  `json:"emptyIndices" doc:"Always empty: the log is one table."`
	Deleted  Removed  `json:"deletedWorkspaces" doc:"Workspaces that are gone."`
	Expired  int64    `json:"expiredEvents" doc:"How many events were too old."`
	DryRun   bool     `json:"dryRun,omitempty" doc:"Nothing was removed."`
}

// Removed is what was found of a kind, and what became of it.
type Removed struct {
	Found  []string `json:"found" nullable:"false" doc:"The workspaces, the first 1,000 of them."`
	Result *Result  `json:"result,omitempty" doc:"What was removed; absent in a dry run."`
}

// Result is how much was removed.
type Result struct {
	Events int64 `json:"events" doc:"How many events."`
}

const (
	// step is how many events one transaction removes.
	step = 1000
	// mostNamed is how many workspaces a report names.
	mostNamed = 1000
)

// Sweep removes events that are too old, those of small workspaces where nothing happens, and those of workspaces that are gone,
// and tells of it with events.cleaned in the platform workspace. A dry run only counts.
func (c *Cleanup) Sweep(ctx context.Context, dryRun bool) (report Sweeping, err error) {
	report = Sweeping{NoStream: []string{}, Empty: Removed{Found: []string{}}, DryRun: dryRun}
	if report.Expired, err = c.expired(ctx, dryRun); err != nil {
		return report, errs.Wrap(err, "remove events that are too old")
	}
	if report.Inactive, err = c.inactive(ctx, dryRun); err != nil {
		return report, errs.Wrap(err, "remove the events of inactive workspaces")
	}
	if report.Deleted, err = c.deleted(ctx, dryRun); err != nil {
		return report, errs.Wrap(err, "remove the events of workspaces that are gone")
	}
	if dryRun {
		return report, nil
	}
	return report, c.tell(ctx, catalogue.Cleaned{Job: "indices", Report: report})
}

// tell emits what was done.
func (c *Cleanup) tell(ctx context.Context, payload catalogue.Cleaned) error {
	record, err := envelope.Native(ctx, "events", access.PlatformWorkspace, &payload)
	if err != nil {
		return err
	}
	_, err = c.Bus.Append(ctx, record)
	return err
}

// before is the first position that is younger than an age; it is false when the age turns the rule off.
func (c *Cleanup) before(age time.Duration) (bus.Position, bool) {
	return bus.PositionAt(c.Clock.Now().Add(-age), 0), age > 0
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

// remove deletes in steps what a condition on bus_events selects, until there is nothing left. The condition's parameters come
// first; an event is found by its position, which is its own.
func (c *Cleanup) remove(ctx context.Context, where string, args ...any) (total int64, err error) {
	for {
		var n int64
		err := c.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
			text, all := `DELETE FROM bus_events WHERE `+where+` AND pos IN (SELECT pos FROM bus_events WHERE `+where+` ORDER BY pos LIMIT $`+strconv.Itoa(len(args)+1)+`)`, append(slices.Clone(args), step)
			gone, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (at bus.Position, err error) { return at, rows.Scan(&at) }, text+` RETURNING pos`, all...)
			if err != nil {
				return err
			}
			n = int64(len(gone))
			return c.again(ctx, tx, gone)
		})
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// again tells what is kept beside the log of events that are removed from it or changed in it.
func (c *Cleanup) again(ctx context.Context, tx *sqldb.Tx, at []bus.Position) error {
	if c.Marks != nil {
		if err := c.Marks.Again(ctx, tx, at); err != nil {
			return err
		}
	}
	if c.Index == nil {
		return nil
	}
	return c.Index.Again(ctx, tx, at)
}

// count counts what a condition selects.
func (c *Cleanup) count(ctx context.Context, where string, args ...any) (n int64, err error) {
	err = c.DB.QueryRow(ctx, `SELECT COUNT(*) FROM bus_events WHERE `+where, args...).Scan(&n)
	return n, err
}

// removeOrCount does one or the other.
func (c *Cleanup) removeOrCount(ctx context.Context, dryRun bool, where string, args ...any) (int64, error) {
	if dryRun {
		return c.count(ctx, where, args...)
	}
	return c.remove(ctx, where, args...)
}

// expired removes what is older than the retention.
func (c *Cleanup) expired(ctx context.Context, dryRun bool) (total int64, err error) {
	before, on := c.before(days(c.Retention))
	for partition := 0; on && partition < bus.Partitions; partition++ {
		n, err := c.removeOrCount(ctx, dryRun, `partition = $1 AND pos < $2`, partition, int64(before))
		total += n
		if err != nil {
			return total, err
		}
	}
	if on && !dryRun && c.Index != nil {
		c.Index.Expire(ctx, before.Time())
	}
	return total, nil
}

// Settle makes the index do what was done to the log, and removes the events of workspaces that are gone where they go at once.
func (c *Cleanup) Settle(ctx context.Context) error {
	if c.Index == nil {
		return nil
	}
	ids, err := c.Index.Deleted(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, 500) {
		known, err := c.Known(ctx, c.DB, some)
		if err != nil {
			return err
		}
		for _, id := range some {
			if slices.Contains(known, id) {
				continue // it is in the bin, or it was restored
			}
			if _, err := c.remove(ctx, `workspace_id = $1`, id); err != nil {
				return err
			}
			if err := c.Index.Removed(ctx, id); err != nil {
				return err
			}
		}
	}
	return c.Index.Settle(ctx)
}

// Transient removes events that were for those who listened when they happened.
func (c *Cleanup) Transient(ctx context.Context) error {
	before, _ := c.before(time.Hour)
	unindexed := *c
	unindexed.Index, unindexed.Marks = nil, nil // they never had them
	_, err := unindexed.remove(ctx, `transient = 1 AND pos < $1`, int64(before))
	return err
}
