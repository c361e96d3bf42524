package engine

import (
	"bytes"
	"encoding/json"
	"strings"

	"atelier/internal/access"
	"atelier/internal/envelope"
)

// emitted is an event that somebody wants to emit, as the conditions of rules look at it. The payload is read only when a
// rule asks for it: most do not, and it may be large.
type emitted struct {
	known   access.Fields
	payload json.RawMessage
}

func newEmitted(v *visit, event envelope.Event) *emitted {
	caller := v.ability.Principal()
	known := access.Fields{
		"type": event.Type,
		"source": map[string]any{
			"workspaceId": v.workspaceID, "serviceTopic": access.TopicEmit,
			"userId": orNothing(caller.UserID), "sessionId": orNothing(caller.SessionID),
		},
	}
	if event.Target != nil {
		target := map[string]any{
			"userId": orNothing(event.Target.UserID), "sessionId": orNothing(event.Target.SessionID), "userTopic": orNothing(event.Target.UserTopic),
		}
		if event.Target.CurrentSocket != nil {
			target["currentSocket"] = *event.Target.CurrentSocket
		}
		known["target"] = target
	}
	return &emitted{known: known, payload: event.Payload}
}

// Field implements access.Object.
func (e *emitted) Field(path string) (any, bool) {
	if e.payload != nil && (path == "payload" || strings.HasPrefix(path, "payload.")) {
		e.known["payload"], e.payload = plain(e.payload), nil
	}
	return e.known.Field(path)
}

// plain reads JSON and keeps numbers as they were written: those beyond the usual ones count too.
func plain(text json.RawMessage) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&value) // it was checked when it came in
	return value
}

// orNothing is a text as it is stored: an empty one is left out.
func orNothing(text string) any {
	if text == "" {
		return nil
	}
	return text
}
