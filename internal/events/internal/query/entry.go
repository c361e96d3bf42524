package query

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Entry is what an index keeps of an event so that Condition finds it. Both are made here, so that every search engine finds the
// same: none of them decides what a value or a word is.
type Entry struct {
	// Terms has one for each value at its path, and one for each path that has a value.
	Terms []string
	// Words are the different words of all values.
	Words []string
	// Depth is how deep the app is nested that emitted the event; nil when none did.
	Depth *float64
}

// Entry tells what an index keeps of the event.
func (d *Document) Entry() Entry {
	terms, found := map[string]bool{}, map[string]bool{}
	for key, value := range d.tree() {
		if !isOuter(key) {
			note(terms, key, value)
		}
	}
	for _, text := range d.tokens() {
		for _, word := range text {
			found[cut(word)] = true
		}
	}
	e := Entry{Terms: slices.Sorted(maps.Keys(terms)), Words: slices.Sorted(maps.Keys(found))}
	for _, value := range d.Values(depthPath) {
		depth, ok := numberOf(value)
		depth = max(-math.MaxFloat64, min(depth, math.MaxFloat64)) // what JSON can write
		if ok && (e.Depth == nil || depth > *e.Depth) {
			e.Depth = &depth
		}
	}
	return e
}

// note adds the terms of what lies at a path and below, and tells whether anything does. Nobody can ask for longer paths.
func note(terms map[string]bool, path string, value any) (there bool) {
	if len(path) > maxPath {
		return false
	}
	switch in := value.(type) {
	case nil:
		return false
	case []any:
		for _, element := range in {
			there = note(terms, path, element) || there
		}
	case map[string]any:
		for key, element := range in {
			there = note(terms, path+"."+key, element) || there
		}
	default:
		there = true
		terms[valueTerm(path, value)] = true
	}
	if there {
		terms[pathTerm(path)] = true
	}
	return there
}

// valueTerm is the term of a value: text and booleans as they are written, numbers by their value.
func valueTerm(path string, value any) string {
	switch value.(type) {
	case string, bool:
		return textTerm(path, textOf(value))
	default:
		return numberTerm(path, textOf(value))
	}
}

func textTerm(path, text string) string { return compress(pathTerm(path) + "=" + text) }
func numberTerm(path, number string) string {
	return compress(pathTerm(path) + "#" + canonical(number))
}

// pathTerm tells that there is a value at a path. With its length before it, no path and value look like another.
func pathTerm(path string) string { return strconv.Itoa(len(path)) + ":" + path }

// compress keeps terms short: search engines refuse long ones.
func compress(term string) string {
	const longest = 400
	if len(term) <= longest {
		return term
	}
	sum := sha256.Sum256([]byte(term))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// cut keeps words short, at the same place in events and in queries.
func cut(word string) string {
	const longest = 1000
	if len(word) <= longest {
		return word
	}
	end := longest
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}

// plainPath tells that a path means the same to Document and to terms, which differ where parts are empty.
func plainPath(path string) bool {
	return path != "" && len(path) <= maxPath && !strings.HasPrefix(path, ".") && !strings.HasSuffix(path, ".") && !strings.Contains(path, "..")
}
