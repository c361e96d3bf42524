package locks_test

import (
	"cmp"
	"fmt"
	"slices"
)

// step is a change with the time that it has; the first one is how the lock was before all.
type step struct {
	change
	span
}

// item is something that happened at a moment of its span.
type item struct {
	span

	what string
	done bool
}

// walker goes from one change to the next.
type walker struct {
	byBack []*item   // everything, in the order in which it was answered
	at     [][]*item // what was seen of the lock between two changes
	free   []*item   // what was seen of it while it was nobody's, whenever that was
}

// walk tells why there are no moments for everything; empty when there are. It makes one change after another, each as late as it
// can be: after all that was seen of what was before. Nothing is asked for after the moment of something that comes later.
func walk(steps []step, looks []look) string {
	w := &walker{at: make([][]*item, len(steps))}
	states := map[string]int{}
	for i, s := range steps {
		if s.holder != "" {
			states[s.holder] = i
		}
	}
	for _, l := range looks {
		this := &item{span: l.span, what: fmt.Sprintf("somebody saw that %q has it, with epoch %d", l.holder, l.epoch)}
		w.byBack = append(w.byBack, this)
		if l.holder == "" && l.epoch == 0 {
			w.free = append(w.free, this)
			continue
		}
		state, had := states[l.holder]
		if l.epoch > 0 {
			state, had = int(l.epoch-steps[0].epoch), true
		}
		if !had || state < 0 || state >= len(steps) || steps[state].holder != l.holder {
			return this.what + ", and it never was"
		}
		w.at[state] = append(w.at[state], this)
	}
	changes := make([]*item, len(steps))
	for i, s := range steps[1:] {
		changes[i+1] = &item{span: s.span, what: fmt.Sprintf("it went to %q with epoch %d", s.holder, s.epoch)}
		w.byBack = append(w.byBack, changes[i+1])
	}
	slices.SortFunc(w.byBack, func(a, b *item) int { return cmp.Compare(a.back, b.back) })
	for i, s := range steps {
		if i > 0 && !w.can(changes[i]) {
			return w.why(changes[i])
		}
		if missed := w.stay(i, s.holder == ""); missed != nil {
			return w.why(missed)
		}
	}
	if next := w.first(); next != nil {
		return w.why(next)
	}
	return ""
}

// first is what was answered first of all that is left.
func (w *walker) first() *item {
	for len(w.byBack) > 0 && w.byBack[0].done {
		w.byBack = w.byBack[1:]
	}
	if len(w.byBack) == 0 {
		return nil
	}
	return w.byBack[0]
}

// can does something if it may come next: when nothing that is left was answered before it was asked for.
func (w *walker) can(this *item) bool {
	if first := w.first(); first != nil && first.back < this.call {
		return false
	}
	this.done = true
	return true
}

// stay does everything that was seen between a change and the next, and gives what does not fit there.
func (w *walker) stay(state int, free bool) (missed *item) {
	for more := true; more; {
		more = false
		left := func(all []*item) []*item {
			return slices.DeleteFunc(all, func(this *item) bool {
				can := w.can(this)
				more = more || can
				return can
			})
		}
		w.at[state] = left(w.at[state])
		if free {
			w.free = left(w.free)
		}
	}
	if len(w.at[state]) > 0 {
		return w.at[state][0]
	}
	return nil
}

// why tells what is in the way of something.
func (w *walker) why(this *item) string {
	first := w.first()
	return fmt.Sprintf("%s, asked for at %d and answered at %d, but at that time it had to be true already that %s, asked for at %d and answered at %d",
		this.what, this.call, this.back, first.what, first.call, first.back)
}
