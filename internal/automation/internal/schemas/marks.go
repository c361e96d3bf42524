package schemas

import (
	"slices"

	"atelier/internal/dsul/expr/value"
)

// The marks that a typed argument can have.
const (
	secretMark = "secret"
	redactMark = "redact"
)

// marks are the paths of what is marked.
type marks map[string][][]string

// marksOf finds what is marked in a typed argument, at any depth through properties. A mark below an alternative, or below the
// items of a list, has no path.
func marksOf(argument *value.Object) marks {
	found := marks{}
	if argument != nil {
		found.collect(argument, nil)
	}
	return found
}

func (m marks) collect(argument *value.Object, path []string) {
	for _, mark := range []string{secretMark, redactMark} {
		if argument.Get(mark) == true && len(path) > 0 {
			m[mark] = append(m[mark], path)
		}
	}
	properties, ok := argument.Get("properties").(*value.Object)
	if !ok {
		return
	}
	for name, of := range properties.All() {
		if below, ok := of.(*value.Object); ok {
			m.collect(below, append(slices.Clone(path), name))
		}
	}
}

func (m marks) any() bool { return len(m) > 0 }

// each gives what stands at the paths of a mark, until fn is false; it tells whether it was not.
func (m marks) each(mark string, payload *value.Object, fn func(any) bool) bool {
	for _, path := range m[mark] {
		var at any = payload
		for _, key := range path {
			of, ok := at.(*value.Object)
			if !ok {
				at = value.Undefined{}
				break
			}
			at = of.Get(key)
		}
		if !fn(at) {
			return false
		}
	}
	return true
}

// without is a value without what is to be left out; the value itself stays as it is.
func (m marks) without(v any) any {
	for _, path := range m[redactMark] {
		v = without(v, path)
	}
	return v
}

func without(v any, path []string) any {
	of, ok := v.(*value.Object)
	if !ok || !of.Has(path[0]) {
		return v
	}
	made := value.NewObject(of.Len())
	for key, item := range of.All() {
		switch {
		case key != path[0]:
			made.Set(key, item)
		case len(path) > 1:
			made.Set(key, without(item, path[1:]))
		}
	}
	return made
}
