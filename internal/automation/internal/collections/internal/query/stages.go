package query

import (
	"slices"

	"atelier/internal/dsul/expr/value"
)

type matching struct{ query *Query }

func (m *matching) add(record *value.Object, next func(*value.Object) error) error {
	if !m.query.Match(record) {
		return nil
	}
	return next(record)
}

func (m *matching) end(func(*value.Object) error) error { return nil }

type grouping struct{ group *Group }

func (g grouping) add(record *value.Object, _ func(*value.Object) error) error {
	return g.group.Add(record)
}

func (g grouping) end(next func(*value.Object) error) error { return hand(g.group.Rows(), next) }

func hand(rows []*value.Object, next func(*value.Object) error) error {
	for _, row := range rows {
		if err := next(row); err != nil {
			return err
		}
	}
	return nil
}

// sorting keeps all records until the last has come.
type sorting struct {
	sort Sort
	rows []*value.Object
	held int
}

// maxSorted is how many records a stage may keep.
const maxSorted = 10_000

func (s *sorting) add(record *value.Object, _ func(*value.Object) error) error {
	if s.held += Weigh(record); len(s.rows) == maxSorted || s.held > maxHeld {
		return invalid("$sort takes at most %d records, and %d bytes; put a $match, a $group or a $project in front of it.", maxSorted, maxHeld)
	}
	s.rows = append(s.rows, record)
	return nil
}

func (s *sorting) end(next func(*value.Object) error) error {
	slices.SortStableFunc(s.rows, s.sort.Compare)
	return hand(s.rows, next)
}

// cutting lets the first records through, or all but them.
type cutting struct {
	skip bool
	n    float64
	seen float64
}

func (c *cutting) add(record *value.Object, next func(*value.Object) error) error {
	c.seen++
	if (c.seen <= c.n) == c.skip {
		return nil
	}
	return next(record)
}

func (c *cutting) end(func(*value.Object) error) error { return nil }

type counting struct {
	output string
	n      float64
}

func (c *counting) add(*value.Object, func(*value.Object) error) error {
	c.n++
	return nil
}

func (c *counting) end(next func(*value.Object) error) error {
	row := value.NewObject(1)
	row.Set(c.output, c.n)
	return next(row)
}

// unwinding makes a record of each item of a list.
type unwinding struct{ path []string }

func (u unwinding) add(record *value.Object, next func(*value.Object) error) error {
	v := Lookup(record, u.path)
	list, ok := v.([]any)
	if !ok {
		if !value.Exists(v) {
			return nil
		}
		return next(record)
	}
	for _, item := range list {
		row := shallow(record)
		inner, err := put(row.Get(u.path[0]), u.path[1:], func(any) (any, error) { return item, nil })
		if err != nil {
			return err
		}
		row.Set(u.path[0], inner)
		if err := next(row); err != nil {
			return err
		}
	}
	return nil
}

func (u unwinding) end(func(*value.Object) error) error { return nil }

// projecting gives records other fields.
type projecting struct {
	keep    *Projection
	names   []string
	compute []func(*value.Object) any
	// only tells that nothing but what is computed remains.
	only bool
}

func compileProject(operand any, schema Schema) (*projecting, error) {
	o, ok := operand.(*value.Object)
	if !ok || o.Len() == 0 {
		return nil, invalid("$project takes an object of fields: {name: 1, total: $amount}.")
	}
	p := &projecting{}
	kept := value.NewObject(o.Len())
	for name, v := range o.All() {
		switch v.(type) {
		case float64, bool:
			kept.Set(name, v)
		default:
			compute, err := expression(v, schema, 0)
			if err != nil {
				return nil, err
			}
			p.names, p.compute = append(p.names, name), append(p.compute, compute)
		}
	}
	var err error
	p.keep, err = CompileProjection(kept, schema)
	if err != nil {
		return nil, err
	}
	p.only = len(p.names) > 0 && len(p.keep.with) == 0
	return p, nil
}

func (p *projecting) add(record *value.Object, next func(*value.Object) error) error {
	out := value.NewObject(len(p.names) + 1)
	if p.only {
		if id := record.Get("_id"); value.Exists(id) && !p.keep.without["_id"] {
			out.Set("_id", id)
		}
	} else {
		out = shallow(p.keep.Of(record))
	}
	for i, name := range p.names {
		out.Set(name, defined(p.compute[i](record)))
	}
	return next(out)
}

func (p *projecting) end(func(*value.Object) error) error { return nil }

// compileGroup reads {_id: $status, total: {$sum: $amount}}.
func compileGroup(operand any, schema Schema) (*Group, error) {
	o, ok := operand.(*value.Object)
	if !ok || !o.Has("_id") || o.Len() > maxSort+1 {
		return nil, invalid("$group takes an object with _id, what records have in common, and at most %d fields such as total: {$sum: $amount}.", maxSort)
	}
	key, err := expression(o.Get("_id"), schema, 0)
	if err != nil {
		return nil, err
	}
	g := &Group{key: key, found: map[string]*tallies{}}
	for name, v := range o.All() {
		if name == "_id" {
			continue
		}
		made, err := accumulator(name, v, schema)
		if err != nil {
			return nil, err
		}
		g.sums = append(g.sums, made)
	}
	g.show = func(key any, results []any) *value.Object {
		row := value.NewObject(len(results) + 1)
		row.Set("_id", key)
		for i, result := range results {
			row.Set(g.sums[i].output, result)
		}
		return row
	}
	return g, nil
}

func accumulator(name string, v any, schema Schema) (sum, error) {
	operator, operand, err := stageOf(v)
	if err != nil {
		return sum{}, invalid("%q in $group takes one operator, such as {$sum: $amount}.", shorten(name))
	}
	start, ok := map[string]func() tally{
		"$sum": newTotal, "$avg": newAverage, "$min": newLeast, "$max": newMost, "$count": newCount,
		"$first": newFirst, "$last": newLast, "$push": newPush, "$addToSet": newUnion,
	}[operator]
	if !ok {
		return sum{}, invalid("The operator %s is not available in $group. There are $sum, $avg, $min, $max, $count, $first, $last, $push and $addToSet.", shorten(operator))
	}
	if operator == "$count" {
		return sum{output: name, start: start, input: func(*value.Object) any { return true }}, nil
	}
	input, err := expression(operand, schema, 0)
	return sum{output: name, start: start, input: input}, err
}
