package functions

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"atelier/internal/dsul/expr/internal/pattern"
	"atelier/internal/dsul/expr/value"
)

// jsonmatch(object, conditions) says whether an object fulfils conditions as MongoDB writes them. What is no object
// fulfils none.
func runJSONMatch(c *Call) (any, error) {
	object, ok := c.arg(0).(*value.Object)
	if !ok {
		return false, nil
	}
	conditions, ok := c.arg(1).(*value.Object)
	if !ok {
		return nil, c.wrong(1, "an object of conditions")
	}
	return matcher{c.Budget}.object(object, conditions, 0)
}

type matcher struct{ budget *Budget }

// deepestCondition bounds conditions in conditions.
const deepestCondition = 50

func (m matcher) enter(depth int) error {
	if depth > deepestCondition {
		return fmt.Errorf("conditions may be nested %d deep at most", deepestCondition)
	}
	return m.budget.Spend(itemCost)
}

// object says whether a value fulfils all conditions of an object: on its fields, or $and, $or and $nor.
func (m matcher) object(v any, conditions *value.Object, depth int) (bool, error) {
	if err := m.enter(depth); err != nil {
		return false, err
	}
	for key, condition := range conditions.All() {
		var ok bool
		var err error
		if strings.HasPrefix(key, "$") {
			ok, err = m.logic(v, key, condition, depth)
		} else {
			ok, err = m.field(lookup(v, key), condition, depth)
		}
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (m matcher) logic(v any, operator string, condition any, depth int) (bool, error) {
	list, ok := condition.([]any)
	if !ok || operator != "$and" && operator != "$or" && operator != "$nor" {
		return false, fmt.Errorf("%s is not known here: use $and, $or or $nor with a list of conditions", operator)
	}
	for _, item := range list {
		conditions, ok := item.(*value.Object)
		if !ok {
			return false, fmt.Errorf("%s needs a list of conditions", operator)
		}
		fulfilled, err := m.object(v, conditions, depth+1)
		switch {
		case err != nil:
			return false, err
		case operator == "$and" && !fulfilled:
			return false, nil
		case operator != "$and" && fulfilled:
			return operator == "$or", nil
		}
	}
	return operator != "$or", nil
}

// lookup follows a path with dots. Through a list it goes into every item, unless the path names one.
func lookup(v any, path string) any {
	key, rest, more := strings.Cut(path, ".")
	if list, ok := v.([]any); ok {
		item := value.Get(list, key)
		if key == "length" || !value.Exists(item) {
			return lookupAll(list, path)
		}
		v = item
	} else {
		v = value.Get(v, key)
	}
	if !more || !value.Exists(v) {
		return v
	}
	return lookup(v, rest)
}

func lookupAll(list []any, path string) any {
	found := []any{}
	for _, item := range list {
		if object, ok := item.(*value.Object); ok {
			if v := lookup(object, path); (v != value.Undefined{}) {
				found = append(found, v)
			}
		}
	}
	if len(found) == 0 {
		return value.Undefined{}
	}
	return found
}

// field says whether the value of a field fulfils a condition: operators, or a value to be equal to.
func (m matcher) field(v, condition any, depth int) (bool, error) {
	if err := m.enter(depth); err != nil {
		return false, err
	}
	operators, ok := condition.(*value.Object)
	if !ok || !hasOperators(operators) {
		return m.equal(v, condition)
	}
	for operator, operand := range operators.All() {
		if operator == "$options" {
			continue // with $regex
		}
		ok, err := m.operator(v, operator, operand, operators, depth)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func hasOperators(object *value.Object) bool {
	for key := range object.All() {
		if strings.HasPrefix(key, "$") {
			return true
		}
	}
	return false
}

func (m matcher) operator(v any, operator string, operand any, all *value.Object, depth int) (bool, error) {
	switch operator {
	case "$eq":
		return m.equal(v, operand)
	case "$ne":
		ok, err := m.equal(v, operand)
		return !ok, err
	case "$lt", "$lte", "$gt", "$gte":
		return m.any(v, func(item any) (bool, error) { return ordered(item, operator, operand), nil })
	case "$in":
		return m.in(v, operand)
	case "$nin":
		ok, err := m.in(v, operand)
		return !ok, err
	case "$exists":
		return (v != value.Undefined{}) == value.Truthy(operand), nil
	case "$regex":
		return m.regex(v, operand, all.Get("$options"))
	case "$not":
		ok, err := m.field(v, operand, depth+1)
		return !ok, err
	case "$mod":
		return m.mod(v, operand)
	default:
		return m.listOperator(v, operator, operand, depth)
	}
}

func (m matcher) listOperator(v any, operator string, operand any, depth int) (bool, error) {
	list, isList := v.([]any)
	switch operator {
	case "$size":
		return isList && value.StrictEqual(float64(len(list)), operand), nil
	case "$all":
		wanted, ok := operand.([]any)
		if !ok {
			return false, errors.New("$all needs a list")
		}
		for _, item := range wanted {
			if ok, err := m.equal(v, item); err != nil || !ok {
				return false, err
			}
		}
		return isList, nil
	case "$elemMatch":
		conditions, ok := operand.(*value.Object)
		if !ok {
			return false, errors.New("$elemMatch needs conditions")
		}
		return m.element(list, conditions, depth)
	default:
		return false, fmt.Errorf("%s is not an operator of jsonmatch()", operator)
	}
}

func (m matcher) element(list []any, conditions *value.Object, depth int) (bool, error) {
	for _, item := range list {
		check := m.object
		if hasOperators(conditions) && !conditions.Has("$and") && !conditions.Has("$or") && !conditions.Has("$nor") {
			check = func(v any, conditions *value.Object, depth int) (bool, error) { return m.field(v, conditions, depth) }
		}
		if ok, err := check(item, conditions, depth+1); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// any tries the items of a list one by one, and anything else as it is.
func (m matcher) any(v any, check func(any) (bool, error)) (bool, error) {
	list, ok := v.([]any)
	if !ok {
		return check(v)
	}
	if err := m.budget.Spend(len(list)); err != nil {
		return false, err
	}
	for _, item := range list {
		if ok, err := check(item); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// equal says whether a value, or an item of it, is what is wanted. Null is equal to what is missing.
func (m matcher) equal(v, wanted any) (bool, error) {
	if !value.Exists(v) && !value.Exists(wanted) {
		return true, nil
	}
	if _, ok := wanted.([]any); ok && value.DeepEqual(v, wanted) {
		return true, nil
	}
	return m.any(v, func(item any) (bool, error) { return value.DeepEqual(item, wanted), nil })
}

func (m matcher) in(v, operand any) (bool, error) {
	wanted, ok := operand.([]any)
	if !ok {
		return false, errors.New("$in and $nin need a list")
	}
	return m.any(wanted, func(item any) (bool, error) { return m.equal(v, item) })
}

// ordered compares numbers with numbers and texts with texts, and nothing else.
func ordered(v any, operator string, operand any) bool {
	_, textA := v.(string)
	_, textB := operand.(string)
	_, numberA := v.(float64)
	_, numberB := operand.(float64)
	if alike := textA && textB || numberA && numberB; !alike {
		return false
	}
	less, ok := value.Less(v, operand)
	more, _ := value.Less(operand, v)
	switch operator {
	case "$lt":
		return less
	case "$lte":
		return ok && !more
	case "$gt":
		return more
	default:
		return ok && !less
	}
}

func (m matcher) regex(v, operand, options any) (bool, error) {
	source, ok := operand.(string)
	if !ok {
		return false, errors.New("$regex needs a text")
	}
	flags, _ := options.(string)
	compiled, err := pattern.Compile(source, flags)
	if err != nil {
		return false, err
	}
	if err := m.budget.Spend(compiled.Weight() * itemCost); err != nil {
		return false, err
	}
	return m.any(v, func(item any) (bool, error) {
		text, ok := item.(string)
		if !ok {
			return false, nil
		}
		if err := m.budget.Search(compiled, text); err != nil {
			return false, err
		}
		return compiled.Match(text)
	})
}

func (m matcher) mod(v, operand any) (bool, error) {
	numbers, ok := operand.([]any)
	if !ok || len(numbers) != 2 {
		return false, errors.New("$mod needs a list of two numbers")
	}
	return m.any(v, func(item any) (bool, error) {
		n, ok := item.(float64)
		return ok && math.Mod(n, value.Number(numbers[0])) == value.Number(numbers[1]), nil
	})
}
