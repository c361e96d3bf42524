// Package query is what is asked of events: filters and aggregations, without I/O. Searches, live feeds and webhooks share it,
// so that a filter means the same everywhere.
package query

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/envelope"
	"atelier/internal/errs"
)

// Document is an event as filters look at it. It is decoded when somebody looks inside, and at most once. Several goroutines
// may look at it.
type Document struct {
	stored bus.Event

	decode  sync.Once
	fields  map[string]any
	failure error

	split sync.Once
	words [][]string

	fold  sync.Once
	lower string
}

// Read makes a document of a stored event.
func Read(e bus.Event) *Document { return &Document{stored: e} }

// Stored is the event as the log has it.
func (d *Document) Stored() bus.Event { return d.stored }

// Event is the event as clients see it.
func (d *Document) Event() (envelope.Event, error) { return envelope.Read(d.stored) }

// The fields of an event that are known without looking into its body.
const (
	fieldID        = "id"
	fieldType      = "type"
	fieldCreatedAt = "createdAt"
	fieldSize      = "size"
)

// Field implements access.Object: the value at a dotted path; lists are not entered.
func (d *Document) Field(path string) (any, bool) {
	if value := d.outer(path); value != nil {
		return value, true
	}
	return access.Fields(d.tree()).Field(path)
}

// Values gives the texts, numbers (json.Number) and booleans at a dotted path. The elements of lists on the way all count. A
// key that has dots itself is found too.
func (d *Document) Values(path string) []any {
	if value := d.outer(path); value != nil {
		return []any{value}
	}
	var found []any
	at(d.tree(), path, func(value any) bool {
		if scalar(value) {
			found = append(found, value)
		}
		return true
	})
	return found
}

// some tells whether a value at the path fulfils a test.
func (d *Document) some(path string, test func(value any) bool) (found bool) {
	if value := d.outer(path); value != nil {
		return test(value)
	}
	at(d.tree(), path, func(value any) bool {
		found = scalar(value) && test(value)
		return !found
	})
	return found
}

// has tells whether there is anything at the path: a value, or one within it.
func (d *Document) has(path string) (found bool) {
	if d.outer(path) != nil {
		return true
	}
	at(d.tree(), path, func(value any) bool {
		found = !each(value, func(any) bool { return false })
		return !found
	})
	return found
}

// isOuter tells whether outer knows the path.
func isOuter(path string) bool {
	return path == fieldID || path == fieldType || path == fieldCreatedAt || path == fieldSize
}

// outer gives the fields that need no decoding; nil for all others.
func (d *Document) outer(path string) any {
	switch path {
	case fieldID:
		return d.stored.Position.ID()
	case fieldType:
		return d.stored.Type
	case fieldCreatedAt:
		return d.stored.Position.Time().Format(time.RFC3339Nano)
	case fieldSize:
		return utf8.RuneCount(d.stored.Body)
	default:
		return nil
	}
}

// Tree is the event as clients see it, as maps, lists and scalars. It must not be changed.
func (d *Document) Tree() (map[string]any, error) {
	fields := d.tree()
	return fields, d.failure
}

func (d *Document) tree() map[string]any {
	d.decode.Do(func() {
		decoder := json.NewDecoder(bytes.NewReader(d.stored.Body))
		decoder.UseNumber() // large numbers stay what they are
		if err := decoder.Decode(&d.fields); err != nil {
			d.fields, d.failure = map[string]any{}, errs.Wrap(err, "read a stored event")
		}
		for _, name := range []string{fieldID, fieldType, fieldCreatedAt, fieldSize} {
			d.fields[name] = d.outer(name)
		}
	})
	return d.fields
}

// tokens are the words of each text, number and boolean of the event.
func (d *Document) tokens() [][]string {
	d.split.Do(func() {
		note := func(text string) {
			if found := words(text); len(found) > 0 {
				d.words = append(d.words, found)
			}
		}
		for _, name := range []string{fieldID, fieldType, fieldCreatedAt, fieldSize} {
			note(textOf(d.outer(name)))
		}
		s := scanner{text: d.stored.Body, scalar: func(text []byte) { note(string(text)) }}
		s.value(0, inPayload) // without decoding it, which takes as long again; no stored event has those fields itself
	})
	return d.words
}

// folded is the event's JSON in lower case.
func (d *Document) folded() string {
	d.fold.Do(func() {
		event, err := d.Event()
		if err != nil {
			return
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(event) == nil {
			d.lower = strings.ToLower(text.String())
		}
	})
	return d.lower
}

// at calls visit with everything at a dotted path until it returns false. Each part of the tree is visited once at most.
func at(tree any, path string, visit func(value any) bool) bool {
	switch in := tree.(type) {
	case []any:
		for _, element := range in {
			if !at(element, path, visit) {
				return false
			}
		}
		return true
	case map[string]any:
		if path == "" {
			return visit(tree)
		}
		return within(in, path, visit)
	default:
		return path != "" || visit(tree)
	}
}

func within(object map[string]any, path string, visit func(value any) bool) bool {
	for end := 0; end < len(path); {
		length := strings.IndexByte(path[end:], '.')
		if length < 0 {
			length = len(path) - end
		}
		end += length
		rest := strings.TrimPrefix(path[end:], ".")
		if value, ok := object[path[:end]]; ok && (rest != "" || end == len(path)) && !at(value, rest, visit) {
			return false
		}
		end++
	}
	return true
}

// each calls visit with every scalar of a tree until it returns false. The order is that of the keys.
func each(tree any, visit func(value any) bool) bool {
	switch in := tree.(type) {
	case nil:
		return true
	case []any:
		for _, element := range in {
			if !each(element, visit) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(in)) {
			if !each(in[key], visit) {
				return false
			}
		}
		return true
	default:
		return visit(tree)
	}
}

// scalar tells what can be compared from lists, objects and null.
func scalar(value any) bool {
	switch value.(type) {
	case nil, []any, map[string]any:
		return false
	default:
		return true
	}
}
