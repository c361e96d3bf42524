package query

import (
	"strings"

	"atelier/internal/dsul/expr/value"
)

// maxGroups is how many groups an aggregation may make.
const maxGroups = 10_000

// Group puts records together that have something in common, and counts with their fields.
type Group struct {
	key   func(record *value.Object) any
	sums  []sum
	order []string
	found map[string]*tallies
	// show writes the row of a group.
	show func(key any, results []any) *value.Object
	held int
}

// sum is one field of the rows.
type sum struct {
	output string
	start  func() tally
	input  func(record *value.Object) any
}

type tallies struct {
	key any
	all []tally
}

// Add counts a record.
func (g *Group) Add(record *value.Object) error {
	key := g.key(record)
	if (key == value.Undefined{}) {
		key = nil
	}
	id := text(key)
	group, ok := g.found[id]
	if !ok {
		if len(g.found) == maxGroups {
			return invalid("There are more than %d groups; narrow the query down or group by something else.", maxGroups)
		}
		if err := g.hold(len(id)); err != nil {
			return err
		}
		group = g.begin(id, key)
	}
	for i, s := range g.sums {
		v := s.input(record)
		group.all[i].add(v)
		if _, keeps := group.all[i].(*gathered); !keeps {
			continue
		}
		if err := g.hold(Weigh(v)); err != nil {
			return err
		}
	}
	return nil
}

// hold bounds how much the keys and lists of all groups may keep.
func (g *Group) hold(bytes int) error {
	if g.held += bytes; g.held > maxHeld {
		return invalid("The groups take more than %d bytes; narrow the query down or gather less.", maxHeld)
	}
	return nil
}

func (g *Group) begin(id string, key any) *tallies {
	group := &tallies{key: key, all: make([]tally, len(g.sums))}
	for i, s := range g.sums {
		group.all[i] = s.start()
	}
	g.found[id] = group
	g.order = append(g.order, id)
	return group
}

// Rows gives a row for each group, in the order in which the groups came.
func (g *Group) Rows() []*value.Object {
	rows := make([]*value.Object, 0, len(g.order))
	for _, id := range g.order {
		group := g.found[id]
		results := make([]any, len(group.all))
		for i, t := range group.all {
			results[i] = t.result()
		}
		rows = append(rows, g.show(group.key, results))
	}
	return rows
}

// Steps is a simple aggregation: {type, inputField, outputField} each.
type Steps struct {
	// Steps are what to compute; GroupBy is a field or a list of them; GroupField is what it is called in the rows.
	Steps, GroupBy, GroupField any
}

// Compile reads the aggregation.
func (s Steps) Compile(schema Schema) (*Group, error) {
	by, err := s.groupBy(schema)
	if err != nil {
		return nil, err
	}
	g := &Group{found: map[string]*tallies{}}
	list, ok := s.Steps.([]any)
	if !ok || len(list) == 0 || len(list) > maxSort {
		return nil, invalid("steps is a list of one to %d steps such as {type: sum, inputField: amount, outputField: total}.", maxSort)
	}
	for _, item := range list {
		made, err := step(item, schema)
		if err != nil {
			return nil, err
		}
		g.sums = append(g.sums, made)
	}
	g.key = func(record *value.Object) any {
		key := make([]any, len(by))
		for i, field := range by {
			key[i] = Lookup(record, field.path)
		}
		return key
	}
	g.show = func(key any, results []any) *value.Object {
		row := value.NewObject(len(by) + len(results))
		keys, _ := key.([]any)
		for i, field := range by {
			row.Set(field.output, defined(keys[i]))
		}
		for i, result := range results {
			row.Set(g.sums[i].output, result)
		}
		return row
	}
	if len(by) == 0 {
		g.begin(text([]any{}), []any{}) // there is a row even when there is no record
	}
	return g, nil
}

type groupField struct {
	path   []string
	output string
}

func (s Steps) groupBy(schema Schema) ([]groupField, error) {
	var names []any
	switch v := s.GroupBy.(type) {
	case nil, value.Undefined:
	case string:
		names = []any{v}
	case []any:
		names = v
	default:
		return nil, invalid("groupBy is the name of a field, or a list of them.")
	}
	var fields []groupField
	for _, item := range names {
		name, ok := item.(string)
		if !ok || len(names) > maxSort {
			return nil, invalid("groupBy takes the names of at most %d fields.", maxSort)
		}
		path, err := Path(name, schema)
		if err != nil {
			return nil, err
		}
		fields = append(fields, groupField{path: path, output: name})
	}
	if renamed, ok := s.GroupField.(string); ok && renamed != "" && len(fields) == 1 {
		fields[0].output = renamed
	}
	return fields, nil
}

func step(v any, schema Schema) (sum, error) {
	o, ok := v.(*value.Object)
	if !ok {
		return sum{}, invalid("A step is an object such as {type: sum, inputField: amount, outputField: total}.")
	}
	kind, _ := o.Get("type").(string)
	input, _ := o.Get("inputField").(string)
	output, _ := o.Get("outputField").(string)
	start, ok := map[string]func() tally{
		"sum": newTotal, "avg": newAverage, "min": newLeast, "max": newMost, "count": newCount,
	}[kind]
	if !ok {
		return sum{}, invalid("The type of a step is sum, avg, count, max or min.")
	}
	if input == "" && kind != "count" {
		return sum{}, invalid("The step %s needs inputField: the field to compute with.", kind)
	}
	made := sum{output: output, start: start, input: func(*value.Object) any { return true }}
	if output == "" {
		made.output = strings.Trim(kind+"_"+strings.ReplaceAll(input, ".", "_"), "_")
	}
	if input == "" {
		return made, nil
	}
	path, err := Path(input, schema)
	made.input = func(record *value.Object) any { return Lookup(record, path) }
	return made, err
}

func defined(v any) any {
	if (v == value.Undefined{}) {
		return nil
	}
	return v
}
