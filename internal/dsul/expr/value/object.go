package value

import (
	"iter"
	"slices"
)

// Object maps keys to values and remembers the order in which keys came. Few keys are looked for one after the other, which is
// faster than a map and needs none; many have an index.
type Object struct {
	entries []entry
	index   map[string]int // where a key stands; nil while there are few
	gone    int            // entries that were taken away and keep their place until there are many of them
}

type entry struct {
	key   string
	value any
}

// removed is the value of an entry that was taken away.
type removed struct{}

func (e *entry) gone() bool {
	_, gone := e.value.(removed)
	return gone
}

// few is how many keys an object has without an index.
const few = 16

// NewObject makes an object with room for some keys.
func NewObject(size int) *Object {
	if o := small(size); o != nil {
		return o
	}
	o := &Object{entries: make([]entry, 0, size)}
	if size > few {
		o.index = make(map[string]int, size)
	}
	return o
}

// Clone makes an object with the same keys and values, which may be changed.
func (o *Object) Clone() *Object { return o.CloneFor(0) }

// CloneFor is Clone with room for some more keys.
func (o *Object) CloneFor(more int) *Object {
	made := NewObject(o.Len() + more)
	if o.gone == 0 && made.index == nil {
		made.entries = append(made.entries, o.entries...)
		return made
	}
	for i := range o.entries {
		if e := &o.entries[i]; !e.gone() {
			made.add(e.key, e.value)
		}
	}
	return made
}

// Len is how many keys the object has.
func (o *Object) Len() int { return len(o.entries) - o.gone }

// find gives the place of a key, -1 without one.
func (o *Object) find(key string) int {
	if o.index != nil {
		if at, ok := o.index[key]; ok {
			return at
		}
		return -1
	}
	for i := range o.entries {
		if o.entries[i].key == key {
			return i
		}
	}
	return -1
}

// Has says whether the object has a key.
func (o *Object) Has(key string) bool { return o.find(key) >= 0 }

// Get returns the value of a key, undefined without one.
func (o *Object) Get(key string) any {
	if at := o.find(key); at >= 0 {
		return o.entries[at].value
	}
	return Undefined{}
}

// Set gives a key its value. A new key comes last.
func (o *Object) Set(key string, v any) {
	if at := o.find(key); at >= 0 {
		o.entries[at].value = v
		return
	}
	o.add(key, v)
}

// add takes a key that is new.
func (o *Object) add(key string, v any) {
	o.entries = append(o.entries, entry{key: key, value: v})
	switch {
	case o.index != nil:
		o.index[key] = len(o.entries) - 1
	case len(o.entries) > few:
		o.reindex()
	}
}

func (o *Object) reindex() {
	o.index = make(map[string]int, 2*len(o.entries))
	for i := range o.entries {
		o.index[o.entries[i].key] = i
	}
}

// Delete takes a key away.
func (o *Object) Delete(key string) {
	at := o.find(key)
	if at < 0 {
		return
	}
	if o.index == nil {
		o.entries = slices.Delete(o.entries, at, at+1)
		return
	}
	delete(o.index, key)
	o.entries[at] = entry{value: removed{}}
	if o.gone++; o.gone > len(o.entries)/2 { // so that taking all keys away takes linear time
		o.entries = slices.DeleteFunc(o.entries, func(e entry) bool { return e.gone() })
		o.gone = 0
		o.reindex()
	}
}

// All gives keys and values in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := range o.entries {
			if e := &o.entries[i]; !e.gone() && !yield(e.key, e.value) {
				return
			}
		}
	}
}
