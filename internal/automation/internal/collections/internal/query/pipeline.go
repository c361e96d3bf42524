package query

import (
	"math"
	"slices"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// Pipeline is an aggregation in stages, each of which works on what the one before it gives.
type Pipeline struct {
	// First is the query of the $match stages that come first, which storage can answer.
	First  *Query
	stages []stage
}

// stage gets records one after the other and hands on what comes of them.
type stage interface {
	add(record *value.Object, next func(*value.Object) error) error
	// end is called when there are no more records.
	end(next func(*value.Object) error) error
}

const maxStages = 20

// IsPipeline tells that steps are stages such as {$group: ...}.
func IsPipeline(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return false
	}
	o, ok := list[0].(*value.Object)
	if !ok {
		return false
	}
	for key := range o.All() {
		return strings.HasPrefix(key, "$")
	}
	return false
}

// CompilePipeline reads stages, in front of which a query stands.
func CompilePipeline(query, v any, schema Schema) (*Pipeline, error) {
	list, ok := v.([]any)
	if !ok || len(list) > maxStages {
		return nil, invalid("A pipeline is a list of at most %d stages such as {$group: {_id: $status, count: {$sum: 1}}}.", maxStages)
	}
	first := value.NewObject(1)
	queries := []any{}
	if o, ok := query.(*value.Object); ok {
		queries = append(queries, o)
	} else if value.Exists(query) {
		return nil, invalid("A query is an object of fields and conditions, such as {status: open}.")
	}
	p := &Pipeline{}
	stored := schema
	for _, item := range list {
		name, operand, err := stageOf(item)
		if err != nil {
			return nil, err
		}
		if name == "$match" && len(p.stages) == 0 {
			queries = append(queries, operand)
			continue
		}
		made, reshapes, err := compileStage(name, operand, schema)
		if err != nil {
			return nil, err
		}
		if reshapes {
			schema = nil // the records have other fields from here on
		}
		p.stages = append(p.stages, made)
	}
	if len(queries) > 0 {
		first.Set("$and", queries)
	}
	var err error
	p.First, err = Compile(first, stored)
	return p, err
}

func stageOf(v any) (name string, operand any, err error) {
	o, ok := v.(*value.Object)
	if !ok || o.Len() != 1 {
		return "", nil, invalid("A stage is an object with one key, such as {$match: {...}}.")
	}
	for name, operand = range o.All() {
		break
	}
	return name, operand, nil
}

func compileStage(name string, operand any, schema Schema) (made stage, reshapes bool, err error) {
	switch name {
	case "$match":
		q, err := Compile(operand, schema)
		return &matching{q}, false, err
	case "$group":
		g, err := compileGroup(operand, schema)
		return grouping{g}, true, err
	case "$sort":
		s, err := CompileSort(operand, schema)
		return &sorting{sort: s}, false, err
	case "$limit", "$skip":
		n, ok := operand.(float64)
		if !ok || n < 0 || n != math.Trunc(n) {
			return nil, false, invalid("%s takes a whole number.", name)
		}
		return &cutting{skip: name == "$skip", n: n}, false, nil
	case "$count":
		output, ok := operand.(string)
		if !ok || output == "" || strings.ContainsAny(output, ".$") {
			return nil, false, invalid("$count takes the name of the field that the number gets.")
		}
		return &counting{output: output}, true, nil
	case "$unwind":
		path, err := unwindPath(operand, schema)
		return unwinding{path}, false, err
	case "$project":
		p, err := compileProject(operand, schema)
		return p, true, err
	default:
		return nil, false, invalid("The stage %s is not available. There are $match, $group, $sort, $limit, $skip, $count, $unwind and $project.", shorten(name))
	}
}

// Start gives what takes the records, and what ends the pipeline. Out gets the rows.
func (p *Pipeline) Start(out func(*value.Object) error) (add func(*value.Object) error, end func() error) {
	ends := make([]func() error, 0, len(p.stages))
	next := out
	for _, s := range slices.Backward(p.stages) {
		after := next
		ends = append(ends, func() error { return s.end(after) })
		next = func(record *value.Object) error { return s.add(record, after) }
	}
	return next, func() error {
		for _, end := range slices.Backward(ends) {
			if err := end(); err != nil {
				return err
			}
		}
		return nil
	}
}

func unwindPath(operand any, schema Schema) ([]string, error) {
	if o, ok := operand.(*value.Object); ok {
		operand = o.Get("path")
	}
	name, ok := operand.(string)
	if !ok || !strings.HasPrefix(name, "$") {
		return nil, invalid("$unwind takes a field with a $ in front: $tags.")
	}
	return Path(name[1:], schema)
}

// expression reads a value of $group and $project: a field with a $ in front, an object of them, or a value.
func expression(v any, schema Schema, depth int) (func(*value.Object) any, error) {
	if depth > maxDepth {
		return nil, invalid("Objects may stand in each other %d deep at most.", maxDepth)
	}
	switch v := v.(type) {
	case string:
		if !strings.HasPrefix(v, "$") {
			return func(*value.Object) any { return v }, nil
		}
		path, err := Path(strings.TrimPrefix(v, "$"), schema)
		if strings.HasPrefix(v, "$$") {
			err = invalid("Variables such as %s are not available.", shorten(v))
		}
		return func(record *value.Object) any { return Lookup(record, path) }, err
	case *value.Object:
		if _, operators, err := isOperators(v); err != nil || operators {
			return nil, invalid("Expressions are fields with a $ in front, objects of them, or values; operators are not available here.")
		}
		return objectExpression(v, schema, depth)
	default:
		return func(*value.Object) any { return v }, nil
	}
}

func objectExpression(o *value.Object, schema Schema, depth int) (func(*value.Object) any, error) {
	names := make([]string, 0, o.Len())
	parts := make([]func(*value.Object) any, 0, o.Len())
	for name, v := range o.All() {
		part, err := expression(v, schema, depth+1)
		if err != nil {
			return nil, err
		}
		names, parts = append(names, name), append(parts, part)
	}
	return func(record *value.Object) any {
		out := value.NewObject(len(names))
		for i, name := range names {
			out.Set(name, defined(parts[i](record)))
		}
		return out
	}, nil
}
