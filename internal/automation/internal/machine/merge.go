package machine

import (
	"slices"

	"atelier/internal/dsul/expr/value"
)

// change gives what stands at the place itself after the change.
func (e *edit) change(old any, own *owner) (any, *owner, error) {
	switch old := old.(type) {
	case nil, value.Undefined, bool, float64, string, []any, *value.Object:
	case Sink:
		e.sink = old
		return nil, nil, errSink
	}
	switch e.kind {
	case Push:
		return e.push(old, own)
	case Merge:
		return e.merge(old, own)
	default:
		return e.replace(old)
	}
}

func (e *edit) replace(old any) (any, *owner, error) {
	if err := e.take(e.value, -e.weight(old)); err != nil {
		return nil, nil, err
	}
	return e.value, nil, nil
}

// take pays for a value that comes in.
func (e *edit) take(v any, delta int64) error {
	if e.frame == nil {
		return nil
	}
	if v == any(value.Undefined{}) {
		return e.pay(delta)
	}
	n, ok := weigh(v, e.frame.machine.Limits.memory())
	e.frame.weighed += n
	if !ok {
		return heavy()
	}
	return e.pay(n + delta)
}

// push puts the value behind the items of a list. What is no list becomes one.
func (e *edit) push(old any, own *owner) (any, *owner, error) {
	list, ok := old.([]any)
	if !ok {
		e.owed += weightList - e.weight(old)
		own = nil
	}
	if err := e.take(e.value, weightItem); err != nil {
		return nil, nil, err
	}
	if own == nil {
		list, own = roomy(list, 1), &owner{}
	}
	return append(list, e.value), own, nil
}

// roomy copies a list with room for more items.
func roomy(list []any, more int) []any {
	const least = 4
	made := make([]any, len(list), max(least, len(list)+max(more, len(list)/2)))
	copy(made, list)
	return made
}

// concat puts the items of a list behind those of another one.
func (e *edit) concat(list, more []any, own *owner) (any, *owner, error) {
	if err := e.take(more, -weightList); err != nil {
		return nil, nil, err
	}
	if own == nil {
		list, own = roomy(list, len(more)), &owner{}
	}
	return append(list, more...), own, nil
}

func (e *edit) merge(old any, own *owner) (any, *owner, error) {
	more, isList := e.value.([]any)
	if e.each && isList {
		list, ok := old.([]any)
		if !ok {
			e.owed += weightList - e.weight(old)
			return e.concat(nil, more, nil)
		}
		return e.concat(list, more, own)
	}
	switch old := old.(type) {
	case []any:
		if isList {
			return e.concat(old, more, own)
		}
		return e.push(old, own)
	case *value.Object:
		if from, ok := e.value.(*value.Object); ok {
			return e.mergeObject(old, from, own)
		}
		return old, own, nil
	default:
		return e.replace(old)
	}
}

// mergeObject gives an object the keys of another one, not deeper.
func (e *edit) mergeObject(o, from *value.Object, own *owner) (any, *owner, error) {
	delta := int64(-weightObject)
	for key := range from.All() {
		if o.Has(key) {
			delta -= weightKey + int64(len(key)) + e.weight(o.Get(key))
		}
	}
	if err := e.take(from, delta); err != nil {
		return nil, nil, err
	}
	if own == nil {
		o, own = o.Clone(), &owner{}
	}
	for key, v := range from.All() {
		o.Set(key, v)
		own.put(key, nil)
	}
	return o, own, nil
}

// apply changes a value that others see: the old one stays as it is.
func (e *edit) apply(old any, path []string) (any, error) {
	v, _, err := e.at(old, nil, slices.Clone(path))
	return v, err
}
