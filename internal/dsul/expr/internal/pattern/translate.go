package pattern

import "strings"

// translate writes what JavaScript spells differently the way RE2 does: \u00e9, \u{e9}, \cJ, \/ and [^] for any character.
func translate(source string) string {
	if !strings.ContainsAny(source, `\[`) {
		return source
	}
	var out strings.Builder
	for i := 0; i < len(source); {
		switch {
		case strings.HasPrefix(source[i:], "[^]"):
			out.WriteString(`[\s\S]`)
			i += len("[^]")
		case source[i] == '\\' && i+1 < len(source):
			text, length := escape(source[i:])
			out.WriteString(text)
			i += length
		default:
			out.WriteByte(source[i])
			i++
		}
	}
	return out.String()
}

// escape translates the escape that source starts with, and says how long it was.
func escape(source string) (text string, length int) {
	switch source[1] {
	case 'u':
		if digits := hexDigits(source[2:]); digits >= 4 {
			return `\x{` + source[2:6] + `}`, 6
		}
		if end := strings.IndexByte(source, '}'); strings.HasPrefix(source, `\u{`) && end > 3 && hexDigits(source[3:end]) == end-3 {
			return `\x{` + source[3:end] + `}`, end + 1
		}
	case 'c':
		if len(source) > 2 && (source[2]|0x20 >= 'a' && source[2]|0x20 <= 'z') {
			const digits = "0123456789abcdef"
			control := source[2] & 0x1f
			return `\x` + string(digits[control>>4]) + string(digits[control&15]), 3
		}
	}
	return source[:2], 2
}

func hexDigits(text string) int {
	count := 0
	for count < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[count]) >= 0 {
		count++
	}
	return count
}
