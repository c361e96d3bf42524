package splice_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// written is a random YAML text of which is known which lines each entry takes and whose comments are where.
type written struct {
	t        *rapid.T
	lines    []string
	entries  []entry
	comments []comment
	keys     int
	anchors  []string // of mappings, for merge keys and aliases
	linked   bool     // write anchors and aliases
	kept     bool     // write blocks that keep the empty lines at their end
	inline   bool     // the next entry goes on in the line
	block    bool     // there is a scalar that is written as a block
}

// entry is a key or an item: its lines, from its comments to its end.
type entry struct {
	path        []string
	first, last int
	flow        bool // inside a flow collection, whose lines these are
	kind        string
	size        int  // of a collection
	only        bool // is alone in its collection
	inline      bool // shares its line with the dash before it
}

// comment is a comment that belongs to the entry at a path, or to none.
type comment struct {
	text string
	path []string
}

func (w *written) chance(percent int) bool {
	return rapid.IntRange(0, 99).Draw(w.t, "chance") < percent
}

func (w *written) number(from, to int) int { return rapid.IntRange(from, to).Draw(w.t, "number") }

func (w *written) pick(choices ...string) string { return rapid.SampledFrom(choices).Draw(w.t, "pick") }

func (w *written) put(line string) { w.lines = append(w.lines, line) }

// width is how many characters the last line has.
func (w *written) width() int { return utf8.RuneCountInString(w.lines[len(w.lines)-1]) }

// more adds to the last line.
func (w *written) more(text string) { w.lines[len(w.lines)-1] += text }

func (w *written) remark(path []string) string {
	text := fmt.Sprintf("# remark %d of %s", len(w.comments), w.pick("it", "é: [x", "'a", "- b"))
	w.comments = append(w.comments, comment{text, slices.Clone(path)})
	return text
}

// above writes what may stand above an entry.
func (w *written) above(path []string, column int) (first int) {
	if w.chance(15) {
		w.put(w.pick("", "", " "))
	}
	if w.chance(10) {
		w.put(strings.Repeat(" ", column) + w.remark(path[:len(path)-1]))
		w.put("")
	}
	first = len(w.lines)
	for w.chance(15) {
		w.put(strings.Repeat(" ", column) + w.remark(path))
	}
	return first
}

// behind ends a line, perhaps with a comment.
func (w *written) behind(path []string) {
	switch {
	case w.chance(20):
		w.more(strings.Repeat(" ", w.number(1, 3)) + w.remark(path))
	case w.chance(5):
		w.more("  ")
	}
}

func (w *written) key() (written, name string) {
	w.keys++
	n := strconv.Itoa(w.keys)
	switch w.number(0, 9) {
	case 0:
		return `"k ` + n + `"`, "k " + n
	case 1:
		return `'k''` + n + `'`, "k'" + n
	case 2:
		return n, n
	case 3:
		return "é " + n, "é " + n
	case 4:
		return `"k\t` + n + `"`, "k\t" + n
	default:
		return "key" + n, "key" + n
	}
}

func (w *written) at(path []string, part string) []string { return append(slices.Clone(path), part) }

func (w *written) mapping(path []string, column, depth int) int {
	size := w.number(1, 4)
	for range size {
		key, name := w.key()
		inner := w.at(path, name)
		at := w.begin(inner, place{column: column, only: size == 1})
		if w.linked && w.chance(10) {
			key = "&k" + strconv.Itoa(w.keys) + " " + key
		}
		w.more(key + w.pick("", "", "", " ") + ":")
		w.value(inner, at, depth)
	}
	return size
}

// begin begins an entry on a line of its own, unless it goes on in the line.
func (w *written) begin(path []string, at place) place {
	if at.inline = w.inline; at.inline {
		w.inline = false
		at.first = len(w.lines) - 1
		return at
	}
	at.first = w.above(path, at.column)
	w.put(strings.Repeat(" ", at.column))
	return at
}

func (w *written) sequence(path []string, column, depth int) int {
	size := w.number(1, 4)
	for i := range size {
		inner := w.at(path, strconv.Itoa(i))
		at := w.begin(inner, place{column: column, only: size == 1, item: true})
		w.more("-")
		w.value(inner, at, depth)
	}
	return size
}

type place struct {
	column, first      int
	only, item, inline bool
}

// value writes what follows a colon or a dash, and notes the entry.
func (w *written) value(path []string, at place, depth int) {
	e := entry{path: path, first: at.first, only: at.only, inline: at.inline, kind: "scalar"}
	index := len(w.entries)
	w.entries = append(w.entries, e)
	choice := 99 - w.number(0, 99)
	anchor := ""
	if w.linked && w.chance(30) {
		w.keys++
		anchor = " &a" + strconv.Itoa(w.keys)
	}
	switch {
	case w.linked && len(w.anchors) > 0 && choice < 15:
		w.more(" *" + w.anchors[w.number(0, len(w.anchors)-1)])
		w.behind(path)
		e.kind = "alias"
	case depth > 0 && choice < 35:
		e.kind, e.size = "mapping", w.nested(path, at, anchor, depth)
	case depth > 0 && choice < 55:
		e.kind, e.size = "sequence", w.nestedSequence(path, at, anchor, depth)
	case choice < 70:
		w.more(anchor + " ")
		w.flow(path, depth)
		e.kind = "flow"
		w.behind(path)
	case choice < 80:
		w.more(anchor)
		w.blockScalar(path, at.column)
	case choice < 84:
		w.more(anchor)
		w.behind(path) // nothing
	default:
		w.more(anchor + w.pick(" ", " ", "  "))
		w.scalar(at.column)
		w.behind(path)
	}
	e.last = len(w.lines) - 1
	w.entries[index] = e
	for i := index + 1; i < len(w.entries); i++ {
		if w.entries[i].flow && w.entries[i].last < 0 {
			w.entries[i].first, w.entries[i].last = e.first, e.last
		}
	}
}

