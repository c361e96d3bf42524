package query

import (
	"slices"
	"unicode/utf8"
)

const (
	// mostWords is how many words of an event have marks. The longest texts have more.
	mostWords = 4096
	// beginning is how many letters of a word have a mark of their own.
	beginning = 4
)

// wordMarks finds the marks of the words of texts, cut as words does.
type wordMarks struct {
	start uint64
	visit func(mark uint64)
	count int
}

func (w *wordMarks) of(text []byte) {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			w.any(string(text))
			return
		}
	}
	hash, begun, length := w.start, uint64(0), 0
	for _, c := range text {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		default:
			w.word(hash, begun, length)
			hash, length = w.start, 0
			continue
		}
		hash = fnvByte(hash, c)
		if length++; length == beginning {
			begun = hash
		}
	}
	w.word(hash, begun, length)
}

// any is of for a text that has letters of any kind.
func (w *wordMarks) any(text string) {
	for _, word := range words(text) {
		w.word(fnv(w.start, word), fnv(w.start, begins(word)), utf8.RuneCountInString(word))
	}
}

// word gives the marks of a word of so many letters, from the hashes of it and of its beginning. One that is no longer than that
// has no other mark for it.
func (w *wordMarks) word(hash, begun uint64, length int) {
	if length == 0 {
		return
	}
	if w.count++; w.count > mostWords {
		return
	}
	w.visit(mix(hash))
	if length > beginning {
		w.visit(beginMark(begun))
	}
}

// begins is how a word begins: all of it when it is short.
func begins(word string) string {
	count := 0
	for at := range word {
		if count == beginning {
			return word[:at]
		}
		count++
	}
	return word
}

// Words are hashed apart from paths, which begin with a dot.
func wordStart(start uint64) uint64             { return fnvByte(start, '"') }
func wordMark(start uint64, word string) uint64 { return mix(fnv(wordStart(start), word)) }
func beginMark(begun uint64) uint64             { return mix(fnvByte(begun, '*')) }
func beginsMark(start uint64, word string) uint64 {
	return beginMark(fnv(wordStart(start), begins(word)))
}

func (n phrase) needs(start uint64) (list []Need) {
	whole, last := n.words, ""
	if n.open {
		whole, last = n.words[:len(n.words)-1], n.words[len(n.words)-1]
	}
	switch count := utf8.RuneCountInString(last); {
	case count == beginning:
		list = append(list, Need{Marks: []uint64{wordMark(start, last), beginsMark(start, last)}, Words: true})
	case count > beginning:
		list = append(list, Need{Marks: []uint64{beginsMark(start, last)}, Words: true})
	}
	return append(list, needsWords(whole, start)...)
}

func (n match) needs(start uint64) []Need {
	if n.every {
		return needsWords(n.words, start)
	}
	var one Need
	for _, word := range n.words {
		one = one.or(Need{Marks: []uint64{wordMark(start, word)}, Words: true})
	}
	if len(one.Marks) == 0 {
		return nil
	}
	return []Need{one}
}

// needsWords is that there are some words. The longest tell most; of a few letters hardly any is rare, and looking for it costs
// the same.
func needsWords(asked []string, start uint64) (list []Need) {
	const most, short = 3, 3
	sorted := slices.Clone(asked)
	slices.SortStableFunc(sorted, func(a, b string) int { return len(b) - len(a) })
	for i, word := range slices.Compact(sorted) {
		if i == most || i > 0 && len(word) < short {
			break
		}
		list = append(list, Need{Marks: []uint64{wordMark(start, word)}, Words: true})
	}
	return list
}
