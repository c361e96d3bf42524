package runs

import (
	"context"
	"encoding/json"
	"slices"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
)

// deletedType is the one event that a deleted workspace still runs for.
const deletedType = "workspaces.deleted"

// plan is what is to be done about some events of one partition, found out before the transaction that does it.
type plan struct {
	matches  []waits.Match
	starts   []start
	marks    map[string]bus.Position // workspaces whose schedules may be others now
	free     map[string]int          // how many more runs may wait, by workspace that something starts in
	problems []bus.Record
}

// start is an event and the automations that it starts.
type start struct {
	event       bus.Event
	automations []*machine.Automation
	// tell says whether an interaction event tells of it, kept whether the run has to keep the event.
	tell, kept bool
}

func (p *plan) empty() bool {
	return len(p.matches) == 0 && len(p.starts) == 0 && len(p.marks) == 0 && len(p.problems) == 0
}

// handle makes runs of events. All that it needs to know is read first: the transaction only writes. Its own cursor moves in it, so
// that events which come again, after a crash or because another instance took the partition over, become no second runs.
func (r *Runs) handle(ctx context.Context, events []bus.Event) error {
	p, err := r.plan(ctx, events)
	if err != nil {
		return err
	}
	if p.empty() {
		return bus.ErrIdle
	}
	var done outcome
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		done = outcome{}
		return r.commit(ctx, tx, p, events[len(events)-1].Position, &done)
	})
	if err != nil {
		return err
	}
	failpoint.At("runs.stored")
	r.Waits.Told(done.fulfilled...)
	r.pool.add(done.jobs...)
	for _, workspaceID := range done.spilled {
		r.pool.spill(workspaceID, true)
	}
	if len(done.spilled) > 0 {
		r.pool.nudgeClaims()
	}
	if len(p.marks) > 0 {
		nudge(r.marked)
	}
	return nil
}

// heard is what the runtime has to know of an event.
type heard struct {
	Source  envelope.Source `json:"source"`
	Options struct {
		Persist *bool `json:"persist"`
	} `json:"options"`
}

// plan finds out what is to be done about events.
func (r *Runs) plan(ctx context.Context, events []bus.Event) (*plan, error) {
	p := &plan{marks: map[string]bus.Position{}, free: map[string]int{}}
	var err error
	if p.matches, err = r.Waits.Find(ctx, events); err != nil {
		return nil, err
	}
	models := map[string]*Model{}
	for _, e := range events {
		if err := r.mark(ctx, p, e); err != nil {
			return nil, err
		}
		entry, native := catalogue.Find(e.Type)
		starting := !native || entry.Use == catalogue.Starting
		var h heard
		if !starting && (!mayBeEmitted(e.Type) || !r.read(ctx, e, &h) || h.Source.ServiceTopic != envelope.CustomTopic) {
			continue
		}
		model, err := r.modelOf(ctx, p, models, e)
		if err != nil {
			return nil, err
		}
		if model == nil || model.Suspended || model.Deleted && e.Type != deletedType || !model.Hears(e.Type) {
			continue
		}
		if starting && !r.read(ctx, e, &h) {
			continue
		}
		if listeners := distinct(model.Listeners(e.Type, h.Source)); len(listeners) > 0 {
			kept := h.Options.Persist != nil && !*h.Options.Persist || entry.Transient
			p.starts = append(p.starts, start{event: e, automations: listeners, tell: tells(e.Type, h.Source), kept: kept})
		}
	}
	return p, r.count(ctx, p)
}

// count finds out how many more runs may wait. Nobody who writes has to wait for that.
func (r *Runs) count(ctx context.Context, p *plan) (err error) {
	for _, s := range p.starts {
		workspaceID := s.event.WorkspaceID
		if _, known := p.free[workspaceID]; !known {
			if p.free[workspaceID], err = r.free(ctx, workspaceID); err != nil {
				return err
			}
		}
		r.backlog.add(workspaceID, len(s.automations))
	}
	return nil
}

// read gives what the runtime has to know of an event; false when it cannot be read, and so starts nothing.
func (r *Runs) read(ctx context.Context, e bus.Event, into *heard) bool {
	err := json.Unmarshal(e.Body, into)
	if err != nil {
		r.Log.ErrorContext(ctx, "an event cannot be read, and starts nothing", "workspace_id", e.WorkspaceID, "event_id", e.Position.ID(), "error", err)
	}
	return err == nil
}

// modelOf gives the workspace of an event, asked once for all events; nil when it cannot start anything.
func (r *Runs) modelOf(ctx context.Context, p *plan, models map[string]*Model, e bus.Event) (*Model, error) {
	if model, ok := models[e.WorkspaceID]; ok {
		return model, nil
	}
	model, err := r.Models.Of(ctx, e.WorkspaceID)
	switch {
	case err == nil:
		models[e.WorkspaceID] = &model
		return &model, nil
	case errs.CodeOf(err) == errs.NotFound:
	case ctx.Err() != nil || passing(err):
		return nil, err
	default:
		r.Log.ErrorContext(ctx, "a workspace cannot be loaded; its events start nothing", "workspace_id", e.WorkspaceID, "error", err)
		failure := machine.Fail(machine.Configuration, "The workspace cannot be loaded, so that events start no automation.").With(map[string]any{"event": e.Position.ID()})
		record, err := errorRecord(ctx, e.WorkspaceID, "", failure)
		if err != nil {
			return nil, err
		}
		p.problems = append(p.problems, record)
	}
	models[e.WorkspaceID] = nil
	return nil, nil //nolint:nilnil // a workspace that starts nothing
}

