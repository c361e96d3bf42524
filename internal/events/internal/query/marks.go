package query

import (
	"crypto/sha256"
	"slices"
	"strings"

	"atelier/internal/bus"
)

// A mark is a number that stands for a value at a path of an event of a workspace, for anything at a path, for a word wherever it
// is, or for the beginning of one. Different ones may have the same mark: a mark tells where to look, never what is there.

// Found is told what there is in an event.
type Found struct {
	// Mark is called with each mark, with some of them several times.
	Mark func(mark uint64)
	// Path is called with each path that has something, and its hash, some of them several times. It may not keep the text.
	Path func(path []byte, hash uint64)
	// NoWords asks for no marks of words.
	NoWords bool
}

// Marks finds the marks of a stored event. What an event is found by at once in another way has none but for its words. It is
// false for an event with so many words that only some of them have marks.
func Marks(e bus.Event, found Found) (allWords bool) {
	start := fnv(fnvOffset, e.WorkspaceID)
	w := &wordMarks{start: wordStart(start), visit: found.Mark}
	if found.NoWords {
		w.count = mostWords + 1
	}
	d := Document{stored: e}
	for _, name := range []string{fieldID, fieldType, fieldCreatedAt, fieldSize} {
		w.of([]byte(textOf(d.outer(name))))
	}
	s := scanner{text: e.Body, visit: found.Mark, words: w, there: found.Path}
	s.value(start, inEvent)
	return w.count <= mostWords
}

// Wordless is the mark of an event that has not the marks of all its words.
func Wordless(workspaceID string) uint64 { return mix(fnvByte(fnv(fnvOffset, workspaceID), '!')) }

// Need is something of which an event must have one to match.
type Need struct {
	// Marks are those of which one will do.
	Marks []uint64
	// Words tells that marks of words are among them: a Wordless event will do as well.
	Words bool
	// Lacks are paths: an event that has nothing at one of them will do as well.
	Lacks []Path
}

// or is one need or another.
func (n Need) or(other Need) Need {
	return Need{
		Marks: append(slices.Clone(n.Marks), other.Marks...), Words: n.Words || other.Words, Lacks: append(slices.Clone(n.Lacks), other.Lacks...),
	}
}

// Path stands for a path in the events of a workspace. No two have the same.
type Path [16]byte

// PathOf is that of a path.
func PathOf(workspaceID, path string) Path {
	sum := sha256.Sum256([]byte(workspaceID + "\x00" + path))
	return Path(sum[:len(Path{})])
}

// Needs lists what an event must have to match: something of each. Without one nothing is known of what matches. One may have
// many marks.
func (f Filter) Needs(workspaceID string) []Need {
	if f.root == nil {
		return nil
	}
	return scope{workspaceID: workspaceID, start: fnv(fnvOffset, workspaceID)}.needs(f.root)
}

// scope is the workspace whose events are looked for.
type scope struct {
	workspaceID string
	start       uint64
}

func (in scope) needs(n node) (list []Need) {
	switch n := n.(type) {
	case all:
		for _, part := range n {
			list = append(list, in.needs(part)...)
		}
		return list
	case some:
		return in.needsOne(n)
	case not:
		return in.needsNo(n.part)
	case term:
		return n.needs(in.start)
	case exists:
		return needsAny(n.path, in.start)
	case like:
		return needsAny(n.path, in.start)
	case bounds:
		return needsAny(n.path, in.start)
	case match:
		return append(needsAny(n.path, in.start), n.needs(in.start)...)
	case phrase:
		return n.needs(in.start)
	default:
		return nil
	}
}

// needsOne is what one of several parts needs at least, whichever it is.
func (in scope) needsOne(n some) []Need {
	if n.least < 1 || len(n.parts) == 0 {
		return nil
	}
	var either Need
	for _, part := range n.parts {
		list := in.needs(part)
		if len(list) == 0 {
			return nil
		}
		either = either.or(slices.MinFunc(list, func(a, b Need) int { return len(a.Marks) - len(b.Marks) }))
	}
	return []Need{either}
}

// needsNo is what an event needs for a part not to hold: that is known where it is about there being something.
func (in scope) needsNo(part node) []Need {
	n, ok := part.(exists)
	if !ok || !plainPath(n.path) || isOuter(n.path) {
		return nil
	}
	return []Need{{Lacks: []Path{PathOf(in.workspaceID, n.path)}}}
}

func (n term) needs(start uint64) []Need {
	switch {
	case !marked(n.path):
		return nil
	case n.fold:
		return needsAny(n.path, start)
	}
	at := pathMark(start, n.path)
	var one []uint64
	for text := range n.values {
		one = append(one, textMark(at, text))
	}
	for number := range n.numbers {
		one = append(one, numberMark(at, number))
	}
	if len(one) == 0 {
		return nil
	}
	return []Need{{Marks: one}}
}

// needsAny is that there is something at a path.
func needsAny(path string, start uint64) []Need {
	if !marked(path) {
		return nil
	}
	return []Need{{Marks: []uint64{anyMark(pathMark(start, path))}}}
}

// marked tells that what is at a path has marks: not what every event of a workspace has, and not what has an index.
func marked(path string) bool {
	if !plainPath(path) || isOuter(path) {
		return false
	}
	rest, ok := strings.CutPrefix(path, "source.")
	first, _, _ := strings.Cut(rest, ".")
	return !ok || !unmarked(inSource, []byte(first))
}

// A path is hashed with its separators, so that it is the same number whether its dots are of the path or of a key.
func pathMark(start uint64, path string) uint64 { return fnv(fnvByte(start, '.'), path) }

func textMark[T ~string | ~[]byte](at uint64, text T) uint64 { return mix(fnv(fnvByte(at, '='), text)) }
func numberMark(at uint64, canonical string) uint64          { return mix(fnv(fnvByte(at, '#'), canonical)) }
func anyMark(at uint64) uint64                               { return mix(fnvByte(at, '?')) }

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func fnv[T ~string | ~[]byte](h uint64, text T) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

func fnvByte(h uint64, b byte) uint64 { return (h ^ uint64(b)) * fnvPrime }

// mix spreads a hash over all its bits.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
