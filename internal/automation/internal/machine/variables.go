package machine

import (
	"sync"

	"atelier/internal/dsul/expr/value"
)

// variables are the local variables of an automation. Several branches may use them at the same time: the lock is held while one
// of them looks something up or changes something, and never while it works.
//
// What they hand out is never changed. Yet a list that an automation builds item by item is not copied each time: as long as
// nobody has seen it, or nobody sees the end of it, it is changed where it is.
type variables struct {
	mu     sync.Mutex
	locals *value.Object
	own    owner
	weight int64 // what was charged for them

	// Branches on several processors have theirs apart: what one of them locks must not lie beside what another one does.
	_ [88]byte
}

// newVariables makes variables of a payload, which stays as it is.
func newVariables(payload *value.Object) *variables {
	v := &variables{}
	if payload == nil {
		v.locals = value.NewObject(0)
	} else {
		const usual = 4 // variables that an automation sets
		v.locals = payload.CloneFor(usual)
	}
	return v
}

// get gives what stands at some keys.
func (v *variables) get(root string, keys []string) any {
	v.mu.Lock()
	defer v.mu.Unlock()
	parent, last := &v.own, root
	found := v.locals.Get(root)
	own := parent.at(root)
	for _, key := range keys {
		found = value.Get(found, key)
		parent, last, own = own, key, own.at(key)
	}
	if own == nil {
		return found
	}
	if list, ok := found.([]any); ok {
		own.inside, own.shared = nil, true
		return list[:len(list):len(list)]
	}
	delete(parent.inside, last)
	return found
}

// has tells whether there is a variable.
func (v *variables) has(root string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.locals.Has(root)
}

// change edits what stands at some keys.
func (v *variables) change(e *edit, path []string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _, err := e.at(v.locals, &v.own, path)
	return err
}

// put gives a variable its value.
func (v *variables) put(f *Frame, name string, x any) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.replace(f, name, x)
}

// turn gives a repeat its next item.
func (v *variables) turn(f *Frame, item any, index float64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.replace(f, Item, item); err != nil {
		return err
	}
	if counted, ok := item.(float64); ok && counted == index {
		return v.replace(f, Index, item) // the same number need not be made twice
	}
	return v.replace(f, Index, index)
}

func (v *variables) replace(f *Frame, name string, x any) error {
	if _, number := x.(float64); number {
		if _, number = v.locals.Get(name).(float64); number { // all of them weigh the same, and nobody owns one
			v.locals.Set(name, x)
			return nil
		}
	}
	e := edit{kind: Replace, value: x, frame: f, vars: v}
	if !v.locals.Has(name) {
		e.owed = weightKey + int64(len(name))
	}
	if _, _, err := e.replace(v.locals.Get(name)); err != nil {
		return err
	}
	v.locals.Set(name, x)
	v.own.put(name, nil)
	return nil
}

// drop takes a variable away.
func (v *variables) drop(f *Frame, name string) error {
	e := edit{kind: Delete, frame: f, vars: v}
	return v.change(&e, []string{name})
}
