package machine

import (
	"errors"
	"slices"
	"strconv"

	"atelier/internal/dsul/expr/value"
)

// The kinds of changes.
const (
	Replace = "replace"
	Merge   = "merge"
	Push    = "push"
	Delete  = "delete"
)

// owner says that the list or object at a place of the variables is theirs alone, so that it can be changed where it is. What was
// handed out has no owner: it is copied before it is changed, once. The owners of what is inside are below.
type owner struct {
	inside map[string]*owner
	// shared is a list that was handed out: its items must stay, but more can be put behind those that others see.
	shared bool
}

func (o *owner) at(key string) *owner {
	if o == nil {
		return nil
	}
	return o.inside[key]
}

func (o *owner) put(key string, child *owner) {
	if child == nil {
		delete(o.inside, key)
		return
	}
	if o.inside == nil {
		o.inside = map[string]*owner{}
	}
	o.inside[key] = child
}

// edit is one change of a value: the rules of set and delete. It makes new lists and objects where the old ones have no owner.
type edit struct {
	kind  string
	value any
	// each makes a list that is merged into what is no list yet one of its items.
	each bool
	// frame pays for what the variables take, before they are changed; nil changes what nobody pays for.
	frame *Frame
	vars  *variables
	// owed is what the places on the way to the change take.
	owed int64
	// sink is the stream that stands at the place or on the way to it, and rest the keys behind it.
	sink Sink
	rest []string
}

// errBlocked says that a value stands where a list or an object is needed.
var errBlocked = errors.New("a value stands in the way")

// errSink says that a stream takes the value instead.
var errSink = errors.New("a stream takes the value")

// at gives what becomes of a value, and its owner, when it is changed at some keys. On an error nothing has changed.
func (e *edit) at(old any, own *owner, path []string) (any, *owner, error) {
	if len(path) == 0 {
		return e.change(old, own)
	}
	if e.kind == Delete && len(path) == 1 {
		return e.remove(old, own, path[0])
	}
	switch old := old.(type) {
	case nil, value.Undefined:
		return e.inObject(value.NewObject(1), &owner{}, path)
	case *value.Object:
		if own == nil {
			old, own = old.Clone(), &owner{}
		}
		return e.inObject(old, own, path)
	case []any:
		return e.inList(old, own, path)
	default:
		if sink, ok := old.(Sink); ok {
			e.sink, e.rest = sink, path
			return nil, nil, errSink
		}
		return nil, nil, errBlocked
	}
}

func (e *edit) inObject(o *value.Object, own *owner, path []string) (any, *owner, error) {
	key := path[0]
	if !o.Has(key) {
		e.owed += weightKey + int64(len(key))
	}
	v, inner, err := e.at(o.Get(key), own.at(key), path[1:])
	if err != nil {
		return nil, nil, err
	}
	o.Set(key, v)
	own.put(key, inner)
	return o, own, nil
}

// farthest is how far behind its end a list can be set.
const farthest = 1 << 20

func (e *edit) inList(list []any, own *owner, path []string) (any, *owner, error) {
	at, err := strconv.Atoi(path[0])
	if err != nil || at < 0 || at > len(list)+farthest {
		return nil, nil, errBlocked
	}
	old := any(value.Undefined{})
	if at < len(list) {
		old = list[at]
	} else {
		e.owed += weightItem * int64(at+1-len(list))
	}
	v, inner, err := e.at(old, own.at(path[0]), path[1:])
	if err != nil {
		return nil, nil, err
	}
	if own == nil || own.shared {
		list, own = slices.Clone(list), &owner{}
	}
	for len(list) <= at {
		list = append(list, value.Undefined{})
	}
	list[at] = v
	own.put(path[0], inner)
	return list, own, nil
}

// remove takes a key or an item away.
func (e *edit) remove(old any, own *owner, key string) (any, *owner, error) {
	switch old := old.(type) {
	case nil, value.Undefined:
		return value.NewObject(0), &owner{}, nil
	case *value.Object:
		if !old.Has(key) {
			return old, own, nil
		}
		if own == nil {
			old, own = old.Clone(), &owner{}
		}
		err := e.pay(-e.weight(old.Get(key)) - weightKey - int64(len(key)))
		old.Delete(key)
		own.put(key, nil)
		return old, own, err
	case []any:
		return e.cut(old, own, key)
	default:
		return old, own, nil
	}
}

func (e *edit) cut(list []any, own *owner, key string) (any, *owner, error) {
	at, err := strconv.Atoi(key)
	if err != nil || at < 0 || at >= len(list) {
		return list, own, nil //nolint:nilerr // a list has no other keys
	}
	if err := e.pay(-e.weight(list[at]) - weightItem); err != nil {
		return nil, nil, err
	}
	switch {
	case own == nil || own.shared:
		list = slices.Concat(list[:at], list[at+1:])
	case at == 0:
		list[0] = nil // it is not to be kept for the rest of the list
		list = list[1:]
	default:
		list = slices.Delete(list, at, at+1)
	}
	return list, &owner{}, nil // what was owned inside has other places now
}

func (e *edit) pay(delta int64) error {
	if e.frame == nil {
		return nil
	}
	return e.frame.charge(e.vars, delta+e.owed)
}

// weight is what a value takes that is there already.
func (e *edit) weight(v any) int64 {
	if v == any(value.Undefined{}) || e.frame == nil {
		return 0
	}
	n, _ := weigh(v, 1<<62)
	e.frame.weighed += n
	return n
}
