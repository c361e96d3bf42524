package query

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"atelier/internal/bus"
)

// node is one condition of a filter.
type node interface {
	match(d *Document) bool
	asks(path string) bool
}

// all holds when every part does.
type all []node

func (n all) match(d *Document) bool {
	for _, part := range n {
		if !part.match(d) {
			return false
		}
	}
	return true
}

func (n all) asks(path string) bool { return slices.ContainsFunc(n, asking(path)) }

// some holds when at least so many parts do.
type some struct {
	parts []node
	least int
}

func (n some) match(d *Document) bool {
	missing := n.least
	for _, part := range n.parts {
		if missing <= 0 {
			break
		}
		if part.match(d) {
			missing--
		}
	}
	return missing <= 0
}

func (n some) asks(path string) bool { return slices.ContainsFunc(n.parts, asking(path)) }

// either is some with one part that must hold.
func either(parts []node) node {
	if len(parts) == 1 {
		return parts[0]
	}
	return some{parts: parts, least: 1}
}

func asking(path string) func(node) bool { return func(n node) bool { return n.asks(path) } }

// not holds when its part does not.
type not struct{ part node }

func (n not) match(d *Document) bool { return !n.part.match(d) }
func (n not) asks(path string) bool  { return n.part.asks(path) }

// never holds for no event.
type never struct{}

func (never) match(*Document) bool { return false }
func (never) asks(string) bool     { return false }

// anything holds for every event.
type anything struct{}

func (anything) match(*Document) bool { return true }
func (anything) asks(string) bool     { return false }

// term holds when a value at the path is one of some values. Text is compared exactly, numbers and booleans by their value,
// however either side writes them: "5", 5 and 5.0 find the number 5, and "5" finds the text too.
type term struct {
	path   string
	values map[string]bool
	// numbers are the canonical forms of those that are numbers.
	numbers map[string]bool
	fold    bool
}

func newTerm(path string, fold bool, values ...any) term {
	t := term{path: path, values: map[string]bool{}, numbers: map[string]bool{}, fold: fold}
	for _, value := range values {
		text := textOf(value)
		if isNumber(text) {
			t.numbers[canonical(text)] = true
		}
		if fold {
			text = strings.ToLower(text)
		}
		t.values[text] = true
	}
	return t
}

// texts are the values as they are written.
func (n term) texts() []string { return slices.Sorted(maps.Keys(n.values)) }

func (n term) match(d *Document) bool {
	if !n.possible(d) {
		return false
	}
	return d.some(n.path, func(value any) bool {
		switch v := value.(type) {
		case string:
			if n.fold {
				v = strings.ToLower(v)
			}
			return n.values[v]
		case bool:
			return n.values[textOf(v)]
		default:
			return len(n.numbers) > 0 && n.numbers[canonical(textOf(value))]
		}
	})
}

// possible looks for a single text in the stored one before that is decoded, which takes longer. Where something is escaped
// the text may be there in another spelling.
func (n term) possible(d *Document) bool {
	if len(n.values) != 1 || n.fold || len(n.numbers) > 0 || isOuter(n.path) {
		return true
	}
	for text := range n.values {
		if bytes.Contains(d.stored.Body, []byte(text)) {
			return true
		}
	}
	return bytes.IndexByte(d.stored.Body, '\\') >= 0
}

func (n term) asks(path string) bool { return n.path == path }

// like holds when a value at the path fits a pattern.
type like struct {
	path    string
	pattern pattern
}

func (n like) match(d *Document) bool {
	return d.some(n.path, func(value any) bool { return n.pattern.match(textOf(value)) })
}

func (n like) asks(path string) bool { return n.path == path }

// exists holds when there is anything at the path.
type exists struct{ path string }

func (n exists) match(d *Document) bool { return n.possible(d) && d.has(n.path) }
func (n exists) asks(path string) bool  { return n.path == path }

// possible looks for the last key in the stored text before that is decoded. Where something is escaped it may be there in
// another spelling.
func (n exists) possible(d *Document) bool {
	if isOuter(n.path) {
		return true
	}
	key := n.path[strings.LastIndexByte(n.path, '.')+1:]
	return bytes.Contains(d.stored.Body, []byte(key+`"`)) || bytes.IndexByte(d.stored.Body, '\\') >= 0
}

// span holds for events at positions between two others; zero does not limit.
type span struct {
	path          string
	after, before bus.Position
}

func (n span) match(d *Document) bool {
	at := d.stored.Position
	return at > n.after && (n.before == 0 || at < n.before)
}

func (n span) asks(path string) bool { return n.path == path }

// ids holds for events with one of some ids.
type ids map[bus.Position]bool

func (n ids) match(d *Document) bool    { return n[d.stored.Position] }
func (n ids) asks(path string) bool     { return path == fieldID }
func (n ids) positions() []bus.Position { return slices.Collect(maps.Keys(n)) }

const (
	depthPath = "source.appInstanceDepth"
	depthKey  = `"appInstanceDepth"`
)

// shallow holds for events of apps up to a depth, and for those that are of none.
type shallow struct{ depth int }

func (n shallow) match(d *Document) bool {
	if !bytes.Contains(d.stored.Body, []byte(depthKey)) { // keys of the source are never escaped
		return true
	}
	deep := false
	for _, value := range d.Values(depthPath) {
		depth, ok := numberOf(value)
		deep = deep || ok && depth > float64(n.depth)
	}
	return !deep
}

func (n shallow) asks(path string) bool { return path == depthPath }
