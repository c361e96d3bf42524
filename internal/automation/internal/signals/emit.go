package signals

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"unicode/utf8"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// typeForm is what an event may be called.
var typeForm = regexp.MustCompile(`^[a-zA-Z0-9 ._-]+$`) //nolint:gochecknoglobals // compiled once, never changed

const maxType = 200

// emit sends an event. What it is sent with that is no object is reported, and the automation goes on.
func (s *Signals) emit(f *machine.Frame, parameters *value.Object) (any, error) {
	eventType, err := emittedType(f.Home(), parameters.Get("event"))
	if err != nil {
		return nil, err
	}
	payload, ok := payloadOf(parameters.Get("payload"))
	if !ok {
		f.Report(machine.Fail(machine.InvalidEvent, "The payload of an event is an object; put other values under a key.").
			With(map[string]any{"event": eventType}))
		return value.Undefined{}, nil
	}
	return s.Emit(f, Emission{Type: eventType, Payload: payload, Target: parameters.Get("target"), Options: parameters.Get("options")})
}

// Emission is an event that an automation emits. Its type is whole: that of an app begins with its instance.
type Emission struct {
	Type            string
	Payload         *value.Object
	Target, Options any
}

// Stream emits an event for an instruction that streams, under the name that emit would give it. A payload that is no object, or a
// type that automations may not emit, is an error.
func (s *Signals) Stream(f *machine.Frame, eventType string, payload any, target, options *value.Object) error {
	whole, err := emittedType(f.Home(), eventType)
	if err != nil {
		return err
	}
	object, ok := payloadOf(payload)
	if !ok {
		return machine.Fail(machine.InvalidEvent, "The payload of an event is an object; put other values under a key.").With(map[string]any{"event": whole})
	}
	e := Emission{Type: whole, Payload: object, Target: value.Undefined{}, Options: value.Undefined{}}
	if target != nil {
		e.Target = target
	}
	if options != nil {
		e.Options = options
	}
	_, err = s.Emit(f, e)
	return err
}

// Emit sends an event for a frame and gives it as it was stored. A durable run that is begun anew does not send it again.
func (s *Signals) Emit(f *machine.Frame, e Emission) (any, error) {
	if err := f.Throttle(machine.ThrottleEmits, 1); err != nil {
		return nil, err
	}
	made, err := s.event(f, e)
	if err != nil {
		return nil, err
	}
	record, err := envelope.ByAutomation(f.Run().Root.WorkspaceID, e.Type, made, s.MaxLen)
	if err != nil {
		return nil, tooLarge(err)
	}
	position, err := s.store(f, record)
	if err != nil {
		return nil, err
	}
	f.Run().LastEvent.Set(position.ID())
	return waits.Value(bus.Event{Position: position, WorkspaceID: record.WorkspaceID, Type: record.Type, Body: record.Body})
}

// store appends the event. Of a durable run its id is noted: the rest is the same when it is begun anew.
func (s *Signals) store(f *machine.Frame, record bus.Record) (bus.Position, error) {
	if !f.Run().Journal.Durable() {
		events, err := s.Bus.Append(f.Context(), record)
		if err != nil {
			return 0, err
		}
		return events[0].Position, nil
	}
	id, err := f.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		events, err := s.Bus.AppendTx(ctx, tx, record)
		if err != nil {
			return nil, err
		}
		return events[0].Position.ID(), nil
	})
	if err != nil {
		return 0, err
	}
	text, _ := id.(string)
	return bus.ParseID(text)
}

// emittedType checks the name of an event, and gives it as the workspace sees it.
func emittedType(home *machine.Home, v any) (string, error) {
	name, ok := v.(string)
	if !ok || !typeForm.MatchString(name) {
		return "", machine.Fail(machine.InvalidEvent, "The name of an event has letters, digits, spaces and . _ - only, and at least one of them.").
			With(map[string]any{"event": short(v)})
	}
	whole := prefixed(home, name)
	if len(whole) > maxType {
		return "", machine.Fail(machine.InvalidEvent, "The name of an event has 200 characters at most.").With(map[string]any{"event": short(v)})
	}
	if _, reserved := catalogue.Reserved(whole); reserved && whole != (&catalogue.Error{}).EventType() {
		return "", machine.Fail(machine.InvalidEvent, "Events of this name are emitted by the platform only; choose another name.").
			With(map[string]any{"event": whole})
	}
	return whole, nil
}

// payloadOf is the payload of an event; false when it is none.
func payloadOf(v any) (*value.Object, bool) {
	if !value.Exists(v) {
		return value.NewObject(0), true
	}
	object, ok := v.(*value.Object)
	return object, ok
}

// event is what is stored, with where it comes from.
func (s *Signals) event(f *machine.Frame, e Emission) (envelope.Event, error) {
	text, ok := value.JSON(e.Payload, "", s.MaxLen*utf8.UTFMax)
	if !ok {
		return envelope.Event{}, eventTooLarge(e.Type, s.MaxLen)
	}
	target, err := targetOf(e.Target)
	if err != nil {
		return envelope.Event{}, err
	}
	options, err := optionsOf(e.Options)
	if err != nil {
		return envelope.Event{}, err
	}
	if declared(f, e.Type) {
		if options == nil {
			options = &envelope.Options{}
		}
		options.AggPayload = true
	}
	return envelope.Event{Payload: json.RawMessage(text), Source: sourceOf(f), Target: target, Options: options}, nil
}

// declared tells that the workspace, or the app, says what events of a type look like.
func declared(f *machine.Frame, eventType string) bool {
	if f.Run().Root.EventTypes[eventType] {
		return true
	}
	home := f.Home()
	own := eventType
	if n := len(home.FullSlug); n > 0 && len(eventType) > n {
		own = eventType[n+1:]
	}
	return home.EventTypes[own]
}

// sourceOf says which automation, of which request, an event comes from.
func sourceOf(f *machine.Frame) envelope.Source {
	run := f.Run()
	return envelope.Source{
		SessionID: run.Scopes.Identity().SessionID, IP: run.IP, CorrelationID: run.CorrelationID, SocketID: run.SocketID, Hops: run.Hops,
		Run: f.Source(),
	}
}

// tooLarge is the failure of an event that cannot be stored.
func tooLarge(err error) error {
	problem, ok := errors.AsType[*errs.Error](err)
	if !ok || problem.Code != errs.ValidationFailed {
		return err
	}
	return machine.Fail(machine.EventValidation, "The event is too large; make the payload smaller.").With(problem.Details)
}

func eventTooLarge(eventType string, most int) error {
	return machine.Fail(machine.EventValidation, "The event is too large; make the payload smaller.").
		With(map[string]any{"reason": "EventTooLarge", "eventType": eventType, "maxSize": most})
}

// short is a value of a user as it fits into a failure.
func short(v any) any {
	const most = 100
	text, ok := v.(string)
	if !ok {
		return nil
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
