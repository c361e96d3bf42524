package assembly

import "atelier/internal/dsul/expr/value"

// Rewrite is what has to be written so that a configuration becomes another one. Own is what is written now, before is what
// that is with everything put in, and after is what it shall be. What stays the same stays as it is written: the variables
// in it do not become what they stand for.
func Rewrite(own, before, after any) any {
	if value.DeepEqual(before, after) {
		return own
	}
	switch after := after.(type) {
	case *value.Object:
		return rewriteObject(own, before, after)
	case []any:
		return rewriteList(own, before, after)
	default:
		return after
	}
}

func rewriteObject(own, before any, after *value.Object) any {
	written, wasWritten := own.(*value.Object)
	was, wasObject := before.(*value.Object)
	if !wasWritten || !wasObject {
		return after
	}
	made := value.NewObject(after.Len())
	for key, v := range after.All() {
		if became := Rewrite(written.Get(key), was.Get(key), v); became != any(value.Undefined{}) {
			made.Set(key, became)
		}
	}
	return made
}

func rewriteList(own, before any, after []any) any {
	written, wasWritten := own.([]any)
	was, wasList := before.([]any)
	if !wasWritten || !wasList || len(written) != len(was) {
		return after
	}
	made := make([]any, len(after))
	for i, v := range after {
		made[i] = v
		if i < len(was) {
			made[i] = Rewrite(written[i], was[i], v)
		}
	}
	return made
}
