// Package catalogue is what the platform itself says in events: each type of event, what its payload looks like, and what
// holds for it. An event that is not in the table cannot be emitted by a service.
package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Payload is what an event of the platform says. A payload knows the type of its event.
type Payload interface {
	EventType() string
}

// Act is the payload of a security-relevant act, which says who did what to whom.
type Act interface {
	Payload
	// Audit gives the part that says it.
	Audit() *Audited
}

// Entry is a line of the table: one type of event, and what holds for it.
type Entry struct {
	// Type is the type of the event.
	Type string
	// Payload is an empty payload of the event; all of them are of its Go type.
	Payload Payload
	// Service is the service that the event is about, and that usually emits it.
	Service string
	// Doc says in a sentence when it happens.
	Doc string
	// Use tells what automations may do with it.
	Use Use
	// Transient tells that it is for those who listen when it happens, and is not stored.
	Transient bool
	// Inside tells that it is for the services of the platform alone: nobody may read it, whatever the rules of a workspace say.
	Inside bool
}

// Use tells what automations may do with an event. Who may read it is decided by the rules of its workspace.
type Use int

// What automations may do.
const (
	// Reading is to read the event like everybody who may.
	Reading Use = iota
	// Waiting is also to wait for it. Being started by it would never end.
	Waiting
	// Starting is also to be started by it.
	Starting
)

// String is the most that automations may do: read, wait or start.
func (u Use) String() string { return [...]string{"read", "wait", "start"}[u] }

// Entries is the whole table, in its order.
func Entries() []Entry {
	return slices.Concat(gatewayTable(), organizationsTable(), workspacesTable(), runtimeTable(), eventsTable())
}

//nolint:gochecknoglobals // made once, never changed
var byType = sync.OnceValue(func() map[string]Entry {
	all := map[string]Entry{}
	for _, e := range Entries() {
		all[e.Type] = e
	}
	return all
})

// Find gives the line of a type.
func Find(eventType string) (Entry, bool) {
	e, ok := byType()[eventType]
	return e, ok
}

// Inside tells whether events of a type are for the services of the platform alone.
func Inside(eventType string) bool { return byType()[eventType].Inside }

// Check refuses a payload that is not the one of its type.
func Check(p Payload) error {
	e, ok := Find(p.EventType())
	if !ok {
		return fmt.Errorf("there is no event %q in the catalogue", p.EventType())
	}
	if got, want := reflect.TypeOf(p), reflect.TypeOf(e.Payload); got != want {
		return fmt.Errorf("the payload of %s is a %v, not a %v", e.Type, want, got)
	}
	return nil
}

// Families are the first words of the platform's types. The last one has no event yet, and is kept for it.
func Families() []string {
	var all []string
	for _, e := range Entries() {
		if first, _, more := strings.Cut(e.Type, "."); more && !slices.Contains(all, first) {
			all = append(all, first)
		}
	}
	return append(all, "access-manager")
}

//nolint:gochecknoglobals // made once, never changed
var reserved = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{errorType: true}
	for _, family := range Families() {
		all[family+"."] = true
	}
	return all
})

// Reserved tells whether a type is the platform's own, in capitals or not, and gives what makes it so: its first word and a dot,
// or all of it. Of the types without a dot, usage is everybody's: apps tell of their usage with it.
func Reserved(eventType string) (by string, is bool) {
	by = strings.ToLower(eventType)
	if dot := strings.IndexByte(by, '.'); dot >= 0 {
		by = by[:dot+1]
	}
	return by, reserved()[by]
}

// Short is a payload of the same kind without what is longer than so many bytes of JSON, which says of itself that it is
// stripped. Fields that must not be missing are never that long.
func Short(p Payload, most int) (Payload, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if len(value) > most {
			delete(fields, name)
		}
	}
	fields["stripped"] = json.RawMessage("true")
	short, ok := reflect.New(reflect.TypeOf(p).Elem()).Interface().(Payload)
	if !ok {
		return nil, fmt.Errorf("%T is not a pointer", p)
	}
	reflect.ValueOf(short).Elem().Set(verb(p))
	return short, Fill(short, fields)
}

// verb is a payload that says nothing but of which type it is.
func verb(p Payload) reflect.Value {
	whole := reflect.ValueOf(p).Elem()
	empty := reflect.New(whole.Type()).Elem()
	for i := range whole.NumField() {
		if whole.Type().Field(i).Tag.Get("json") == "-" {
			empty.Field(i).Set(whole.Field(i))
		}
	}
	return empty
}

// Fill makes a payload say what is given as JSON or can be written as such; a field that it does not have is an error.
func Fill(p Payload, from any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(p); err != nil {
		return fmt.Errorf("the payload of %s: %w", p.EventType(), err)
	}
	return nil
}
