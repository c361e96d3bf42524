package sqldb

import (
	"slices"
	"strings"
	"sync/atomic"
)

// Watch counts the transactions of this process that may have changed some tables. Whoever remembers what it read of them need not
// ask the database again while the number is the same, as long as no other process uses the database.
type Watch struct {
	tables string
	count  atomic.Int64
}

// Count is the number so far. Take it before reading what is remembered under it.
func (w *Watch) Count() int64 { return w.count.Load() }

// Watch counts from now on the transactions that name tables with this prefix, whether they change them or not.
func (db *DB) Watch(tables string) *Watch {
	w := &Watch{tables: tables}
	db.watching.Lock()
	defer db.watching.Unlock()
	var all []*Watch
	if known := db.watches.Load(); known != nil {
		all = append(all, *known...)
	}
	all = append(all, w)
	db.watches.Store(&all)
	return w
}

// note remembers which watched tables a statement names.
func (t *Tx) note(query string) {
	watches := t.db.watches.Load()
	if watches == nil {
		return
	}
	for _, w := range *watches {
		if !t.names(w) && strings.Contains(query, w.tables) {
			t.named = append(t.named, w)
		}
	}
}

func (t *Tx) names(w *Watch) bool { return slices.Contains(t.named, w) }

// count counts the transaction. It is called before and after the commit: who takes the number in between may have read either
// state, and finds another number afterwards.
func (t *Tx) count() {
	for _, w := range t.named {
		w.count.Add(1)
	}
}