// outcome is what a transaction has done.
type outcome struct {
	fulfilled []string
	jobs      []*job
	spilled   []string
}

// commit does what was planned.
func (r *Runs) commit(ctx context.Context, tx *sqldb.Tx, p *plan, last bus.Position, done *outcome) error {
	before, err := lockCursor(ctx, tx, last)
	if err != nil || before >= last {
		return err
	}
	cancelled := map[bus.Position]bool{}
	for _, m := range p.matches {
		if m.Event.Position <= before {
			continue
		}
		ok, err := r.Waits.Fulfil(ctx, tx, m)
		if err != nil {
			return err
		}
		if ok {
			done.fulfilled = append(done.fulfilled, m.ID)
			cancelled[m.Event.Position] = cancelled[m.Event.Position] || m.CancelTriggers
		}
	}
	records, err := r.store(ctx, tx, p, p.fresh(before, cancelled), done)
	if err != nil {
		return err
	}
	for workspaceID, position := range p.marks {
		if err := mark(ctx, tx, workspaceID, int64(position)); err != nil {
			return err
		}
	}
	if records = append(records, p.problems...); len(records) > 0 {
		_, err = r.Bus.AppendTx(ctx, tx, records...)
	}
	return err
}

// lockCursor moves the cursor of a partition, which keeps others off until the commit, and gives where it was.
func lockCursor(ctx context.Context, tx *sqldb.Tx, last bus.Position) (before bus.Position, err error) {
	partition := last.Partition()
	_, err = tx.Exec(ctx, `INSERT INTO run_cursors (partition, position) VALUES ($1, 0) ON CONFLICT (partition) DO NOTHING`, partition)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `UPDATE run_cursors SET position = position WHERE partition = $1 RETURNING position`, partition).Scan(&before)
	if err != nil || before >= last {
		return before, err
	}
	_, err = tx.Exec(ctx, `UPDATE run_cursors SET position = $1 WHERE partition = $2`, int64(last), partition)
	return before, err
}

// fresh are the starts after a position that no wait has cancelled.
func (p *plan) fresh(after bus.Position, cancelled map[bus.Position]bool) []start {
	var out []start
	for _, s := range p.starts {
		if s.event.Position > after && !cancelled[s.event.Position] {
			out = append(out, s)
		}
	}
	return out
}

// store stores the runs of events, as far as their workspaces may have more, and gives the events that tell of it.
func (r *Runs) store(ctx context.Context, tx *sqldb.Tx, p *plan, starts []start, done *outcome) ([]bus.Record, error) {
	byWorkspace := map[string][]start{}
	var order []string
	for _, s := range starts {
		if byWorkspace[s.event.WorkspaceID] == nil {
			order = append(order, s.event.WorkspaceID)
		}
		byWorkspace[s.event.WorkspaceID] = append(byWorkspace[s.event.WorkspaceID], s)
	}
	var records []bus.Record
	for _, workspaceID := range order {
		some, err := r.storeOf(ctx, tx, p.free[workspaceID], byWorkspace[workspaceID], done)
		if err != nil {
			return nil, err
		}
		records = append(records, some...)
	}
	return records, nil
}

// storeOf stores the runs of one workspace, where so many more may wait.
func (r *Runs) storeOf(ctx context.Context, tx *sqldb.Tx, free int, starts []start, done *outcome) ([]bus.Record, error) {
	workspaceID := starts[0].event.WorkspaceID
	here, me, now := r.pool.room(workspaceID, false), r.owner.get(), r.Clock.Now()
	refused := refusal{limit: r.Settings.Queue}
	var rows []row
	var records []bus.Record
	for _, s := range starts {
		if len(s.automations) > free {
			refused.add(s)
			continue
		}
		free -= len(s.automations)
		for _, automation := range s.automations {
			one := row{
				id: runID(s.event.Position, automation.FullSlug()), workspaceID: workspaceID, position: s.event.Position,
				automation: automation.FullSlug(), kind: byEvent,
			}
			if s.kept {
				one.body = keptBody(s.event)
			}
			if here > 0 {
				here--
				one.owner = me
				done.jobs = append(done.jobs, &job{row: one, event: &s.event})
			} else if !slices.Contains(done.spilled, workspaceID) {
				done.spilled = append(done.spilled, workspaceID)
			}
			rows = append(rows, one)
			if s.tell {
				record, err := interaction(ctx, s.event, automation.FullSlug(), now)
				if err != nil {
					return nil, err
				}
				records = append(records, record)
			}
		}
	}
	if err := insertRows(ctx, tx, rows, now); err != nil {
		return nil, err
	}
	return refused.appendTo(ctx, records, workspaceID)
}
