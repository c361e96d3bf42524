package intake

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"atelier/internal/catalogue"
	"atelier/internal/envelope"
)

//go:embed rules.json
var bundled []byte

// Rule says what is taken out of some events before they are stored.
type Rule struct {
	// ID names the rule.
	ID string `json:"id"`
	// Topics are the topics of the events: the type of an event of the platform, topic:runtime:emit for all others. Events are their
	// types. Both may have *; without one it is all of them.
	Topics []string `json:"topics"`
	Events []string `json:"events"`
	// Fields are dotted paths into the event; * is any field, ** are any number of them. Without one it is the whole payload.
	Fields []string `json:"fields"`
	// Action is what is done: redact.
	Action string `json:"action"`
}

// Rules say what is taken out of events. The zero Rules take out nothing.
type Rules struct {
	// native has the fields of every type of the platform that has some, own those of other types by their name.
	native, own map[string][]field
	// general are rules for types that have no name yet.
	general []general
}

// field is the path to a field.
type field []string

// general is what a rule says of events that nobody can list: those that match a pattern, which begins with the prefix.
type general struct {
	pattern, prefix string
	fields          []field
}

// Bundled are the rules that hold unless others are named.
func Bundled() (Rules, error) { return Read(bundled) }

// Load reads the rules of a file, or the bundled ones when there is no name.
func Load(name string) (Rules, error) {
	if name == "" {
		return Bundled()
	}
	text, err := os.ReadFile(name) //nolint:gosec // the operator names it
	if err != nil {
		return Rules{}, err
	}
	return Read(text)
}

// Read reads rules; an error says which rule is wrong, and where.
func Read(text []byte) (Rules, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var rules []Rule
	if err := decoder.Decode(&rules); err != nil {
		return Rules{}, fmt.Errorf("it is not a JSON list of rules {id, topics, events, fields, action}: %w", err)
	}
	if decoder.More() {
		return Rules{}, fmt.Errorf("something follows the list of rules")
	}
	made := Rules{native: map[string][]field{}, own: map[string][]field{}}
	known := map[string]bool{}
	for i, r := range rules {
		if r.ID == "" {
			return Rules{}, fmt.Errorf("rule %d: id: every rule has a name of its own", i+1)
		}
		if known[r.ID] {
			return Rules{}, fmt.Errorf("rule %q: id: another rule has it", r.ID)
		}
		known[r.ID] = true
		if err := made.accept(r); err != nil {
			return Rules{}, fmt.Errorf("rule %q: %w", r.ID, err)
		}
	}
	return made, nil
}

func (r *Rules) accept(rule Rule) error {
	if rule.Action != "redact" {
		return fmt.Errorf("action: %q is not known; use redact", rule.Action)
	}
	fields, err := parse(rule.Fields)
	if err != nil {
		return err
	}
	for name, patterns := range map[string][]string{"topics": rule.Topics, "events": rule.Events} {
		for i, pattern := range patterns {
			if pattern == "" || strings.ContainsAny(pattern, `?[]\/`) {
				return fmt.Errorf("%s[%d]: %q is not a name; use letters, digits and . _ - :, and * for any of them", name, i, pattern)
			}
		}
	}
	for _, e := range catalogue.Entries() {
		if matches(rule.Topics, e.Type) && matches(rule.Events, e.Type) {
			r.native[e.Type] = append(r.native[e.Type], fields...)
		}
	}
	if matches(rule.Topics, envelope.CustomTopic) {
		r.addOwn(rule.Events, fields)
	}
	return nil
}

// addOwn adds a rule for types that are not the platform's.
func (r *Rules) addOwn(events []string, fields []field) {
	if len(events) == 0 {
		events = []string{"*"}
	}
	for _, event := range events {
		if prefix, _, open := strings.Cut(event, "*"); open {
			r.general = append(r.general, general{pattern: event, prefix: prefix, fields: fields})
			continue
		}
		r.own[event] = append(r.own[event], fields...)
	}
}

// matches tells whether one of the patterns fits; no pattern at all fits everything.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool { return fits(pattern, name) })
}

func fits(pattern, name string) bool {
	is, err := path.Match(pattern, name)
	return err == nil && is
}

// parse reads the paths of a rule.
func parse(paths []string) ([]field, error) {
	if len(paths) == 0 {
		return []field{{"payload"}}, nil
	}
	fields := make([]field, 0, len(paths))
	for i, p := range paths {
		segments := strings.Split(p, ".")
		switch {
		case slices.Contains(segments, ""):
			return nil, fmt.Errorf("fields[%d]: %q has a name that is empty", i, p)
		case segments[0] != "payload" && segments[0] != "error" && p != "source.ip":
			return nil, fmt.Errorf("fields[%d]: %q does not begin with payload or error; of the source only source.ip can be redacted", i, p)
		case slices.ContainsFunc(segments, func(s string) bool { return strings.Contains(s, "*") && s != "*" && s != "**" }):
			return nil, fmt.Errorf("fields[%d]: %q has a * inside of a name; it stands alone for one field, and ** for any number", i, p)
		case strings.Contains(p, "**.**"):
			return nil, fmt.Errorf("fields[%d]: %q has ** twice in a row", i, p)
		}
		fields = append(fields, segments)
	}
	return fields, nil
}
