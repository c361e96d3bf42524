package dsul

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The tags a node may have.
const (
	tagNull  = "!!null"
	tagBool  = "!!bool"
	tagInt   = "!!int"
	tagFloat = "!!float"
	tagStr   = "!!str"
	tagMap   = "!!map"
	tagSeq   = "!!seq"
	tagMerge = "!!merge"
)

// Tag gives the type of a scalar by the core schema of YAML 1.2, whatever the library took it for. What older schemas read
// as something else stays text: yes and no, dates, 1_000, 190:20:30. Two things of the core schema stay text as well
// because JSON could not say them without loss: numbers with leading zeros, which are codes rather than numbers, and
// infinities.
func Tag(n *yaml.Node) string {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Tag == tagStr || n.Tag == tagMerge {
		return n.Tag
	}
	if n.Style&quoted != 0 && n.Style&yaml.TaggedStyle == 0 {
		return tagStr
	}
	return plainTag(n.Value)
}

func plainTag(s string) string {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return tagNull
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return tagBool
	}
	number, isInt := jsonNumber(s)
	switch {
	case number == "":
		return tagStr
	case isInt:
		return tagInt
	default:
		return tagFloat
	}
}

// jsonNumber gives the JSON spelling of a plain scalar that is a number, keeping its digits, and nothing for other texts.
func jsonNumber(s string) (number string, isInt bool) {
	if s == "" || s[0] > '9' {
		return "", false
	}
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'o') {
		return radixNumber(s)
	}
	sign, rest := "", s
	switch s[0] {
	case '-':
		sign, rest = "-", s[1:]
	case '+':
		rest = s[1:]
	}
	whole, rest := digits(rest)
	fraction, point := "", false
	if strings.HasPrefix(rest, ".") {
		point = true
		fraction, rest = digits(rest[1:])
	}
	if whole == "" && fraction == "" || len(whole) > 1 && whole[0] == '0' {
		return "", false
	}
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if rest == "" {
		return sign + whole, !point
	}
	if !isExponent(rest) {
		return "", false
	}
	return sign + whole + rest, false
}

func digits(s string) (found, rest string) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}

func isExponent(s string) bool {
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	found, rest := digits(s)
	return found != "" && rest == ""
}

// radixNumber reads 0x1F and 0o17. What needs more than 64 bits is text.
func radixNumber(s string) (number string, isInt bool) {
	base := 16
	if s[1] == 'o' {
		base = 8
	}
	if s[2] == '+' || s[2] == '-' || strings.Contains(s, "_") {
		return "", false
	}
	value, err := strconv.ParseUint(s[2:], base, 64)
	if err != nil {
		return "", false
	}
	return strconv.FormatUint(value, 10), true
}
