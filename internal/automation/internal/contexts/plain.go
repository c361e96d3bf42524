package contexts

import (
	"fmt"
	"math"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// deepest is how deep a context may be nested: what is deeper could be written, and not be read again.
const deepest = value.MaxDepth - 1

// encode makes what is stored of a new value: the text, and the value that reading the text gives.
func encode(root string, v any, limit int) (*value.Object, string, error) {
	v, err := plain(v, 0)
	if err != nil {
		return nil, "", err
	}
	if (v == value.Undefined{}) { // the whole context was deleted
		v = value.NewObject(0)
	}
	object, ok := v.(*value.Object)
	if !ok {
		return nil, "", machine.Fail(machine.InvalidInstruction, fmt.Sprintf("The context %s holds named variables; set one of them, such as %s.name.", root, root))
	}
	text, fits := value.JSON(object, "", limit)
	if !fits {
		return nil, "", machine.Fail(machine.QuotaExceeded, fmt.Sprintf("The context %s would have more than %d bytes; keep less in it, or put it into a collection or a file.", root, limit)).
			With(machine.Payload("context", root, "limit", float64(limit)))
	}
	return object, text, nil
}

// plain gives the value that comes back when v is written as JSON and read again. What is so already is not copied.
func plain(v any, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, value.Undefined:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil //nolint:nilnil // null, as in JSON
		}
		return v, nil
	case []any:
		return plainList(v, depth)
	case *value.Object:
		return plainObject(v, depth)
	default: // a stream
		return value.Undefined{}, nil
	}
}

func tooDeep() error {
	return machine.Fail(machine.InvalidInstruction, fmt.Sprintf("A context may be nested %d deep at most.", deepest))
}

func plainList(list []any, depth int) (any, error) {
	if depth == deepest {
		return nil, tooDeep()
	}
	copied := false
	for i, item := range list {
		kept, err := plain(item, depth+1)
		if err != nil {
			return nil, err
		}
		if (kept == value.Undefined{}) {
			kept = nil
		}
		if same(kept, item) {
			continue
		}
		if !copied {
			list, copied = append([]any(nil), list...), true
		}
		list[i] = kept
	}
	return list, nil
}

func plainObject(object *value.Object, depth int) (any, error) {
	if depth == deepest {
		return nil, tooDeep()
	}
	out := value.NewObject(object.Len())
	changed := false
	for name, item := range object.All() {
		kept, err := plain(item, depth+1)
		if err != nil {
			return nil, err
		}
		changed = changed || !same(kept, item)
		if (kept == value.Undefined{}) {
			changed = true
			continue
		}
		out.Set(name, kept)
	}
	if !changed {
		return object, nil
	}
	return out, nil
}

// same tells that plain has left a value as it was.
func same(kept, was any) bool {
	switch was := was.(type) {
	case []any:
		list, ok := kept.([]any)
		return ok && len(list) == len(was) && (len(list) == 0 || &list[0] == &was[0])
	case *value.Object:
		return kept == any(was)
	case float64:
		return kept != nil
	case nil, bool, string, value.Undefined:
		return kept == was
	default:
		return false
	}
}
