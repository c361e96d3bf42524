package signals

import (
	"context"
	"encoding/json"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// wait waits for the first of some events, or for a time.
func (s *Signals) wait(f *machine.Frame, parameters *value.Object) (any, error) {
	timeout, err := seconds(parameters.Get("timeout"), s.Timeout)
	if err != nil {
		return nil, err
	}
	wanted, err := wantedOf(f.Home(), parameters.Get("oneOf"))
	if err != nil {
		return nil, err
	}
	if err := f.Run().Scopes.Prolong(f.Context(), timeout); err != nil {
		return nil, err
	}
	defer f.Away()()
	if len(wanted) == 0 {
		return value.Undefined{}, s.sleep(f, timeout)
	}
	return s.await(f, wanted, parameters.Get("oneOf"), timeout)
}

// sleep waits for a time. A durable run that is begun anew does not begin to wait anew.
func (s *Signals) sleep(f *machine.Frame, d time.Duration) error {
	clk := f.Machine().Clock
	until := clk.Now().Add(d)
	if f.Run().Journal.Durable() {
		noted, err := f.Once(func(context.Context, *sqldb.Tx) (any, error) { return float64(until.UnixMilli()), nil })
		if err != nil {
			return err
		}
		if at, ok := noted.(float64); ok {
			until = sqldb.Time(int64(at))
		}
	}
	return waits.Idle(f.Context(), func(ctx context.Context) error {
		timer := clk.NewTimer(until.Sub(clk.Now()))
		defer timer.Stop()
		select {
		case <-timer.C():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// await waits for an event; undefined when none came in time.
func (s *Signals) await(f *machine.Frame, wanted waits.Wanted, said any, timeout time.Duration) (any, error) {
	run := f.Run()
	since, err := s.since(f)
	if err != nil {
		return nil, err
	}
	w := waits.Wait{RunID: run.Journal.RunID(), WorkspaceID: run.Root.WorkspaceID, Wanted: wanted, Since: since, Timeout: timeout}
	if w.ID = f.Machine().IDs.UUID(); w.RunID != "" {
		w.ID = w.RunID + "/" + f.Place()
	}
	f.Record(&catalogue.Wait{Verb: catalogue.Pending, ID: w.ID, ExpiresAt: f.Machine().Clock.Now().Add(timeout).UTC(), Wait: shown(f, said)})
	var event any
	var came bool
	err = waits.Idle(f.Context(), func(ctx context.Context) (err error) {
		event, came, err = s.Waits.Await(ctx, w)
		return err
	})
	if err != nil || !came {
		return value.Undefined{}, err
	}
	f.Record(&catalogue.Wait{Verb: catalogue.Fulfilled, ID: w.ID, Event: shown(f, event)})
	return event, nil
}

// shown is a value as technical events show it: without what is secret, and not too large.
func shown(f *machine.Frame, v any) json.RawMessage {
	const most = 64 << 10
	text, ok := value.JSON(f.Redacted(v), "", most)
	switch {
	case !ok:
		return json.RawMessage(`"LARGE_CONTENT_STRIPPED"`)
	case text == "":
		return nil
	}
	return json.RawMessage(text)
}

// since is the place in the log from which on events count: after what the run emitted last, so that an answer which was quicker than
// the wait is not missed; without that, from now.
func (s *Signals) since(f *machine.Frame) (bus.Position, error) {
	if id := f.Run().LastEvent.Get(); id != "" {
		return bus.ParseID(id)
	}
	return s.Waits.Head(f.Context(), f.Run().Root.WorkspaceID)
}

// wantedOf reads the events that are waited for; none is a plain pause.
func wantedOf(home *machine.Home, v any) (waits.Wanted, error) {
	if !value.Exists(v) {
		return nil, nil
	}
	list, ok := v.([]any)
	const most = 100
	if !ok || len(list) > most {
		return nil, badWait("The oneOf of wait is a list of events, at most 100.")
	}
	wanted := make(waits.Wanted, 0, len(list))
	for _, item := range list {
		one, err := wantOf(home, item)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, one)
	}
	return wanted, wanted.Check()
}

func badWait(message string) error {
	return machine.Fail(machine.InvalidInstruction, message).With(map[string]any{"instruction": "wait"})
}

func wantOf(home *machine.Home, v any) (waits.Want, error) {
	var one waits.Want
	object, ok := v.(*value.Object)
	if !ok {
		return one, badWait("An event of wait is an object with the key event.")
	}
	name, ok := object.Get("event").(string)
	if !ok || !typeForm.MatchString(name) || len(name) > maxType {
		return one, badWait("An event of wait has a name: letters, digits, spaces and . _ -.")
	}
	if one.Type = name; name != catalogue.ExecutedType { // that one is the platform's, whoever waits
		one.Type = prefixed(home, name)
	}
	if entry, native := catalogue.Find(one.Type); native && entry.Use == catalogue.Reading && one.Type != (&catalogue.Error{}).EventType() {
		return one, machine.Fail(machine.InvalidInstruction, "Automations cannot wait for this event of the platform.").
			With(map[string]any{"instruction": "wait", "event": one.Type})
	}
	filters := object.Get("filters")
	if one.Filters, ok = filters.(*value.Object); !ok && value.Exists(filters) {
		return one, badWait("The filters of wait are an object: paths in the event, and what is to be there.")
	}
	one.CancelTriggers = value.Truthy(object.Get("cancelTriggers"))
	return one, nil
}
