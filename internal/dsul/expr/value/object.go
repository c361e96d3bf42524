package value

import (
	"iter"
	"slices"
)

// Object maps keys to values and remembers the order in which keys came.
type Object struct {
	keys   []string
	values map[string]any
}

// NewObject makes an object with room for some keys.
func NewObject(size int) *Object {
	return &Object{keys: make([]string, 0, size), values: make(map[string]any, size)}
}

// Len is how many keys the object has.
func (o *Object) Len() int { return len(o.keys) }

// Has says whether the object has a key.
func (o *Object) Has(key string) bool {
	_, ok := o.values[key]
	return ok
}

// Get returns the value of a key, undefined without one.
func (o *Object) Get(key string) any {
	if v, ok := o.values[key]; ok {
		return v
	}
	return Undefined{}
}

// Set gives a key its value. A new key comes last.
func (o *Object) Set(key string, v any) {
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// Delete takes a key away.
func (o *Object) Delete(key string) {
	if _, ok := o.values[key]; !ok {
		return
	}
	delete(o.values, key)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
}

// All gives keys and values in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, key := range o.keys {
			if !yield(key, o.values[key]) {
				return
			}
		}
	}
}
