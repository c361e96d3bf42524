// Package query is what can be asked of records and done to them: conditions, order, changes and sums. It has no storage: a record is
// an object, and what it means to match one is decided here and nowhere else, so that every database gives the same answer.
package query

import (
	"fmt"
	"slices"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// Schema tells which fields records have. Without one every field is allowed.
type Schema interface {
	// Check fails when records have no such field.
	Check(field string) error
	// Operand gives a value in the form in which the field holds it, as far as it can have that.
	Operand(field string, v any) any
}

const (
	// maxDepth is how deep conditions may stand in each other.
	maxDepth = 20
	// maxConditions is how many conditions a query may have.
	maxConditions = 1000
	// maxList is how many values $in, $nin and $all may have.
	maxList = 10_000
)

// Query is a compiled query.
type Query struct {
	root   condition
	bounds []Bound
}

// condition is a part of a query.
type condition interface {
	match(record *value.Object) bool
	// always tells that every record matches.
	always() bool
}

// Compile reads a query: an object, or nothing for all records.
func Compile(v any, schema Schema) (*Query, error) {
	if !value.Exists(v) {
		return &Query{root: all{}}, nil
	}
	object, ok := v.(*value.Object)
	if !ok {
		return nil, invalid("A query is an object of fields and conditions, such as {status: open}.")
	}
	c := &compiler{schema: schema}
	root, err := c.object(object, 0)
	if err != nil {
		return nil, err
	}
	return &Query{root: root, bounds: c.bounds}, nil
}

// Match tells whether a record is one of those that are asked for.
func (q *Query) Match(record *value.Object) bool { return q.root.match(record) }

// Everything tells that no record is left out.
func (q *Query) Everything() bool { return q.root.always() }

// Bounds are what every record that matches fulfils, as far as an index can tell.
func (q *Query) Bounds() []Bound { return q.bounds }

// Bound narrows a field down. Points are the values it may have; without points it lies on one side of a value of the same kind.
type Bound struct {
	Field     string
	Points    []any
	Low, High any // undefined where there is no limit
}

func invalid(format string, args ...any) error {
	return machine.Fail(machine.InvalidArguments, fmt.Sprintf(format, args...))
}

type compiler struct {
	schema     Schema
	conditions int
	bounds     []Bound
	// free counts the conditions around that need not hold: what stands in them bounds nothing.
	free int
}

// object compiles fields and what joins queries; all of it must hold.
func (c *compiler) object(o *value.Object, depth int) (condition, error) {
	if depth > maxDepth {
		return nil, invalid("Conditions may stand in each other %d deep at most; simplify the query.", maxDepth)
	}
	var parts every
	for key, v := range o.All() {
		part, err := c.entry(key, v, depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (c *compiler) entry(key string, v any, depth int) (condition, error) {
	if c.conditions++; c.conditions > maxConditions {
		return nil, invalid("A query has at most %d conditions; use $in for lists of values.", maxConditions)
	}
	if !strings.HasPrefix(key, "$") {
		return c.field(key, v, depth)
	}
	switch key {
	case "$and":
		parts, err := c.list(key, v, depth)
		return every(parts), err
	case "$or", "$nor":
		c.free++
		parts, err := c.list(key, v, depth)
		c.free--
		if key == "$nor" {
			return not{either(parts)}, err
		}
		return either(parts), err
	default:
		return nil, invalid("The query operator %s is not available here. Queries are joined by $and, $or and $nor; all else stands below a field.", shorten(key))
	}
}

func (c *compiler) list(key string, v any, depth int) ([]condition, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, invalid("%s takes a list of queries with at least one in it.", key)
	}
	parts := make([]condition, 0, len(list))
	for _, item := range list {
		object, ok := item.(*value.Object)
		if !ok {
			return nil, invalid("%s takes a list of queries; one of them is no object.", key)
		}
		part, err := c.object(object, depth+1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// field compiles what is said of one field.
func (c *compiler) field(name string, v any, depth int) (condition, error) {
	path, err := c.path(name)
	if err != nil {
		return nil, err
	}
	tests, err := c.tests(name, v, depth)
	if err != nil {
		return nil, err
	}
	return at{path: path, tests: tests}, nil
}

// path splits the name of a field at its dots and checks that there is such a field.
func (c *compiler) path(name string) ([]string, error) { return Path(name, c.schema) }

// Path splits the name of a field at its dots and checks that there is such a field.
func Path(name string, schema Schema) ([]string, error) {
	path := strings.Split(name, ".")
	if slices.Contains(path, "") {
		return nil, invalid("%q is not the name of a field.", shorten(name))
	}
	if schema != nil {
		if err := schema.Check(path[0]); err != nil {
			return nil, err
		}
	}
	return path, nil
}

// operand gives a value as the field holds it.
func (c *compiler) operand(name string, v any) any {
	switch given := v.(type) {
	case value.Undefined:
		v = nil
	case string:
		v = strings.ToValidUTF8(given, "\ufffd") // records hold no other texts
	}
	if c.schema == nil || strings.Contains(name, ".") {
		return v
	}
	return c.schema.Operand(name, v)
}

// bound notes what an index can use. It is known only of conditions that must hold, and of values that are no lists or objects.
func (c *compiler) bound(b Bound) {
	if c.free > 0 || strings.Contains(b.Field, ".") {
		return
	}
	for _, point := range b.Points {
		if !Scalar(point) {
			return
		}
	}
	c.bounds = append(c.bounds, b)
}

// Scalar tells that a value is neither a list nor an object.
func Scalar(v any) bool {
	switch v.(type) {
	case nil, bool, float64, string:
		return true
	default:
		return false
	}
}

// shorten makes a text of the user fit to be shown.
func shorten(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
