package access

import (
	"cmp"
	"slices"
	"strings"
)

// maxSlots is how many fields a decision remembers.
const maxSlots = 32

// memo is an object whose fields are looked up once in a decision, however many rules ask for them.
type memo struct {
	object Object
	known  uint64
	values [maxSlots]any
}

func (m *memo) value(f *fieldTest) any {
	if f.slot == 0 {
		v, _ := m.object.Field(f.path)
		return v
	}
	i := f.slot - 1
	if m.known&(1<<i) == 0 {
		m.values[i], _ = m.object.Field(f.path)
		m.known |= 1 << i
	}
	return m.values[i]
}

// match tells whether everything holds for the object, or gives the first test that does not.
func (c conditions) match(m *memo) (bool, *fieldTest) {
	for i := range c {
		if !matchAll(c[i].tests, m.value(&c[i])) {
			return false, &c[i]
		}
	}
	return true, nil
}

// holdFor is match for an object that is looked at once.
func (c conditions) holdFor(object Object) bool {
	for i := range c {
		v, _ := object.Field(c[i].path)
		if !matchAll(c[i].tests, v) {
			return false
		}
	}
	return true
}

func matchAll(tests []test, v any) bool {
	for i := range tests {
		if !tests[i].match(v) {
			return false
		}
	}
	return true
}

// match tells whether the operator holds for a value; no value is nil. A list holds when one of its elements does.
func (t *test) match(v any) bool {
	switch t.op {
	case opNe, opNin:
		return !t.any(v)
	case opAll:
		return t.all(v)
	case opSize:
		n, ok := length(v)
		return ok && n == t.size
	case opExists:
		return (v != nil) == t.exists
	case opElemMatch:
		return t.element(v)
	default:
		return t.any(v)
	}
}

// any applies the operator to the value, or to the elements of a list.
func (t *test) any(v any) bool {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			if s, ok := scalarOf(e); ok && t.one(s) {
				return true
			}
		}
		return false
	case []string:
		for _, e := range x {
			if t.one(scalar{kind: isText, text: e}) {
				return true
			}
		}
		return false
	default:
		s, ok := scalarOf(v)
		return ok && t.one(s)
	}
}

// one applies the operator, or the one that it is the opposite of, to a single value.
func (t *test) one(s scalar) bool {
	switch t.op {
	case opEq, opNe:
		return s == t.value
	case opIn, opNin:
		return slices.Contains(t.list, s)
	case opRegex:
		return s.kind == isText && t.regex.MatchString(s.text)
	case opLt, opLte, opGt, opGte:
		return s.kind == t.value.kind && t.ordered(s)
	default:
		return false
	}
}

func (t *test) ordered(s scalar) bool {
	order := cmp.Compare(s.number, t.value.number)
	if s.kind == isText {
		order = strings.Compare(s.text, t.value.text)
	}
	switch t.op {
	case opLt:
		return order < 0
	case opLte:
		return order <= 0
	case opGt:
		return order > 0
	default:
		return order >= 0
	}
}

// all tells whether every wanted value is there; nothing wanted is never fulfilled.
func (t *test) all(v any) bool {
	for _, wanted := range t.list {
		single := test{op: opEq, value: wanted}
		if !single.any(v) {
			return false
		}
	}
	return len(t.list) > 0
}

func length(v any) (int, bool) {
	switch x := v.(type) {
	case []any:
		return len(x), true
	case []string:
		return len(x), true
	default:
		return 0, false
	}
}

// element tells whether one element of a list fulfils everything that is asked of it.
func (t *test) element(v any) bool {
	items, ok := anyList(v)
	return ok && slices.ContainsFunc(items, func(e any) bool {
		if t.fields == nil {
			return matchAll(t.self, e)
		}
		m, ok := e.(map[string]any)
		if !ok {
			return false
		}
		return t.fields.holdFor(nested(m))
	})
}
