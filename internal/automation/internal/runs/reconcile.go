package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/cron"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// reshapes tells whether an event of the platform may change which schedules a workspace has.
func reshapes(eventType string) bool {
	switch eventType {
	case "workspaces.created", "workspaces.updated", "workspaces.configured", "workspaces.imported", "workspaces.duplicated",
		"workspaces.suspended", "workspaces.restored", deletedType:
		return true
	}
	return strings.HasPrefix(eventType, "workspaces.automations.") || strings.HasPrefix(eventType, "workspaces.apps.") || isAppEvent(eventType)
}

func isAppEvent(eventType string) bool {
	return eventType == "apps.published" || eventType == "apps.deleted"
}

// mark plans to hold the workspaces against their definition whose schedules an event may change.
func (r *Runs) mark(ctx context.Context, p *plan, e bus.Event) error {
	if !reshapes(e.Type) {
		return nil
	}
	p.marks[e.WorkspaceID] = e.Position
	if !isAppEvent(e.Type) {
		return nil
	}
	var said struct {
		Payload catalogue.AppDeleted `json:"payload"` // every event of an app names it like this
	}
	if err := json.Unmarshal(e.Body, &said); err != nil || said.Payload.AppSlug == "" {
		return nil //nolint:nilerr // it is not about an app that anybody has
	}
	using, err := r.Workspaces.Using(ctx, said.Payload.AppSlug)
	for _, workspaceID := range using {
		p.marks[workspaceID] = e.Position
	}
	return err
}

// mark notes that a workspace has to be held against its definition.
func mark(ctx context.Context, tx *sqldb.Tx, workspaceID string, position int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO run_reconciles (workspace_id, mark) VALUES ($1, $2) ON CONFLICT (workspace_id) DO UPDATE SET mark = excluded.mark`, workspaceID, position)
	return err
}

const (
	// How often somebody looks for workspaces that are marked, and how many are looked at in one round.
	reconcileEvery, reconcileAtOnce = 2 * time.Second, 50
	// How often some workspaces are held against their definition though no event told of a change, and how many.
	walkEvery, walkAtOnce = 30 * time.Second, 20
)

// reconciling keeps schedules as definitions say until ctx ends.
func (r *Runs) reconciling(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := r.reconcileMarked(ctx)
		if err == nil && !more {
			more, err = r.walk(ctx)
		}
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "schedules cannot be held against definitions; trying again", "error", err)
		}
		if more && err == nil {
			continue
		}
		timer := r.Clock.NewTimer(reconcileEvery)
		select {
		case <-timer.C():
		case <-r.marked:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// reconcileMarked holds marked workspaces against their definitions. More tells that there are others.
func (r *Runs) reconcileMarked(ctx context.Context) (more bool, err error) {
	marked, err := sqldb.All(ctx, r.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT workspace_id FROM run_reconciles ORDER BY mark LIMIT $1`, reconcileAtOnce)
	if err != nil {
		return false, err
	}
	for _, workspaceID := range marked {
		if err := r.reconcile(ctx, workspaceID); err != nil {
			return false, err
		}
	}
	return len(marked) == reconcileAtOnce, nil
}

