package envelope

import (
	"encoding/json"
	"unicode/utf8"

	"atelier/internal/bus"
	"atelier/internal/errs"
)

// ByAutomation makes the record of an event that an automation emits. Its source is e.Source, but for the account: automations act
// for people, they are none. More than maxLen characters is validation_failed.
func ByAutomation(workspaceID, eventType string, e Event, maxLen int) (bus.Record, error) {
	e.Source.WorkspaceID, e.Source.UserID, e.Source.ServiceTopic, e.Source.Host = workspaceID, "", CustomTopic, nil
	made, err := record(workspaceID, eventType, body{Payload: e.Payload, Source: e.Source, Target: e.Target, Options: e.Options})
	if err != nil {
		return made, err
	}
	made.Transient = e.Options.transient()
	if size := utf8.RuneCount(made.Body); size > maxLen {
		return made, errs.Invalid(errs.Field{Field: "payload", Message: "the event is too large; make the payload smaller"}).
			With("reason", tooLarge).With("eventType", eventType).With("eventSize", size).With("maxSize", maxLen)
	}
	return made, nil
}

// Inherit gives the record of a native event the origin of the event that it is about: who, from where, and in which request.
func Inherit(r bus.Record, from Source) (bus.Record, error) {
	b := body{Payload: new(json.RawMessage)}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return r, errs.Wrap(err, "read the record of an event")
	}
	b.Source.UserID, b.Source.SessionID, b.Source.IP = from.UserID, from.SessionID, from.IP
	b.Source.CorrelationID, b.Source.SocketID, b.Source.Hops = from.CorrelationID, from.SocketID, from.Hops
	made, err := record(r.WorkspaceID, r.Type, b)
	made.Transient = r.Transient
	return made, err
}
