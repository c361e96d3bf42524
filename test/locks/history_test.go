package locks_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// never is when somebody was answered whose process was killed meanwhile.
const never = math.MaxInt64

// span is from before something was asked for until after it was answered. It happened at one moment in between; when it was
// never answered, at one after it was asked for, or not at all.
type span struct{ call, back int64 }

// look is that somebody was told whose the lock is, or that it is nobody's.
type look struct {
	span

	holder string
	epoch  int64 // when that was seen, too
}

// attempt is an import that was not refused.
type attempt struct {
	span

	// accepted is that it was said to be done, lost that it was said to have lost its lock.
	accepted, lost bool
	// began and ended are that it took the lock, and that it, or whoever found that its process is gone, released it.
	began, ended bool
}

// change is one of the lock as the database tells it: whose the lock is since then.
type change struct {
	epoch  int64
	holder string
	// key is that of the import that has the lock.
	key string
}

// history is what everybody has seen of a lock.
type history struct {
	ticks atomic.Int64

	mu      sync.Mutex
	takes   map[string]span       // by the name that nobody else gives the lock
	clears  map[string]span       // by the id of the request
	imports map[string][]*attempt // by the key, one after the other
	looks   []look
}

func newHistory() *history {
	return &history{takes: map[string]span{}, clears: map[string]span{}, imports: map[string][]*attempt{}}
}

// now is a moment; a later one has a larger number.
func (h *history) now() int64 { return h.ticks.Add(1) }

func (h *history) note(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
}

// count is how much there is in it.
func (h *history) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.takes) + len(h.clears) + len(h.looks)
	for _, all := range h.imports {
		n += len(all)
	}
	return n
}

// linear tells why the history is not one of one lock that is taken and released at single moments by one after the other; empty
// when it is one. The epochs of the changes say in which order they were made, so there is one order to try. clearedBy has the
// request that cleared the lock from a holder.
func (h *history) linear(changes []change, clearedBy map[string]string) string {
	o := &order{history: h, clearedBy: clearedBy, next: map[string]int{}, holding: map[string]*attempt{}}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.epoch, b.epoch) })
	now := change{epoch: changes[0].epoch - 1}
	steps := []step{{change: now}}
	for _, c := range changes {
		if c.epoch != now.epoch+1 {
			return fmt.Sprintf("the epoch went from %d to %d", now.epoch, c.epoch)
		}
		when, why := o.cause(now, c)
		if why != "" {
			return fmt.Sprintf("epoch %d, from %q to %q: %s", c.epoch, now.holder, c.holder, why)
		}
		steps, now = append(steps, step{change: c, span: when}), c
	}
	if why := o.unexplained(); why != "" {
		return why
	}
	return walk(steps, append(o.idle(), h.looks...))
}

// order finds out which request made each change.
type order struct {
	*history

	clearedBy map[string]string
	used      []string            // requests that cleared something
	next      map[string]int      // attempt of each key
	holding   map[string]*attempt // by holder
}

// cause is when a change was asked for and answered.
func (o *order) cause(from, to change) (when span, why string) {
	switch {
	case from.holder != "" && to.holder != "":
		return when, "it was not free in between"
	case to.key != "":
		i := o.next[to.key]
		if i >= len(o.imports[to.key]) {
			return when, "nobody imports"
		}
		a := o.imports[to.key][i]
		o.next[to.key], o.holding[to.holder], a.began = i+1, a, true
		return a.span, ""
	case to.holder != "":
		when, ok := o.takes[to.holder]
		if !ok {
			why = "nobody wants it"
		}
		delete(o.takes, to.holder)
		return when, why
	}
	if id, ok := o.clearedBy[from.holder]; ok {
		o.used = append(o.used, id)
		if when, ok = o.clears[id]; !ok {
			why = "nobody clears it as " + id
		}
		return when, why
	}
	a := o.holding[from.holder]
	if a == nil {
		return when, "nobody releases it"
	}
	a.ended = true
	if !a.accepted { // whoever finds it releases it, sooner or later
		return span{a.call, never}, ""
	}
	return a.span, ""
}

// unexplained tells what was answered and never happened.
func (o *order) unexplained() string {
	for name, when := range o.takes {
		if when.back != never {
			return fmt.Sprintf("%s was told to have the lock and never had it", name)
		}
	}
	for key, all := range o.imports {
		for _, a := range all {
			if (a.accepted || a.lost) && !a.began {
				return fmt.Sprintf("an import of %s is said to have had the lock and never had it", key)
			}
			if a.accepted && !a.ended {
				return fmt.Sprintf("an import of %s was accepted after it had lost its lock", key)
			}
		}
	}
	return ""
}

// idle are those who cleared a lock that was free.
func (o *order) idle() (free []look) {
	for id, when := range o.clears {
		if when.back != never && !slices.Contains(o.used, id) {
			free = append(free, look{span: when})
		}
	}
	return free
}
