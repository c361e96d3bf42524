package runs

import (
	"context"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/httpx"
)

// service is the name of the runtime in the events that it emits.
const service = "runtime"

// report records that an automation could not run.
func (r *Runs) report(ctx context.Context, j *job, failure *machine.Failure) {
	kind := ""
	if j.kind == bySchedule {
		kind = scheduleFailed
	}
	record, err := errorRecord(ctx, j.workspaceID, kind, failure)
	if err == nil {
		err = r.Recorder.Record(ctx, record)
	}
	if err != nil {
		r.Log.WarnContext(ctx, "an error event could not be recorded", "workspace_id", j.workspaceID, "error", err)
	}
}

// scheduleFailed is the type of the error event of a schedule that could not start its automation.
const scheduleFailed = "scheduleFailed"

// errorRecord is the record of an error event.
func errorRecord(ctx context.Context, workspaceID, kind string, failure *machine.Failure) (bus.Record, error) {
	details, _ := failure.Details.(map[string]any)
	return envelope.Native(ctx, service, workspaceID, &catalogue.Error{Type: kind, Error: failure.Name, Message: failure.Message, Details: details})
}

// correlated is a context for events without a caller.
func correlated(ctx context.Context, correlationID string) context.Context {
	info := *httpx.InfoFrom(ctx)
	info.CorrelationID = correlationID
	return httpx.WithInfo(ctx, &info)
}
