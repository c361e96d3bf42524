package value

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalar reads a scalar as YAML 1.2 does, and keeps what JSON cannot say as the characters that were written: `no`, `012`,
// `1_000`, `2001-01-01` and `.inf` are strings, and 1.10 is not 1.1.
func scalar(node *yaml.Node) (*Value, error) {
	if err := checkText(node); err != nil {
		return nil, err
	}
	v := &Value{Kind: String, Text: node.Value}
	switch tag := node.ShortTag(); tag {
	case "!!str", "!!merge":
	case "!!null", "!!bool", "!!int", "!!float", "!!timestamp", "":
		v.Kind, v.Text = Plain(node.Value)
	default:
		v.Tag = tag
	}
	return v.seal(), nil
}

// Plain tells what a scalar means that is written without quotes, a block or a tag.
func Plain(text string) (Kind, string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return Null, ""
	case "true", "True", "TRUE":
		return Bool, "true"
	case "false", "False", "FALSE":
		return Bool, "false"
	}
	if number, ok := number(text); ok {
		return Number, number
	}
	return String, text
}

// number gives a number in JSON's spelling, with the digits it was written with.
func number(text string) (string, bool) {
	if based, ok := based(text); ok {
		return based, true
	}
	unsigned, sign := strings.TrimPrefix(text, "+"), ""
	if unsigned == text {
		if rest, negative := strings.CutPrefix(text, "-"); negative {
			unsigned, sign = rest, "-"
		}
	}
	whole, rest := digits(unsigned)
	fraction := ""
	if after, ok := strings.CutPrefix(rest, "."); ok {
		fraction, rest = digits(after)
		if whole == "" && fraction == "" {
			return "", false
		}
	}
	if whole == "" && fraction == "" || len(whole) > 1 && whole[0] == '0' || !exponent(rest) {
		return "", false
	}
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + rest, true
}

func digits(text string) (number, rest string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

func exponent(text string) bool {
	if text == "" {
		return true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return false
	}
	text = text[1:]
	if text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	number, rest := digits(text)
	return number != "" && rest == ""
}

// based reads the hexadecimal and octal numbers of YAML 1.2, up to 64 bits.
func based(text string) (string, bool) {
	base := 0
	switch {
	case strings.HasPrefix(text, "0x"):
		base = 16
	case strings.HasPrefix(text, "0o"):
		base = 8
	default:
		return "", false
	}
	n, err := strconv.ParseUint(text[2:], base, 64)
	if err != nil {
		return "", false
	}
	return strconv.FormatUint(n, 10), true
}
