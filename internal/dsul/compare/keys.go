// Package compare tells what differs between two documents: by key paths, and as a text.
package compare

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// The kinds of changes.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Change is one difference between two documents. From is empty for what was added, To for what was removed.
type Change struct {
	Path string          `json:"path" doc:"Where: keys with dots between, [2] or [slug=x] for an item of a list."`
	Kind string          `json:"kind" enum:"added,removed,changed"`
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// Keys tells which values differ between two documents, in the order of the second one. A nil node is an absent document.
// Items of lists are matched by their slug, id or name when all of them have one, by what they hold otherwise; an item that
// only moved is removed and added. The order of keys matters only in the mapping below a key `conditions`.
func Keys(from, to *yaml.Node) []Change {
	c := &comparison{}
	switch {
	case from == nil && to == nil:
	case from == nil:
		c.add("", Added, nil, resolve(to))
	case to == nil:
		c.add("", Removed, resolve(from), nil)
	default:
		c.values(spot{}, resolve(from), resolve(to))
	}
	return c.changes
}

// Path writes a path of keys and places in lists as a change has it. What is a number counts as a place.
func Path(parts []string) string {
	at := spot{}
	for _, part := range parts {
		if place, err := strconv.Atoi(part); err == nil && strconv.Itoa(place) == part {
			at = at.item(place)
		} else {
			at = at.below(part)
		}
	}
	return at.path
}

// resolve reads a node. One that cannot be read, which no stored document is, counts as a text that says so.
func resolve(node *yaml.Node) *value.Value {
	v, err := value.Of(node)
	if err != nil {
		return value.NewString("unreadable: " + err.Error())
	}
	return v
}

type comparison struct{ changes []Change }

// spot is where two values stand.
type spot struct{ path, key string }

// below is the spot of a key.
func (s spot) below(key string) spot {
	switch {
	case key == "" || strings.ContainsAny(key, ".[]\"") || strings.ContainsFunc(key, control):
		return spot{s.path + "[" + quoted(key) + "]", key}
	case s.path == "":
		return spot{key, key}
	default:
		return spot{s.path + "." + key, key}
	}
}

// item is the spot of an item at a place.
func (s spot) item(at int) spot { return spot{path: s.path + "[" + strconv.Itoa(at) + "]"} }

// named is the spot of an item that is known by a key.
func (s spot) named(key, name string) spot {
	if strings.ContainsAny(name, "[]\"") || strings.ContainsFunc(name, control) {
		name = quoted(name)
	}
	return spot{path: s.path + "[" + key + "=" + name + "]"}
}

func control(r rune) bool { return !value.Printable(r) }

func quoted(text string) string {
	return string(value.AppendQuoted(nil, strings.TrimPrefix(text, "\x00")))
}

func (c *comparison) add(path, kind string, from, to *value.Value) {
	change := Change{Path: path, Kind: kind}
	if from != nil {
		change.From = from.AppendJSON(nil)
	}
	if to != nil {
		change.To = to.AppendJSON(nil)
	}
	c.changes = append(c.changes, change)
}

func (c *comparison) values(at spot, from, to *value.Value) {
	switch {
	case from.EqualBelow(at.key, to):
	case from.Kind != to.Kind || from.Tag != to.Tag || !to.Collection():
		c.add(at.path, Changed, from, to)
	case to.Kind == value.Map:
		c.maps(at, from, to)
	default:
		c.lists(at, from, to)
	}
}

func (c *comparison) maps(at spot, from, to *value.Value) {
	old := from.Index()
	if value.OrderMatters(at.key) && reordered(from, to, old) {
		c.add(at.path, Changed, from, to)
	}
	var common []string
	for _, entry := range to.Entries {
		before, known := old[entry.Name]
		if !known {
			c.add(at.below(entry.Name).path, Added, nil, entry.Value)
			continue
		}
		common = append(common, entry.Name)
		c.values(at.below(entry.Name), before, entry.Value)
	}
	for _, name := range common {
		delete(old, name)
	}
	for _, entry := range from.Entries {
		if before, gone := old[entry.Name]; gone {
			c.add(at.below(entry.Name).path, Removed, before, nil)
		}
	}
}

// reordered tells whether the keys that two mappings have in common are in another order.
func reordered(from, to *value.Value, old map[string]*value.Value) bool {
	stays := make(map[string]bool, len(to.Entries))
	var now []string
	for _, entry := range to.Entries {
		if old[entry.Name] != nil {
			stays[entry.Name] = true
			now = append(now, entry.Name)
		}
	}
	next := 0
	for _, entry := range from.Entries {
		if stays[entry.Name] {
			if now[next] != entry.Name {
				return true
			}
			next++
		}
	}
	return false
}
