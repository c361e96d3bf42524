package value

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JavaScript counts texts in UTF-16 units: most characters are one, emoji are two.

// Length is the length of a text as JavaScript counts it.
func Length(text string) int {
	n := 0
	for _, r := range text {
		n += width(r)
	}
	return n
}

func width(r rune) int {
	if r >= 0x10000 { // the first character that takes two units
		return 2
	}
	return 1
}

// character returns the length of a text, or the character at a position. Both halves of a character that takes two
// positions give the whole character: a text never holds half of one.
func character(text, key string) any {
	if key == "length" {
		return float64(Length(text))
	}
	wanted, ok := index(key, len(text))
	if !ok {
		return Undefined{}
	}
	at := 0
	for _, r := range text {
		if at += width(r); wanted < at {
			return string(r)
		}
	}
	return Undefined{}
}

// Slice cuts a text from one position to another, both within it, as JavaScript counts.
func Slice(text string, from, to int) string {
	if ascii(text) {
		return text[from:to]
	}
	return string(utf16.Decode(utf16.Encode([]rune(text))[from:to]))
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// compareText orders texts by their UTF-16 units. That is the order of their characters, but for those of two units, which
// come before the last few of one.
func compareText(a, b string) int {
	same := commonPrefix(a, b)
	if same == len(a) || same == len(b) {
		return len(a) - len(b)
	}
	ra, _ := utf8.DecodeRuneInString(a[same:])
	rb, _ := utf8.DecodeRuneInString(b[same:])
	if width(ra) != width(rb) {
		ra, rb = firstUnit(ra), firstUnit(rb)
	}
	return int(ra) - int(rb)
}

// commonPrefix is how many bytes of whole characters two texts start with in common.
func commonPrefix(a, b string) int {
	const block = 256 // compared at once
	same, shorter := 0, min(len(a), len(b))
	for same+block <= shorter && a[same:same+block] == b[same:same+block] {
		same += block
	}
	for same < shorter && a[same] == b[same] {
		same++
	}
	for same < shorter && same > 0 && (!utf8.RuneStart(a[same]) || !utf8.RuneStart(b[same])) {
		same--
	}
	return same
}

func firstUnit(r rune) rune {
	if width(r) == 1 {
		return r
	}
	first, _ := utf16.EncodeRune(r)
	return first
}

// Trim takes away what JavaScript calls white space at both ends.
func Trim(text string) string { return strings.TrimFunc(text, isSpace) }

func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}
