package machine

import (
	"slices"
	"strings"
	"sync"

	"atelier/internal/dsul/expr/value"
)

// redacted stands for what must not be seen.
const redacted = "REDACTED"

// hidden are the texts that must not be seen in the native events of a run.
type hidden struct {
	mu    sync.Mutex
	texts map[string]bool
	homes map[*Home]bool // whose texts are among them
	ready *redactor      // nil when there are new ones
}

// short texts are hidden only where they are all of a text: to take every e out of an event would hide nothing else.
const short = 4

// redactor takes texts out of values.
type redactor struct {
	whole map[string]bool
	parts *strings.Replacer // nil without any
}

// Hide makes a text unseen in the native events of the run from now on.
func (f *Frame) Hide(text string) {
	h := &f.run.state.hidden
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(text)
}

func (h *hidden) add(text string) {
	if text = strings.TrimSpace(text); text == "" || h.texts[text] {
		return
	}
	if h.texts == nil {
		h.texts = map[string]bool{}
	}
	h.texts[text] = true
	h.ready = nil
}

// redactor gives what takes out all that is hidden now, with what the home of the automation and those around it hide.
func (f *Frame) redactor() *redactor {
	h := &f.run.state.hidden
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.texts == nil && f.automation.Home.hidesAs(f.run.Root) {
		return f.run.Root.redactor()
	}
	h.learn(f.run.Root)
	for home := f.automation.Home; home != nil && !h.homes[home]; home = home.Parent {
		h.learn(home)
	}
	if h.ready == nil {
		h.ready = newRedactor(h.texts)
	}
	return h.ready
}

// hidesAs tells that this home and those around it hide what another one does: all homes of a workspace have the same list.
func (h *Home) hidesAs(root *Home) bool {
	for ; h != nil && h != root; h = h.Parent {
		if len(h.Hidden) != len(root.Hidden) || len(h.Hidden) > 0 && &h.Hidden[0] != &root.Hidden[0] {
			return false
		}
	}
	return root != nil
}

// redactor gives what takes out the texts of a home alone. It is made once: most runs hide nothing else.
func (h *Home) redactor() *redactor {
	if ready := h.ready.Load(); ready != nil {
		return ready
	}
	var own hidden
	own.learn(h)
	ready := newRedactor(own.texts)
	h.ready.Store(ready)
	return ready
}

func (h *hidden) learn(home *Home) {
	if home == nil || h.homes[home] {
		return
	}
	if h.homes == nil {
		h.homes = map[*Home]bool{}
	}
	h.homes[home] = true
	for _, text := range home.Hidden {
		h.add(text)
	}
}

func newRedactor(texts map[string]bool) *redactor {
	r := &redactor{whole: make(map[string]bool, len(texts))}
	var long []string
	for text := range texts {
		r.whole[text] = true
		if len(text) >= short {
			long = append(long, text)
		}
	}
	if len(long) == 0 {
		return r
	}
	slices.SortFunc(long, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	pairs := make([]string, 0, 2*len(long))
	for _, text := range long {
		pairs = append(pairs, text, redacted)
	}
	r.parts = strings.NewReplacer(pairs...)
	return r
}

func (r *redactor) text(text string) string {
	switch {
	case r.whole[text] || r.whole[strings.TrimSpace(text)]:
		return redacted
	case r.parts != nil:
		return r.parts.Replace(text)
	default:
		return text
	}
}

// Redacted gives a value in which every hidden text is REDACTED, for native events.
func (f *Frame) Redacted(v any) any {
	r := f.redactor()
	if len(r.whole) == 0 {
		return v
	}
	return r.value(v, 0)
}

// value takes hidden texts out of a value, which stays as it is; what lies deeper than anybody writes is left out.
func (r *redactor) value(v any, depth int) any {
	if depth > tooDeep {
		return value.Undefined{}
	}
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		made := make([]any, len(v))
		for i, item := range v {
			made[i] = r.value(item, depth+1)
		}
		return made
	case *value.Object:
		made := value.NewObject(v.Len())
		for key, item := range v.All() {
			made.Set(r.text(key), r.value(item, depth+1))
		}
		return made
	default:
		return v
	}
}
