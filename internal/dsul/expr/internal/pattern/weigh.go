package pattern

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxClasses   = 16     // \p{...}: each is a table of hundreds of ranges
	classWeight  = 200    // what one of them weighs beside an instruction
	maxFolded    = 10_000 // characters in ranges that are taken without regard to case: each is looked up one by one
	lastFoldable = 0x1e943
)

// weigh refuses patterns that are small once compiled, but take long to compile, before anything is compiled. It returns
// the weight of what it lets pass.
func weigh(text string) (int, error) {
	classes := strings.Count(text, `\p`) + strings.Count(text, `\P`)
	if classes > maxClasses {
		return 0, errors.New(`a regular expression has at most 16 classes such as \p{L}`)
	}
	if ignoresCase(text) && foldedRanges(text) > maxFolded {
		return 0, errors.New("the ranges of this regular expression are too wide to ignore case in them: use narrower ones")
	}
	return classes * classWeight, nil
}

// ignoresCase says whether some group of the pattern has the flag i.
func ignoresCase(text string) bool {
	for {
		at := strings.Index(text, "(?")
		if at < 0 {
			return false
		}
		text = text[at+len("(?"):]
		flags := len(text) - len(strings.TrimLeft(text, "imsU-"))
		if strings.Contains(text[:flags], "i") {
			return true
		}
	}
}

// foldedRanges counts the characters in all that looks like a range.
func foldedRanges(text string) int {
	total := 0
	previous := rune(-1)
	for text != "" {
		if text[0] == '-' && previous >= 0 && len(text) > 1 {
			last, length := atom(text[1:])
			total += max(0, int(min(last, lastFoldable))-int(previous))
			text = text[1+length:]
			previous = -1
			continue
		}
		var length int
		previous, length = atom(text)
		text = text[length:]
	}
	return total
}

// atom reads the character that a text starts with, which may be written as \x41, \x{e9} or \101. Of other escapes it is
// the letter: none of them ends a wide range.
func atom(text string) (r rune, length int) {
	if text[0] != '\\' || len(text) == 1 {
		return utf8.DecodeRuneInString(text)
	}
	digits, base := "", 16
	switch {
	case strings.HasPrefix(text, `\x{`):
		end := strings.IndexByte(text, '}')
		if end < 0 {
			return utf8.MaxRune, len(text)
		}
		digits, length = text[len(`\x{`):end], end+1
	case text[1] == 'x' && len(text) >= 4: // as \x41
		digits, length = text[2:4], 4
	case text[1] >= '0' && text[1] <= '7':
		length = 2
		for length < min(4, len(text)) && text[length] >= '0' && text[length] <= '7' {
			length++
		}
		digits, base = text[1:length], 8
	default:
		r, length = utf8.DecodeRuneInString(text[1:])
		return r, length + 1
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune {
		return utf8.MaxRune, length
	}
	return rune(n), length
}