func (w *written) nested(path []string, at place, anchor string, depth int) int {
	if at.item && anchor == "" && w.chance(70) {
		w.more(w.pick(" ", " ", "   "))
		w.inline = true
		return w.mapping(path, w.width(), depth-1)
	}
	w.more(anchor)
	w.behind(path)
	column := at.column + w.number(1, 4)
	if anchor != "" {
		size := w.mapping(path, column, depth-1)
		w.anchors = append(w.anchors, strings.TrimPrefix(anchor, " &"))
		return size
	}
	if w.linked && len(w.anchors) > 0 && w.chance(30) {
		w.put(strings.Repeat(" ", column) + "<<: *" + w.anchors[w.number(0, len(w.anchors)-1)])
	}
	return w.mapping(path, column, depth-1)
}

func (w *written) nestedSequence(path []string, at place, anchor string, depth int) int {
	if at.item && anchor == "" && w.chance(50) {
		w.more(" ")
		w.inline = true
		return w.sequence(path, w.width(), depth-1)
	}
	w.more(anchor)
	w.behind(path)
	column := at.column + w.number(0, 3)
	if at.item || anchor != "" {
		column++
	}
	return w.sequence(path, column, depth-1)
}

func (w *written) scalar(column int) {
	deeper := "\n" + strings.Repeat(" ", column+w.number(1, 3))
	text := w.pick("plain", "two words", "1", "-1.50", "true", "null", "~", "no", "012", "2001-01-01", "'single # not a remark'",
		`"double \" \u00e9 # no"`, "http://x/y?z=1", "'{{x}}'", `""`, "''", "'it''s'", "several"+deeper+"lines of"+deeper+"text",
		`"several \`+deeper+"lines\n"+deeper+`of text"`, "'several"+deeper+"lines of # text'", "a#b", "0x1F", "éè ü", "=", "-x")
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			w.put("")
		}
		w.more(line)
	}
}

// blockScalar writes a scalar as a block.
func (w *written) blockScalar(path []string, column int) {
	w.block = true
	indent := w.number(1, 4)
	head := " " + w.pick("|", ">") + w.pick("", strconv.Itoa(indent)) + w.pick("", "-", "", w.keep())
	w.more(head)
	w.behind(path)
	for i := range w.number(1, 4) {
		line := strings.Repeat(" ", column+indent) + w.pick("text", "# not a remark", "- x: y", "é")
		if i > 0 && w.chance(30) {
			line = w.pick("", line+"  ", strings.Repeat(" ", column+indent+2)+"more")
		}
		w.put(line)
	}
}

func (w *written) keep() string {
	if w.kept {
		return "+"
	}
	return ""
}

// flow writes a flow collection, on one line or several.
func (w *written) flow(path []string, depth int) {
	opening, closing, isMap := "{", "}", w.chance(50)
	if !isMap {
		opening, closing = "[", "]"
	}
	column := w.width() + 1
	spread := w.chance(20)
	w.more(opening)
	size := w.number(0, 3)
	for i := range size {
		if spread {
			w.put(strings.Repeat(" ", column))
		} else if i > 0 || w.chance(10) {
			w.more(" ")
		}
		inner := w.at(path, strconv.Itoa(i))
		if isMap {
			key, name := w.key()
			inner = w.at(path, name)
			w.more(key + ": ")
		}
		w.entries = append(w.entries, entry{path: inner, flow: true, last: -1, kind: "scalar", only: size == 1})
		if depth > 0 && w.chance(20) {
			w.entries[len(w.entries)-1].kind = "flow"
			w.flow(inner, depth-1)
		} else {
			w.more(w.pick("plain", "1", "'x, y'", `"}"`, "two words", "null", "http://x"))
		}
		if i < size-1 || w.chance(10) {
			w.more(",")
		}
		if spread && w.chance(20) {
			w.more(" " + w.remark(inner))
		}
	}
	if spread {
		w.put(strings.Repeat(" ", column-1))
	}
	w.more(closing)
}

// text writes a whole text.
func (w *written) text() []byte {
	var out strings.Builder
	for w.chance(20) {
		w.put(w.remark(nil))
	}
	if w.chance(15) {
		w.put("---")
	}
	switch {
	case w.chance(85):
		w.mapping(nil, w.pick2(), 3)
	default:
		w.sequence(nil, w.pick2(), 3)
	}
	for w.chance(15) {
		w.put(w.remark(nil))
	}
	if w.chance(5) {
		w.put("...")
	}
	nl := w.pick("\n", "\n", "\r\n")
	if w.chance(5) {
		out.WriteString("\uFEFF")
	}
	out.WriteString(strings.Join(w.lines, nl))
	if !w.chance(15) {
		out.WriteString(nl)
	}
	return []byte(out.String())
}

func (w *written) pick2() int {
	if w.chance(10) {
		return 2
	}
	return 0
}
