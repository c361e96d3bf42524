package intake

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const (
	// mark stands where something was that made an event too large.
	mark = "LARGE_CONTENT_STRIPPED"
	// deepest is how far into a payload a field is looked for that can go alone.
	deepest = 8
)

// strip replaces fields of an event's payload by a mark, the largest first, until the event has at most so many characters.
// It is false when that is not enough.
func strip(body json.RawMessage, most int) (json.RawMessage, bool) {
	for {
		excess := utf8.RuneCount(body) - most
		if excess <= 0 {
			return body, true
		}
		event, ok := object(body)
		if !ok {
			return body, false
		}
		payload, ok := without(event["payload"], excess, deepest)
		if !ok {
			return body, false
		}
		event["payload"] = payload
		body = text(event)
	}
}

// without is an object without its largest field, or without only the largest field of that one when so much is enough. It is
// false when there is nothing to take away.
func without(value json.RawMessage, excess, depth int) (json.RawMessage, bool) {
	fields, ok := object(value)
	if !ok || depth == 0 {
		return value, false
	}
	largest, size := "", len(mark)+2
	for name, field := range fields {
		if n := utf8.RuneCount(field); n > size || n == size && largest != "" && name < largest {
			largest, size = name, n
		}
	}
	if largest == "" {
		return value, false
	}
	inner, ok := without(fields[largest], excess, depth-1)
	if !ok || size-utf8.RuneCount(inner) < excess {
		inner = json.RawMessage(`"` + mark + `"`)
	}
	fields[largest] = inner
	return text(fields), true
}

func object(value json.RawMessage) (fields map[string]json.RawMessage, ok bool) {
	return fields, json.Unmarshal(value, &fields) == nil && fields != nil
}

// text writes JSON without changing what is in it.
func text(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it was read from JSON
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
