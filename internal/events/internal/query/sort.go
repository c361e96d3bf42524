package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"atelier/internal/bus"
)

// Order is how the events of a search are sorted: by the log, or by numbers of the events.
type Order struct{ keys []sortKey }

type sortKey struct {
	path       string
	descending bool
}

const maxSortKeys = 3

// ParseOrder reads how events are sorted: [{"createdAt": "desc"}], or {"field": {"order": "asc"}}. The newest come first
// when nothing is said, and where what is said leaves events equal.
func ParseOrder(list []json.RawMessage, field string) (Order, error) {
	var o Order
	if len(list) > maxSortKeys {
		return o, invalid(field, "sort by at most 3 fields")
	}
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		value, err := decode(raw)
		if err != nil {
			return o, invalid(at, "write an object such as {\"createdAt\": \"desc\"}")
		}
		if name, ok := value.(string); ok {
			value = map[string]any{name: "asc"}
		}
		object, ok := value.(map[string]any)
		if !ok || len(object) != 1 {
			return o, invalid(at, "write an object such as {\"createdAt\": \"desc\"}")
		}
		for name, direction := range object {
			key, err := parseSortKey(name, direction, at)
			if err != nil {
				return o, err
			}
			o.keys = append(o.keys, key)
		}
	}
	return o, nil
}

func parseSortKey(name string, direction any, field string) (sortKey, error) {
	path, ok := cleanPath(name)
	if !ok || path == fieldType {
		return sortKey{}, invalid(field+"."+short(name), "sort by createdAt, id or a number of the event; "+Paths)
	}
	if object, ok := direction.(map[string]any); ok {
		if err := only(object, field+"."+name, "order"); err != nil {
			return sortKey{}, err
		}
		direction = object["order"]
	}
	text, _ := direction.(string)
	if text != "asc" && text != "desc" {
		return sortKey{}, invalid(field+"."+name, "use asc or desc")
	}
	return sortKey{path: path, descending: text == "desc"}, nil
}

// Natural tells that the order is that of the log, and whether the oldest come first. Ids and times sort alike.
func (o Order) Natural() (ascending, natural bool) {
	if len(o.keys) == 0 {
		return false, true
	}
	first := o.keys[0]
	return !first.descending, first.path == fieldCreatedAt || first.path == fieldID
}

// Place is an event of a search by what it is sorted by.
type Place struct {
	Position    bus.Position
	WorkspaceID string
	keys        [maxSortKeys]float64
}

// Place notes what an event is sorted by. Of several numbers it is the one that brings it forward; without one it comes last.
func (o Order) Place(d *Document) Place {
	p := Place{Position: d.stored.Position, WorkspaceID: d.stored.WorkspaceID}
	for i, key := range o.keys {
		p.keys[i] = key.value(d)
	}
	return p
}

func (k sortKey) value(d *Document) float64 {
	if k.path == fieldCreatedAt || k.path == fieldID {
		return 0 // positions tell
	}
	best := math.Inf(1)
	for _, value := range d.Values(k.path) {
		number, ok := amount(value)
		if !ok {
			continue
		}
		if k.descending {
			number = -number
		}
		best = min(best, number)
	}
	return best
}

// Compare tells which of two events comes first.
func (o Order) Compare(a, b Place) int {
	for i, key := range o.keys {
		order := cmp.Compare(a.keys[i], b.keys[i])
		if key.path == fieldCreatedAt || key.path == fieldID {
			order = cmp.Compare(a.Position, b.Position)
			if key.descending {
				order = -order
			}
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(b.Position, a.Position)
}

// Pick is the part of an event below some paths.
func (d *Document) Pick(paths []string) (map[string]any, error) {
	tree, err := d.Tree()
	if err != nil {
		return nil, err
	}
	picked, _ := pick(tree, paths).(map[string]any)
	if picked == nil {
		picked = map[string]any{}
	}
	return picked, nil
}

// ParseFields checks the paths that Pick is given. A path may end with .*, and * alone means everything.
func ParseFields(fields []string, field string) ([]string, error) {
	paths := make([]string, 0, len(fields))
	for i, name := range fields {
		if name == "*" {
			return nil, nil
		}
		path, err := pathOf(strings.TrimSuffix(name, ".*"), fmt.Sprintf("%s[%d]", field, i))
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// pick copies what lies at the paths; nil when nothing does.
func pick(tree any, paths []string) any {
	if slices.Contains(paths, "") {
		return tree
	}
	switch in := tree.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range in {
			if part := pick(value, below(paths, key)); part != nil {
				out[key] = part
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, element := range in {
			if part := pick(element, paths); part != nil {
				out = append(out, part)
			}
		}
		if out == nil {
			return nil
		}
		return out
	default:
		return nil
	}
}

// below are the rests of the paths that lead through a key.
func below(paths []string, key string) (rests []string) {
	for _, path := range paths {
		if path == key {
			rests = append(rests, "")
		} else if rest, ok := strings.CutPrefix(path, key+"."); ok {
			rests = append(rests, rest)
		}
	}
	return rests
}
