package value

import (
	"math"
	"strconv"
	"strings"
)

// Number turns a value into a number, as JavaScript does; NaN when it is none.
func Number(v any) float64 {
	switch v := primitive(v).(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		return ParseNumber(v)
	case nil:
		return 0
	default:
		return math.NaN()
	}
}

// ParseNumber reads a whole text as a number; the empty text is 0.
func ParseNumber(text string) float64 {
	text = Trim(text)
	if text == "" {
		return 0
	}
	if len(text) > 2 && text[0] == '0' {
		if base := prefixBase(text[1]); base != 0 {
			return parseDigits(text[2:], base)
		}
	}
	unsigned := strings.TrimLeft(text[:1], "+-") + text[1:]
	if unsigned == "Infinity" {
		return math.Inf(sign(text))
	}
	if DecimalPrefix(unsigned) != len(unsigned) {
		return math.NaN()
	}
	return parseDecimal(text)
}

// DecimalPrefix is how many bytes at the start of a text are an unsigned decimal number: 1, 1.5, .5, 1., 1e3.
func DecimalPrefix(text string) int {
	whole := digits(text)
	end := whole
	if end < len(text) && text[end] == '.' {
		if fraction := digits(text[end+1:]); whole+fraction > 0 {
			end += 1 + fraction
		}
	}
	if end == 0 {
		return 0
	}
	if rest := text[end:]; rest != "" && rest[0]|0x20 == 'e' {
		exponent := 1
		if len(rest) > 1 && (rest[1] == '+' || rest[1] == '-') {
			exponent = 2
		}
		if n := digits(rest[exponent:]); n > 0 {
			end += exponent + n
		}
	}
	return end
}

func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// parseDecimal reads what DecimalPrefix has checked. What is too large is infinite.
func parseDecimal(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func sign(text string) int {
	if strings.HasPrefix(text, "-") {
		return -1
	}
	return 1
}

func prefixBase(letter byte) float64 {
	switch letter | 0x20 {
	case 'x':
		return 16
	case 'o':
		return 8
	case 'b':
		return 2
	}
	return 0
}

func parseDigits(text string, base float64) float64 {
	n := 0.0
	for i := range len(text) {
		digit, err := strconv.ParseUint(text[i:i+1], 36, 8)
		if err != nil || float64(digit) >= base {
			return math.NaN()
		}
		n = n*base + float64(digit)
	}
	return n
}

// FormatNumber writes a number as JavaScript does: 1, 1.5, 1e+21, NaN, -Infinity.
func FormatNumber(n float64) string {
	var room [32]byte // more than any number needs
	return string(AppendNumber(room[:0], n))
}

// AppendNumber appends what FormatNumber writes.
func AppendNumber(out []byte, n float64) []byte {
	switch {
	case math.IsNaN(n):
		return append(out, "NaN"...)
	case math.IsInf(n, 1):
		return append(out, "Infinity"...)
	case math.IsInf(n, -1):
		return append(out, "-Infinity"...)
	case n == 0:
		return append(out, '0')
	}
	if size := math.Abs(n); size < 1e21 && size >= 1e-6 {
		return strconv.AppendFloat(out, n, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, n, 'e', -1, 64)
	if last := len(out) - 1; out[last-1] == '0' && (out[last-2] == '-' || out[last-2] == '+') { // e-07 is e-7
		out = append(out[:last-1], out[last])
	}
	return out
}
