package schemas

import (
	"strings"

	"atelier/internal/dsul/expr/value"
)

// condition asks for a value at a path of the payload.
type condition struct {
	path []string
	want string
	// fold tells that case does not matter.
	fold bool
}

// conditionsOf reads the conditions of a branch. Never tells that one of them cannot be fulfilled: only single values can.
func conditionsOf(said any) (all []condition, never bool) {
	of, ok := said.(*value.Object)
	if !ok {
		return nil, false
	}
	for path, want := range of.All() {
		text, single := scalarText(want)
		if !single {
			return nil, true
		}
		all = append(all, condition{path: strings.Split(path, "."), want: text, fold: path == "method"})
	}
	return all, false
}

// scalarText is a single value as a text; false for anything else.
func scalarText(v any) (string, bool) {
	switch v.(type) {
	case string, bool, float64:
		return value.String(v), true
	default:
		return "", false
	}
}

func (c condition) fulfilled(got string) bool {
	return got == c.want || c.fold && strings.EqualFold(got, c.want)
}

// matches tells whether a payload fulfils all conditions.
func (b *branch) matches(payload *value.Object) bool {
	if b.never {
		return false
	}
	for _, c := range b.conditions {
		var at any = payload
		for _, key := range c.path {
			at = value.Get(at, key)
		}
		got, single := scalarText(at)
		if !single || !c.fulfilled(got) {
			return false
		}
	}
	return true
}
