package files

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	longestName = 250
	nameless    = "file"
)

// cleanName is the name that a file gets for the one it came with: the last part of a path, without accents, invisible
// characters and those that make an address ambiguous, and not longer than 250 characters, of which the last are kept.
func cleanName(given string) string {
	given = given[strings.LastIndexAny(given, `/\`)+1:]
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToValidUTF8(given, "")) {
		switch {
		case accent(r) || unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029':
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case strings.ContainsRune(`%;"<>|*?:`, r):
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	name := shortened(strings.TrimSpace(norm.NFC.String(b.String())))
	if strings.Trim(name, ". ") == "" {
		return nameless
	}
	return name
}

// accent tells the marks that a letter is written without.
func accent(r rune) bool { return '\u0300' <= r && r <= '\u036f' }

// shortened keeps the end of a name that is too long, where it says what the file is.
func shortened(name string) string {
	const longestEnding = 20
	all := []rune(name)
	if len(all) <= longestName {
		return name
	}
	ending := all[max(len(all)-longestEnding, 0):]
	dot := strings.LastIndexByte(string(ending), '.')
	if dot < 0 {
		return string(all[:longestName])
	}
	kept := []rune(string(ending)[dot:])
	return string(all[:longestName-len(kept)]) + string(kept)
}
