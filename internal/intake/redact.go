package intake

import (
	"bytes"
	"encoding/json"
	"strings"
)

// redacted stands where something was that is not to be stored.
const redacted = `"REDACTED"`

// redact takes out of a stored event what the rules for its type say. An event without a rule costs the look into a map,
// one in which no rule finds its name a look at its text.
func (r Rules) redact(eventType string, native bool, body json.RawMessage) (json.RawMessage, error) {
	fields := r.fields(eventType, native)
	if len(fields) == 0 || !holds(body, fields) {
		return body, nil
	}
	clean, _, err := redact(body, fields)
	return clean, err
}

func (r Rules) fields(eventType string, native bool) []field {
	if native {
		return r.native[eventType]
	}
	fields := r.own[eventType]
	for _, g := range r.general {
		if strings.HasPrefix(eventType, g.prefix) && fits(g.pattern, eventType) {
			fields = append(fields[:len(fields):len(fields)], g.fields...)
		}
	}
	return fields
}

// redact gives a value without what the paths lead to, and whether it is another one. What is left is as it was written. The
// elements of lists are looked at as if they stood in the place of the list.
func redact(value json.RawMessage, paths []field) (json.RawMessage, bool, error) {
	switch first(value) {
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return value, false, err
		}
		changed, err := redactMembers(members, paths)
		if err != nil || !changed {
			return value, false, err
		}
		return text(members), true, nil
	case '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(value, &elements); err != nil {
			return value, false, err
		}
		other := false
		for i, element := range elements {
			clean, changed, err := redact(element, paths)
			if err != nil {
				return value, false, err
			}
			elements[i], other = clean, other || changed
		}
		if !other {
			return value, false, nil
		}
		return text(elements), true, nil
	default:
		return value, false, nil
	}
}

func redactMembers(members map[string]json.RawMessage, paths []field) (changed bool, err error) {
	for name, member := range members {
		next, here := step(paths, name)
		clean, other := member, false
		switch {
		case here && string(member) != "null":
			clean, other = json.RawMessage(redacted), true
		case len(next) > 0:
			if clean, other, err = redact(member, next); err != nil {
				return changed, err
			}
		}
		members[name], changed = clean, changed || other
	}
	return changed, nil
}

// step gives what is left of the paths behind a field, and whether one of them ends there. Capitals do not matter: headers
// are written either way.
func step(paths []field, name string) (next []field, here bool) {
	for _, p := range paths {
		if p[0] == "**" {
			next = append(next, p)
			if len(p) == 1 {
				return nil, true
			}
			p = p[1:]
		}
		if p[0] != "*" && !strings.EqualFold(p[0], name) {
			continue
		}
		if len(p) == 1 {
			return nil, true
		}
		next = append(next, p[1:])
	}
	return next, false
}

func first(value json.RawMessage) byte {
	trimmed := bytes.TrimLeft(value, " \t\r\n")
	if len(trimmed) == 0 {
		return 0
	}
	return trimmed[0]
}
