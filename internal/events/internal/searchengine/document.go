package searchengine

import (
	"encoding/json"
	"slices"

	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
)

// The forms in which an event is kept, the one that says most first. The last one always fits: nothing in it is of a type that
// somebody else decided on. An event is found by the same searches in every form.
const (
	wholeForm     = iota
	withoutTyped  // without aggPayload, whose fields may be too many or of another type than those of earlier events
	withoutFields // and without the payload as fields
	lastForm      = withoutFields
)

// document is an event as the index has it. Body is the event as the log has it, letter by letter.
type document struct {
	Timestamp   int64           `json:"@timestamp"`
	CreatedAt   int64           `json:"createdAt"`
	ID          string          `json:"id"`
	Position    bus.Position    `json:"position"`
	WorkspaceID string          `json:"workspaceId"`
	Type        string          `json:"type"`
	Size        any             `json:"size,omitempty"`
	Depth       *float64        `json:"depth,omitempty"`
	Terms       []string        `json:"terms"`
	Words       []string        `json:"words"`
	Source      json.RawMessage `json:"source,omitempty"`
	Payload     json.RawMessage `json:"payload,omitempty"`
	AggPayload  json.RawMessage `json:"aggPayload,omitempty"`
	Body        string          `json:"body"`
}

// typed are the types of events whose payload can always be counted with.
func typed() []string {
	return []string{"runtime.automations.executed", "runtime.interactions.triggered"}
}

// documentOf makes the document of an event.
func documentOf(event bus.Event, form int) document {
	d := query.Read(event)
	entry, at := d.Entry(), event.Position.Time().UnixMilli()
	made := document{
		Timestamp: at, CreatedAt: at, ID: event.Position.ID(), Position: event.Position, WorkspaceID: event.WorkspaceID, Type: event.Type,
		Depth: entry.Depth, Terms: entry.Terms, Words: entry.Words, Body: string(event.Body),
	}
	if sizes := d.Values("size"); len(sizes) > 0 {
		made.Size = sizes[0]
	}
	var parts struct {
		Source  json.RawMessage `json:"source"`
		Payload json.RawMessage `json:"payload"`
		Options struct {
			AggPayload bool `json:"aggPayload"`
		} `json:"options"`
	}
	if form == withoutFields || json.Unmarshal(event.Body, &parts) != nil {
		return made
	}
	if isObject(parts.Source) {
		made.Source = parts.Source
	}
	if !isObject(parts.Payload) { // as a field it must be an object
		return made
	}
	made.Payload = parts.Payload
	if form == wholeForm && (parts.Options.AggPayload || slices.Contains(typed(), event.Type)) {
		made.AggPayload = parts.Payload
	}
	return made
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// eventOf is the event of a document.
func eventOf(d document) bus.Event {
	return bus.Event{Position: d.Position, WorkspaceID: d.WorkspaceID, Type: d.Type, Body: json.RawMessage(d.Body)}
}
