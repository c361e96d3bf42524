package memkv

import "maps"

// table is a map that gives memory back: a Go map keeps the room of the most entries it ever held.
type table[V any] struct {
	rows map[string]V
	peak int
}

func (t *table[V]) put(key string, value V) {
	if t.rows == nil {
		t.rows = make(map[string]V)
	}
	t.rows[key] = value
}

// sweep removes the dead, and moves the living to a smaller map when few of them are left.
func (t *table[V]) sweep(dead func(V) bool) {
	t.peak = max(t.peak, len(t.rows))
	maps.DeleteFunc(t.rows, func(_ string, value V) bool { return dead(value) })
	const few = 4
	if len(t.rows) >= t.peak/few {
		return
	}
	living := make(map[string]V, len(t.rows))
	maps.Copy(living, t.rows)
	t.rows, t.peak = living, len(living)
}
