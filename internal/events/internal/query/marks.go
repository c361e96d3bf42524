package query

import (
	"slices"
	"strings"
)

// A mark is a number that stands for a value at a path of an event of a workspace, or for anything at a path. Different ones may
// have the same mark: a mark tells where to look, never what is there.

// Marks calls visit with the marks of a stored event, some of them several times. What an event is found by at once in another
// way has none.
func Marks(workspaceID string, body []byte, visit func(mark uint64)) {
	s := scanner{text: body, visit: visit}
	s.value(fnv(fnvOffset, workspaceID), inEvent)
}

// Needs lists what an event must have to match: of each list at least one mark. Without a list nothing is known of what
// matches. A list may be long.
func (f Filter) Needs(workspaceID string) [][]uint64 {
	if f.root == nil {
		return nil
	}
	return needs(f.root, fnv(fnvOffset, workspaceID))
}

func needs(n node, start uint64) (lists [][]uint64) {
	switch n := n.(type) {
	case all:
		for _, part := range n {
			lists = append(lists, needs(part, start)...)
		}
		return lists
	case some:
		return needsOne(n, start)
	case term:
		return n.needs(start)
	case exists:
		return needsAny(n.path, start)
	case like:
		return needsAny(n.path, start)
	case bounds:
		return needsAny(n.path, start)
	case match:
		return needsAny(n.path, start)
	default:
		return nil
	}
}

// needsOne is what one of several parts needs at least, whichever it is.
func needsOne(n some, start uint64) [][]uint64 {
	var either []uint64
	for _, part := range n.parts {
		lists := needs(part, start)
		if len(lists) == 0 {
			return nil
		}
		either = append(either, slices.MinFunc(lists, func(a, b []uint64) int { return len(a) - len(b) })...)
	}
	if n.least < 1 || len(either) == 0 {
		return nil
	}
	return [][]uint64{either}
}

func (n term) needs(start uint64) [][]uint64 {
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
	return [][]uint64{one}
}

// needsAny is that there is something at a path.
func needsAny(path string, start uint64) [][]uint64 {
	if !marked(path) {
		return nil
	}
	return [][]uint64{{anyMark(pathMark(start, path))}}
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
