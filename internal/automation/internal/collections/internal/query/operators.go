package query

import (
	"math"
	"regexp"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// isOperators tells that an object consists of operators. One that mixes them with fields is refused.
func isOperators(v any) (*value.Object, bool, error) {
	object, ok := v.(*value.Object)
	if !ok || object.Len() == 0 {
		return nil, false, nil
	}
	operators := 0
	for key := range object.All() {
		if strings.HasPrefix(key, "$") {
			operators++
		}
	}
	if operators != 0 && operators != object.Len() {
		return nil, false, invalid("Operators, which begin with $, and fields cannot stand in the same object.")
	}
	return object, operators > 0, nil
}

// tests compiles what is said of a field: a value it equals, or operators.
func (c *compiler) tests(name string, v any, depth int) ([]test, error) {
	operators, ok, err := isOperators(v)
	if err != nil {
		return nil, err
	}
	if !ok {
		v = c.operand(name, v)
		c.bound(Bound{Field: name, Points: []any{v}, Low: value.Undefined{}, High: value.Undefined{}})
		return []test{{one: equals(v)}}, nil
	}
	if depth > maxDepth {
		return nil, invalid("Conditions may stand in each other %d deep at most; simplify the query.", maxDepth)
	}
	var tests []test
	for key, operand := range operators.All() {
		if c.conditions++; c.conditions > maxConditions {
			return nil, invalid("A query has at most %d conditions; use $in for lists of values.", maxConditions)
		}
		if key == "$options" && operators.Has("$regex") {
			continue
		}
		made, err := c.operator(name, key, operand, operators, depth)
		if err != nil {
			return nil, err
		}
		tests = append(tests, made...)
	}
	return tests, nil
}

func (c *compiler) operator(name, key string, operand any, around *value.Object, depth int) ([]test, error) {
	switch key {
	case "$eq", "$ne":
		v := c.operand(name, operand)
		if key == "$eq" {
			c.bound(Bound{Field: name, Points: []any{v}, Low: value.Undefined{}, High: value.Undefined{}})
		}
		return []test{{one: equals(v), negated: key == "$ne"}}, nil
	case "$gt", "$gte", "$lt", "$lte":
		return c.compares(name, key, operand)
	case "$in", "$nin":
		return c.in(name, key, operand)
	case "$all":
		return c.contains(name, operand)
	case "$regex":
		one, err := matches(operand, around.Get("$options"))
		return []test{{one: one}}, err
	case "$exists":
		return exists(name, operand)
	case "$size":
		return size(operand)
	case "$not":
		return c.not(name, operand, depth)
	case "$elemMatch":
		return c.item(operand, depth)
	default:
		return nil, invalid("The operator %s is not known. There are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $all, $regex, $exists, $size, $not and $elemMatch.", shorten(key))
	}
}

// equals is true for the same value; nothing and null are the same.
func equals(operand any) func(any) bool {
	return func(v any) bool { return same(v, operand) }
}

func same(a, b any) bool {
	if !value.Exists(a) || !value.Exists(b) {
		return !value.Exists(a) && !value.Exists(b)
	}
	return value.DeepEqual(a, b)
}

// compares compiles what lies on one side of a value. Values of different kinds do not compare.
func (c *compiler) compares(name, key string, operand any) ([]test, error) {
	v := c.operand(name, operand)
	if n, ok := v.(float64); !Scalar(v) || ok && math.IsNaN(n) {
		return nil, invalid("%s compares with a number, a text or a boolean.", key)
	}
	bound := Bound{Field: name, Low: value.Undefined{}, High: value.Undefined{}}
	if key == "$gt" || key == "$gte" {
		bound.Low = v
	} else {
		bound.High = v
	}
	c.bound(bound)
	kind := rank(v)
	return []test{{one: func(found any) bool {
		if rank(found) != kind {
			return false
		}
		order := Compare(found, v)
		switch key {
		case "$gt":
			return order > 0
		case "$gte":
			return order >= 0
		case "$lt":
			return order < 0
		default:
			return order <= 0
		}
	}}}, nil
}

func (c *compiler) in(name, key string, operand any) ([]test, error) {
	values, err := c.values(name, key, operand)
	if err != nil {
		return nil, err
	}
	if key == "$in" {
		c.bound(Bound{Field: name, Points: values, Low: value.Undefined{}, High: value.Undefined{}})
	}
	set := newSet(values)
	return []test{{one: set.has, negated: key == "$nin"}}, nil
}

func (c *compiler) values(name, key string, operand any) ([]any, error) {
	list, ok := operand.([]any)
	if !ok || len(list) > maxList {
		return nil, invalid("%s takes a list of at most %d values.", key, maxList)
	}
	values := make([]any, len(list))
	for i, item := range list {
		if _, operators, err := isOperators(item); err != nil || operators {
			return nil, invalid("%s takes values, not conditions.", key)
		}
		values[i] = c.operand(name, item)
	}
	return values, nil
}

// contains compiles $all: each value must be there.
func (c *compiler) contains(name string, operand any) ([]test, error) {
	values, err := c.values(name, "$all", operand)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return []test{{one: func(any) bool { return false }}}, nil
	}
	tests := make([]test, 0, len(values))
	for _, v := range values {
		c.bound(Bound{Field: name, Points: []any{v}, Low: value.Undefined{}, High: value.Undefined{}})
		tests = append(tests, test{one: equals(v)})
	}
	return tests, nil
}

// matches compiles a regular expression, which takes time in proportion to the text.
func matches(operand, options any) (func(any) bool, error) {
	const longest = 1 << 10
	source, ok := operand.(string)
	if !ok || len(source) > longest {
		return nil, invalid("$regex takes a text of at most %d bytes.", longest)
	}
	flags := ""
	if value.Exists(options) {
		if flags, ok = options.(string); !ok || strings.Trim(flags, "ims") != "" {
			return nil, invalid("$options takes the letters i, m and s.")
		}
	}
	if flags != "" {
		source = "(?" + flags + ")" + source
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, invalid("$regex is not a regular expression that can be used: look-around and references back are not available.")
	}
	return func(v any) bool {
		text, ok := v.(string)
		return ok && re.MatchString(text)
	}, nil
}

// exists is about what is there. A field of the record that is null counts as not there, because that is how a missing one is shown.
func exists(name string, operand any) ([]test, error) {
	wanted, ok := operand.(bool)
	if !ok {
		return nil, invalid("$exists takes true or false.")
	}
	nested := strings.Contains(name, ".")
	return []test{{whole: true, negated: !wanted, one: func(v any) bool {
		return value.Exists(v) || nested && v == nil
	}}}, nil
}

func size(operand any) ([]test, error) {
	n, ok := operand.(float64)
	if !ok || n < 0 || n != math.Trunc(n) {
		return nil, invalid("$size takes a whole number.")
	}
	return []test{{whole: true, one: func(v any) bool {
		list, ok := v.([]any)
		return ok && float64(len(list)) == n
	}}}, nil
}

// not is true when what stands in it is not, all of it together.
func (c *compiler) not(name string, operand any, depth int) ([]test, error) {
	if _, operators, err := isOperators(operand); err != nil || !operators {
		return nil, invalid("$not takes operators, such as {$not: {$gt: 5}}; for a value use $ne.")
	}
	c.free++
	inner, err := c.tests(name, operand, depth+1)
	c.free--
	if err != nil {
		return nil, err
	}
	return []test{{whole: true, negated: true, one: func(v any) bool {
		for _, t := range inner {
			if t.value(v) == t.negated {
				return false
			}
		}
		return true
	}}}, nil
}
