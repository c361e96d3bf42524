package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words are the words of a text in lower case: letters and digits; everything else stands between them.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) })
}

// match holds when words occur in the values at the path: all of them, or one.
type match struct {
	path  string
	words []string
	every bool
}

func (n match) match(d *Document) bool {
	var there []string
	for _, value := range d.Values(n.path) {
		there = append(there, words(textOf(value))...)
	}
	for _, word := range n.words {
		if slices.Contains(there, word) != n.every {
			return !n.every
		}
	}
	return n.every && len(n.words) > 0
}

func (n match) asks(path string) bool { return n.path == path }

// phrase holds when words stand one after the other in a value of the event, whichever. The last one may be the beginning of
// a word.
type phrase struct {
	words []string
	open  bool
}

func (n phrase) match(d *Document) bool {
	return n.possible(d) && slices.ContainsFunc(d.tokens(), func(there []string) bool {
		for from := 0; from+len(n.words) <= len(there); from++ {
			if n.at(there[from:]) {
				return true
			}
		}
		return false
	})
}

// possible looks for the words in the stored text before that is decoded and split, which takes much longer. Where a letter may
// be written in several ways, it may be there in another.
func (n phrase) possible(d *Document) bool {
	if !plainText(d.stored.Body) {
		return true
	}
	for _, word := range n.words {
		if !containsFold(d.stored.Body, word) && !d.outside(word) {
			return false
		}
	}
	return true
}

// outside tells whether a word may be in a field that is not stored in the body.
func (d *Document) outside(word string) bool {
	if !plainText([]byte(d.stored.Type)) || containsFold([]byte(d.stored.Type), word) {
		return true
	}
	if word[0] < '0' || word[0] > '9' { // all words of the others begin with a digit
		return false
	}
	for _, field := range []string{fieldID, fieldCreatedAt, fieldSize} {
		if containsFold([]byte(textOf(d.outer(field))), word) {
			return true
		}
	}
	return false
}

// plainText tells that every letter of a JSON text stands for itself, and has at most one other case.
func plainText(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// containsFold tells whether a plain text contains a word that is in lower case.
func containsFold(text []byte, word string) bool {
	first, last := word[0], len(text)-len(word)
	upper := first
	if 'a' <= first && first <= 'z' {
		upper -= 'a' - 'A'
	}
	for i := 0; i <= last; i++ {
		if text[i] != first && text[i] != upper {
			continue
		}
		if len(word) == 1 || foldedAt(text[i:], word) {
			return true
		}
	}
	return false
}

func foldedAt(text []byte, word string) bool {
	for i := range len(word) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

func (n phrase) at(there []string) bool {
	last := len(n.words) - 1
	return slices.Equal(n.words[:last], there[:last]) &&
		(there[last] == n.words[last] || n.open && strings.HasPrefix(there[last], n.words[last]))
}

func (n phrase) asks(string) bool { return false }

// contains holds when the JSON of the event contains a text, in upper or lower case.
type contains struct{ text string }

func (n contains) match(d *Document) bool { return strings.Contains(d.folded(), n.text) }
func (n contains) asks(string) bool       { return false }

const (
	maxText = 1000
	// TextForm says what the text of a search may be.
	TextForm = `write words, "several words in a row", beginnings of words*, field:value, and - before what must not occur`
)

// parseText reads the text of a search. Everything in it must occur in an event, wherever: words, phrases in quotes, the
// beginning of a word with * at its end, and field:value, which is the exact value of a field (* in it is any text). A minus
// before any of them means that it must not occur. A problem is told in the second result.
func parseText(text string) (node, string) {
	if len(text) > maxText {
		return nil, "use at most 1,000 characters"
	}
	var parts all
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		text = strings.TrimPrefix(text, "+")
		rest, negative := strings.CutPrefix(text, "-")
		piece, after, problem := nextPiece(rest)
		if problem != "" {
			return nil, problem
		}
		text = after
		part := piece.node()
		if part == nil {
			continue
		}
		if negative {
			part = not{part}
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return anything{}, ""
	}
	return parts, ""
}

// piece is one item of a search text.
type piece struct {
	field, text string
	quoted      bool
}

// nextPiece takes the first item from a text.
func nextPiece(text string) (p piece, rest, problem string) {
	if end := strings.IndexFunc(text, func(r rune) bool { return r == ':' || r == '"' || unicode.IsSpace(r) }); end > 0 && text[end] == ':' {
		if path, ok := cleanPath(text[:end]); ok {
			p.field, text = path, text[end+1:]
		}
	}
	if inner, ok := strings.CutPrefix(text, `"`); ok {
		within, after, closed := strings.Cut(inner, `"`)
		if !closed {
			return p, "", `a " is open; close it`
		}
		p.text, p.quoted = within, true
		return p, after, ""
	}
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	p.text = text[:end]
	if p.text == "OR" {
		return p, "", "OR is not known here; " + TextForm
	}
	return p, text[end:], ""
}

// node is what an item asks; nil when it asks nothing, such as a lone dash.
func (p piece) node() node {
	if p.field != "" {
		return exactly(p.field, p.text, p.quoted)
	}
	if p.text == "AND" && !p.quoted {
		return nil // that is how it is read anyway
	}
	found := words(p.text)
	if len(found) == 0 {
		return nil
	}
	return phrase{words: found, open: !p.quoted && strings.HasSuffix(p.text, "*")}
}
