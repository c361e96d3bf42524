package runs

import (
	"context"
	"encoding/json"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
)

// refusal is the events of a workspace that start nothing because too many runs of it wait.
type refusal struct {
	limit, events, runs int
	ids                 []string
}

func (r *refusal) add(s start) {
	const shown = 20
	r.events++
	r.runs += len(s.automations)
	if len(r.ids) < shown {
		r.ids = append(r.ids, s.event.Position.ID())
	}
}

// appendTo adds the error event that tells of it, one for all of them.
func (r *refusal) appendTo(ctx context.Context, records []bus.Record, workspaceID string) ([]bus.Record, error) {
	if r.events == 0 {
		return records, nil
	}
	record, err := errorRecord(ctx, workspaceID, "", machine.Fail(machine.QuotaExceeded,
		"Too many runs of this workspace wait, so that events started no automation. Emit less at a time, or let fewer automations listen.").
		With(map[string]any{"limit": r.limit, "events": r.events, "runs": r.runs, "eventIds": r.ids}))
	return append(records, record), err
}

// interaction is the event that tells of an automation that something outside the runtime starts. It belongs to whoever that was.
func interaction(ctx context.Context, e bus.Event, automation string, now time.Time) (bus.Record, error) {
	record, err := envelope.Native(ctx, service, e.WorkspaceID, &catalogue.Interaction{
		WorkspaceID: e.WorkspaceID, Automation: automation, StartedAt: now.UTC(),
		Trigger: catalogue.Trigger{Type: byEvent, Value: e.Type, ID: e.Position.ID()},
	})
	if err != nil {
		return record, err
	}
	var cause heard
	if err := json.Unmarshal(e.Body, &cause); err != nil {
		return record, err
	}
	return envelope.Inherit(record, cause.Source)
}
