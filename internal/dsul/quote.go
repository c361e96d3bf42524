package dsul

import (
	"fmt"
	"regexp"
	"strings"
)

// literal tells whether a text can be written as a block of its lines: there are several, its characters can stand as
// they are, and its first line does not begin with what a reader would take for indentation.
func literal(s string) bool {
	if !strings.Contains(s, "\n") || strings.Trim(s, "\n") == "" {
		return false
	}
	if first := strings.TrimLeft(s, "\n")[0]; first == ' ' || first == '\t' {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !visible(r) {
			return false
		}
	}
	return true
}

// visible tells whether a character can stand in a text without an escape, and does not end a line.
func visible(r rune) bool {
	switch r {
	case '\t', '\n', '\r', 0x85, 0x2028, 0x2029, 0xFEFF:
		return false
	}
	return printable(r)
}

// quote writes a text on one line, in quotes when it needs them.
func quote(s string) string {
	if plain(s) {
		return s
	}
	for _, r := range s {
		if !visible(r) {
			return escaped(s)
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

var (
	// Texts that some YAML reader takes for a number, a date or a time.
	numberLike = regexp.MustCompile(`^[-+.0-9][-+.0-9a-fA-FoxXTtZz_:, ]*$`) //nolint:gochecknoglobals // compiled once
	// Words that some reader takes for a boolean, nothing, or a number.
	wordLike = regexp.MustCompile(`(?i)^(?:yes|no|on|off|true|false|null|[-+]?\.(?:inf|nan))$`) //nolint:gochecknoglobals // compiled once
)

// plain tells whether a text can stand without quotes, for any reader.
func plain(s string) bool {
	if s == "" || strings.IndexByte("-?:,[]{}#&*!|>'\"%@`=<~ ", s[0]) >= 0 {
		return false
	}
	if last := s[len(s)-1]; last == ' ' || last == ':' {
		return false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	for _, r := range s {
		if !visible(r) {
			return false
		}
	}
	return plainTag(s) == tagStr && !wordLike.MatchString(s) && (s[0] > '9' || !numberLike.MatchString(s))
}

// escaped writes a text in double quotes, with escapes for what cannot be seen.
func escaped(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case visible(r):
			out.WriteRune(r)
		case r <= 0xFF:
			fmt.Fprintf(&out, `\x%02X`, r)
		case r <= 0xFFFF:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			fmt.Fprintf(&out, `\U%08X`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
