package machine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/errs"
)

// service is the name of the emitter of native events.
const service = "runtime"

// Record hands a technical event of this frame to the recorder. That it cannot be recorded does not stop a run.
func (f *Frame) Record(payload catalogue.Payload) {
	ctx := f.Context()
	record, err := envelope.NativeFrom(ctx, service, f.run.Root.WorkspaceID, payload, f.Origin())
	if err == nil && f.machine.Recorder != nil {
		err = f.machine.Recorder.Record(context.WithoutCancel(ctx), record) // what has happened is told, also of a run that was stopped
	}
	if err != nil {
		f.machine.Log.ErrorContext(ctx, "a technical event could not be recorded", "workspace", f.run.Root.WorkspaceID,
			"type", payload.EventType(), "error", err)
	}
}

// Report emits an error event of the automation, which goes on.
func (f *Frame) Report(failure *Failure) { f.report(failure, nil) }

func (f *Frame) report(failure *Failure, payload any) {
	f.note(failure)
	shown := f.shown(failure)
	if payload != nil {
		if shown.Details == nil {
			shown.Details = map[string]any{}
		}
		shown.Details["payload"] = payload
	}
	f.Record(&catalogue.Error{Error: string(shown.Error), Message: shown.Message, Details: shown.Details})
}

// note writes the cause of a failure to the log: nobody else sees it.
func (f *Frame) note(failure *Failure) {
	if failure.Cause != nil && failure.Name == Broke && !errors.Is(failure.Cause, context.Canceled) {
		f.machine.Log.ErrorContext(f.ctx, "an automation failed", "workspace", f.run.Root.WorkspaceID, "automation", f.automation.FullSlug(),
			"place", f.Place(), "error", failure.Cause)
	}
}

// shown is what native events say of a failure.
func (f *Frame) shown(failure *Failure) errs.Shown {
	shown := errs.Shown{Error: errs.Code(failure.Name), Message: f.redactor().text(failure.Message)}
	switch details := plain(failure.Details).(type) {
	case value.Undefined:
	case *value.Object:
		shown.Details = make(map[string]any, details.Len())
		for key, v := range details.All() {
			if text := f.encode(v, largest); text != nil {
				shown.Details[key] = text
			}
		}
	default:
		shown.Details = map[string]any{"details": f.encode(details, largest)}
	}
	return shown
}

// abandoned tells that the run was stopped and will be begun anew: what became of it is told then.
func (f *Frame) abandoned(err error) bool {
	return err != nil && errors.Is(f.ctx.Err(), context.Canceled) && f.run.Journal != nil && f.run.Journal.Durable()
}

// failedTrigger emits the error event of a run that failed, in the name of the automation in which it did.
func (f *Frame) failedTrigger(err error) {
	if f.abandoned(err) {
		return
	}
	at := f
	if failed, ok := errors.AsType[*failedCallError](err); ok {
		at = failed.frame
	}
	payload, _ := at.seen(value.Undefined{})
	at.report(FailureOf(err), payload)
}

// executed records what became of the automation. Of those that call each other only the one that failed has the error.
func (f *Frame) executed(result Result) {
	if f.abandoned(result.Err) {
		return
	}
	now := f.machine.Clock.Now()
	told := &catalogue.AutomationExecuted{
		Slug: f.automation.Slug, Trigger: f.told(), Duration: now.Sub(f.started).Milliseconds(), StartedAt: f.started.UTC().Truncate(time.Millisecond),
		Throttled: time.Duration(f.throttled.Load()).Milliseconds(), Break: result.Broken,
	}
	payload, output := f.seen(result.Output)
	if payload != nil {
		told.Payload = payload
	}
	if output != nil {
		told.Output = output
	}
	if failed, ok := errors.AsType[*failedCallError](result.Err); ok && failed.frame.invocation == f.invocation {
		shown := f.shown(FailureOf(result.Err))
		told.Error = &shown
	}
	f.Record(told)
}

// told is the trigger as events show it.
func (f *Frame) told() catalogue.Trigger {
	if !f.nested {
		return f.run.Trigger
	}
	return catalogue.Trigger{Type: f.trigger.kind, Value: f.trigger.value}
}

// seen gives payload and output as events may show them: without what is secret, what must be left out, the answer's stream and
// the caller's credentials. Nothing is nil.
func (f *Frame) seen(output any) (json.RawMessage, json.RawMessage) {
	payload := any(f.bare())
	if f.automation.Arguments != nil {
		payload, output = f.automation.Arguments.Redact(payload, output)
	}
	const usual = 512 // of both, for most requests
	given, text := f.append(make([]byte, 0, usual), payload, largest)
	made, _ := f.append(text, output, largest)
	return given, made
}

// bare is the payload without the answer's stream and the caller's credentials. JSON has no word for a stream: it need not be taken
// out of a payload that is only written.
func (f *Frame) bare() *value.Object {
	headers, _ := f.payload.Get("headers").(*value.Object)
	secret := headers != nil && headers.Has("authorization")
	if _, stream := f.payload.Get("$http").(Sink); !secret && (stream || !f.payload.Has("$http")) {
		return f.payload
	}
	o := f.payload.Clone()
	o.Delete("$http")
	if secret {
		headers = headers.Clone()
		headers.Delete("authorization")
		o.Set("headers", headers)
	}
	return o
}

// largest is what one field of a technical event may take here; what enters the log is cut further.
const largest = 256 << 10

// encode writes a value for an event, without what must not be seen. Undefined is nothing. What is too large is not looked
// through any further.
func (f *Frame) encode(v any, limit int) json.RawMessage {
	text, _ := f.append(nil, v, limit)
	return text
}

// append is encode into a text that others may be in already; it gives what is new of it, and all of it.
func (f *Frame) append(text []byte, v any, limit int) (added json.RawMessage, all []byte) {
	begin := len(text)
	text, ok := value.AppendJSON(text, v, limit)
	if r := f.redactor(); ok && len(r.whole) > 0 {
		text, ok = value.AppendJSON(text[:begin], r.value(v, 0), limit)
	}
	if !ok {
		text = append(text[:begin], `"LARGE_CONTENT_STRIPPED"`...)
	}
	if len(text) == begin {
		return nil, text
	}
	return text[begin:len(text):len(text)], text
}