// walk marks a few workspaces after those that were marked last, so that what no event told of is found some day. The first walk of
// an installation is done at once: before it, no workspace has schedules. More tells that it is to go on.
func (r *Runs) walk(ctx context.Context) (more bool, err error) {
	now := r.Clock.Now()
	var place string
	var at int64
	if err := r.DB.QueryRow(ctx, `SELECT place, at FROM run_walks WHERE name = 'schedules'`).Scan(&place, &at); err != nil {
		return false, err
	}
	first := at <= 0 // of the installation: it is negative until the end was reached once
	if !first && sqldb.Millis(now) < at {
		return false, nil
	}
	ids, err := r.Workspaces.After(ctx, place, walkAtOnce)
	if err != nil {
		return false, err
	}
	next, due := "", sqldb.Millis(now.Add(walkEvery))
	if len(ids) == walkAtOnce {
		next = ids[len(ids)-1]
		if first {
			due = -1
		}
	}
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE run_walks SET place = $1, at = $2 WHERE name = 'schedules' AND place = $3 AND at = $4`, next, due, place, at)
		if err != nil || n == 0 { // another instance was faster
			return err
		}
		for _, workspaceID := range ids {
			if err := mark(ctx, tx, workspaceID, 0); err != nil {
				return err
			}
		}
		return nil
	})
	return len(ids) > 0, err
}

// plannedTick is a schedule of a workspace.
type plannedTick struct{ automation, cron string }

// reconcile makes the schedules of a workspace those of its definition.
func (r *Runs) reconcile(ctx context.Context, workspaceID string) error {
	seen, err := r.seenMark(ctx, workspaceID)
	if err != nil {
		return err
	}
	wanted, err := r.planned(ctx, workspaceID)
	if err != nil {
		return err
	}
	return r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		// Whoever deletes the mark has the workspace for itself until the commit. One that was marked again since is looked at again.
		if n, err := tx.Exec(ctx, `DELETE FROM run_reconciles WHERE workspace_id = $1 AND mark = $2`, workspaceID, seen); err != nil || n == 0 {
			return err
		}
		stored, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (t plannedTick, err error) { return t, rows.Scan(&t.automation, &t.cron) },
			`SELECT automation, cron FROM run_schedules WHERE workspace_id = $1`, workspaceID)
		if err != nil {
			return err
		}
		changed, err := r.replan(ctx, tx, workspaceID, stored, wanted)
		if err != nil || len(changed) == 0 {
			return err
		}
		records, err := r.scheduled(ctx, workspaceID, changed, wanted)
		if err != nil || len(records) == 0 {
			return err
		}
		_, err = r.Bus.AppendTx(ctx, tx, records...)
		return err
	})
}

func (r *Runs) seenMark(ctx context.Context, workspaceID string) (seen int64, err error) {
	err = r.DB.QueryRow(ctx, `SELECT mark FROM run_reconciles WHERE workspace_id = $1`, workspaceID).Scan(&seen)
	if sqldb.IsNotFound(err) {
		return -1, nil // another instance was faster
	}
	return seen, err
}

// planned are the schedules that the definition of a workspace says. One that runs nothing has none.
func (r *Runs) planned(ctx context.Context, workspaceID string) (map[plannedTick]cron.Schedule, error) {
	wanted := map[plannedTick]cron.Schedule{}
	model, err := r.Models.Of(ctx, workspaceID)
	if err != nil {
		if errs.CodeOf(err) == errs.NotFound {
			return wanted, nil
		}
		if passing(err) {
			return nil, err
		}
		r.Log.ErrorContext(ctx, "a workspace cannot be loaded; it has no schedules until it can", "workspace_id", workspaceID, "error", err)
		return wanted, nil
	}
	if model.Suspended || model.Deleted {
		return wanted, nil
	}
	for _, s := range model.Schedules() {
		for _, text := range s.Crons {
			parsed, err := cron.Parse(text)
			if err != nil {
				r.Log.WarnContext(ctx, "a schedule cannot be read", "workspace_id", workspaceID, "automation", s.Automation.FullSlug(), "error", err)
				continue
			}
			wanted[plannedTick{s.Automation.FullSlug(), parsed.String()}] = parsed
		}
	}
	return wanted, nil
}

// replan stores what is wanted, removes the rest, and gives the automations whose schedules are others now.
func (r *Runs) replan(ctx context.Context, tx *sqldb.Tx, workspaceID string, stored []plannedTick, wanted map[plannedTick]cron.Schedule) (map[string]bool, error) {
	changed := map[string]bool{}
	for _, t := range stored {
		if _, ok := wanted[t]; ok {
			continue
		}
		changed[t.automation] = true
		if _, err := tx.Exec(ctx, `DELETE FROM run_schedules WHERE workspace_id = $1 AND automation = $2 AND cron = $3`, workspaceID, t.automation, t.cron); err != nil {
			return nil, err
		}
	}
	now := r.Clock.Now()
	for t, schedule := range wanted {
		next, ok := r.next(schedule, now)
		if slices.Contains(stored, t) || !ok {
			continue
		}
		changed[t.automation] = true
		_, err := tx.Exec(ctx, `INSERT INTO run_schedules (workspace_id, automation, cron, next_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			workspaceID, t.automation, t.cron, sqldb.Millis(next))
		if err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// scheduled are the events that tell which schedules automations have now.
func (r *Runs) scheduled(ctx context.Context, workspaceID string, changed map[string]bool, wanted map[plannedTick]cron.Schedule) ([]bus.Record, error) {
	crons := map[string][]string{}
	for t := range wanted {
		crons[t.automation] = append(crons[t.automation], t.cron)
	}
	var records []bus.Record
	for automation := range changed {
		if len(crons[automation]) == 0 {
			continue
		}
		slices.Sort(crons[automation])
		record, err := envelope.Native(correlated(ctx, r.IDs.UUID()), service, workspaceID, &catalogue.SchedulesCreated{
			Slug: automation, Schedules: crons[automation], Details: map[string]any{"launched": len(crons[automation])},
		})
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}
