package events

import (
	"bytes"
	"strings"

	"atelier/internal/errs"
)

// The longest number of a payload, and the longest exponent. Databases refuse to look at what is far beyond.
const (
	maxNumber   = 1000
	maxExponent = 4
)

// CheckPayload refuses a payload, which is JSON, with numbers that no database can compare; validation_failed says where.
func CheckPayload(payload []byte, field string) error {
	for rest := payload; len(rest) > 0; {
		var size int
		switch c := rest[0]; {
		case c == '"':
			size = textSize(rest)
		case c == '-' || '0' <= c && c <= '9':
			size = numberSize(rest)
			if !storable(string(rest[:size])) {
				return errs.Invalid(errs.Field{Field: field, Message: "a number has more than 1,000 characters, or an exponent of more than four digits; send it as text"})
			}
		default:
			size = 1
		}
		rest = rest[size:]
	}
	return nil
}

// textSize is the length of the text at the beginning, with its quotes.
func textSize(json []byte) int {
	for i := 1; i < len(json); i++ {
		switch json[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(json)
}

// numberSize is the length of the number at the beginning.
func numberSize(json []byte) int {
	end := bytes.IndexFunc(json, func(r rune) bool { return !strings.ContainsRune("+-.0123456789eE", r) })
	if end < 0 {
		return len(json)
	}
	return end
}

func storable(number string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	return len(number) <= maxNumber && len(strings.TrimLeft(exponent, "+-0")) <= maxExponent
}
