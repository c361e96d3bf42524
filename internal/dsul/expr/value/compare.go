package value

import "math"

// primitive is what a list or an object becomes where JavaScript needs a text or a number.
func primitive(v any) any {
	switch v.(type) {
	case []any, *Object:
		return String(v)
	default:
		return v
	}
}

// StrictEqual is ===. Lists and objects are equal only to themselves, but empty lists cannot be told apart.
func StrictEqual(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	default:
		if _, ok := b.([]any); ok {
			return false
		}
		return a == b
	}
}

// LooseEqual is ==.
func LooseEqual(a, b any) bool {
	if !Exists(a) || !Exists(b) {
		return !Exists(a) && !Exists(b)
	}
	if isReference(a) && isReference(b) {
		return StrictEqual(a, b)
	}
	a, b = primitive(a), primitive(b)
	textA, isTextA := a.(string)
	textB, isTextB := b.(string)
	if isTextA && isTextB {
		return textA == textB
	}
	return Number(a) == Number(b)
}

func isReference(v any) bool {
	switch v.(type) {
	case []any, *Object:
		return true
	default:
		return false
	}
}

// Less is <. It is false, and so is its opposite, where one side is not a number: ok is then false.
func Less(a, b any) (less, ok bool) {
	a, b = primitive(a), primitive(b)
	textA, isTextA := a.(string)
	textB, isTextB := b.(string)
	if isTextA && isTextB {
		return compareText(textA, textB) < 0, true
	}
	x, y := Number(a), Number(b)
	return x < y, !math.IsNaN(x) && !math.IsNaN(y)
}

// DeepEqual says whether two values hold the same, whatever the order of keys.
func DeepEqual(a, b any) bool { return equalAt(a, b, 0) }

func equalAt(a, b any, depth int) bool {
	if depth > deepest {
		return false
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b, depth)
	case *Object:
		b, ok := b.(*Object)
		return ok && equalObjects(a, b, depth)
	default:
		return StrictEqual(a, b)
	}
}

func equalLists(a, b []any, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalAt(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

func equalObjects(a, b *Object, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	for key, v := range a.All() {
		if !b.Has(key) || !equalAt(v, b.Get(key), depth+1) {
			return false
		}
	}
	return true
}
