package query

import (
	"math"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// Update is a compiled change of records.
type Update struct{ changes []change }

type change struct {
	path []string
	// to gives the new value of what the path leads to.
	to func(old any) (any, error)
}

// CompileUpdate reads a change: operators, or fields that are set.
func CompileUpdate(v any, schema Schema) (*Update, error) {
	object, ok := v.(*value.Object)
	if !ok || object.Len() == 0 {
		return nil, invalid("data is an object of the fields to set, or of operators: $set, $push, $inc, $addToSet, $pull.")
	}
	_, operators, err := isOperators(object)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	if !operators {
		return u, u.add("$set", object, schema)
	}
	for operator, fields := range object.All() {
		of, ok := fields.(*value.Object)
		if !ok {
			return nil, invalid("%s takes an object of fields and values.", shorten(operator))
		}
		if err := u.add(operator, of, schema); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func (u *Update) add(operator string, fields *value.Object, schema Schema) error {
	for name, operand := range fields.All() {
		if len(u.changes) == maxConditions {
			return invalid("A change sets at most %d fields.", maxConditions)
		}
		path, err := Path(name, schema)
		if err != nil {
			return err
		}
		if len(path) > maxDepth {
			return invalid("%q lies deeper in a field than %d.", shorten(name), maxDepth)
		}
		to, err := changing(operator, name, operand)
		if err != nil {
			return err
		}
		u.changes = append(u.changes, change{path: path, to: to})
	}
	return nil
}

func changing(operator, name string, operand any) (func(any) (any, error), error) {
	switch operator {
	case "$set":
		return func(any) (any, error) { return operand, nil }, nil
	case "$inc":
		return increase(name, operand)
	case "$push", "$addToSet":
		return add(operator, name, operand)
	case "$pull":
		return pull(name, operand)
	default:
		return nil, invalid("The operator %s is not known. Records are changed by $set, $push, $inc, $addToSet and $pull.", shorten(operator))
	}
}

func increase(name string, operand any) (func(any) (any, error), error) {
	by, ok := operand.(float64)
	if !ok || math.IsNaN(by) || math.IsInf(by, 0) {
		return nil, invalid("$inc adds a number to %q.", shorten(name))
	}
	return func(old any) (any, error) {
		if !value.Exists(old) {
			return by, nil
		}
		n, ok := old.(float64)
		if !ok {
			return nil, invalid("$inc adds to numbers; %q is none in one of the records.", shorten(name))
		}
		return n + by, nil
	}, nil
}

// each gives the values of {$each: [...]}, or the one value.
func each(operator string, operand any) ([]any, error) {
	object, ok := operand.(*value.Object)
	if !ok || !object.Has("$each") {
		return []any{operand}, nil
	}
	list, ok := object.Get("$each").([]any)
	if !ok || object.Len() != 1 {
		return nil, invalid("%s takes a value, or {$each: [...]} with a list of them.", operator)
	}
	return list, nil
}

func add(operator, name string, operand any) (func(any) (any, error), error) {
	values, err := each(operator, operand)
	if err != nil {
		return nil, err
	}
	return func(old any) (any, error) {
		list, err := asList(operator, name, old)
		if err != nil {
			return nil, err
		}
		out := append(make([]any, 0, len(list)+len(values)), list...)
		for _, v := range values {
			if operator == "$push" || !contains(out, v) {
				out = append(out, v)
			}
		}
		return out, nil
	}, nil
}

func contains(list []any, v any) bool {
	for _, item := range list {
		if same(item, v) {
			return true
		}
	}
	return false
}

func asList(operator, name string, old any) ([]any, error) {
	list, ok := old.([]any)
	if !ok && value.Exists(old) {
		return nil, invalid("%s changes lists; %q is none in one of the records.", operator, shorten(name))
	}
	return list, nil
}

// pull takes items out of a list: those that equal a value, or that fulfil conditions.
func pull(name string, operand any) (func(any) (any, error), error) {
	out := equals(operand)
	if object, ok := operand.(*value.Object); ok {
		_, operators, err := isOperators(object)
		if err != nil && !joined(object) {
			return nil, err
		}
		c := &compiler{free: 1}
		if out, err = c.itemTest(object, operators && !joined(object), 0); err != nil {
			return nil, err
		}
	}
	return func(old any) (any, error) {
		if !value.Exists(old) {
			return old, nil
		}
		list, err := asList("$pull", name, old)
		if err != nil {
			return nil, err
		}
		kept := make([]any, 0, len(list))
		for _, item := range list {
			if !out(item) {
				kept = append(kept, item)
			}
		}
		return kept, nil
	}, nil
}

// Fields are the fields that the change is about.
func (u *Update) Fields() []string {
	names := make([]string, len(u.changes))
	for i, c := range u.changes {
		names[i] = c.path[0]
	}
	return names
}

// Apply gives the record as it is after the change. The record itself stays as it is.
func (u *Update) Apply(record *value.Object) (*value.Object, error) {
	out := shallow(record)
	for _, c := range u.changes {
		changed, err := put(out.Get(c.path[0]), c.path[1:], c.to)
		if err != nil {
			return nil, err
		}
		out.Set(c.path[0], changed)
	}
	return out, nil
}

func shallow(o *value.Object) *value.Object {
	out := value.NewObject(o.Len())
	for name, v := range o.All() {
		out.Set(name, v)
	}
	return out
}

// put gives a value with what the path leads to replaced. Objects on the way are made where there is nothing.
func put(old any, path []string, to func(any) (any, error)) (any, error) {
	if len(path) == 0 {
		return to(old)
	}
	switch old := old.(type) {
	case *value.Object:
		inner, err := put(old.Get(path[0]), path[1:], to)
		if err != nil {
			return nil, err
		}
		out := shallow(old)
		out.Set(path[0], inner)
		return out, nil
	case []any:
		return putItem(old, path, to)
	case nil, value.Undefined:
		inner, err := put(value.Undefined{}, path[1:], to)
		if err != nil {
			return nil, err
		}
		out := value.NewObject(1)
		out.Set(path[0], inner)
		return out, nil
	default:
		return nil, invalid("%q cannot be set: one of the records has no object there.", shorten(strings.Join(path, ".")))
	}
}

func putItem(list []any, path []string, to func(any) (any, error)) (any, error) {
	for i := range list {
		if value.FormatNumber(float64(i)) != path[0] {
			continue
		}
		inner, err := put(list[i], path[1:], to)
		if err != nil {
			return nil, err
		}
		out := append([]any(nil), list...)
		out[i] = inner
		return out, nil
	}
	return nil, invalid("%q cannot be set: one of the records has a list there without such an item.", shorten(strings.Join(path, ".")))
}
