package query

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// textOf is a scalar as it is written.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	default:
		return fmt.Sprint(v)
	}
}

// numberOf is the value of a number; out of range it is infinite.
func numberOf(value any) (float64, bool) {
	switch v := value.(type) {
	case json.Number:
		n, _ := strconv.ParseFloat(v.String(), 64)
		return n, true
	case int:
		return float64(v), true
	case float64:
		return v, true
	default:
		return 0, false
	}
}

// isNumber tells whether a text is a number as JSON writes them.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && json.Valid([]byte(text))
}

// canonical is the one spelling of a JSON number: its digits without zeros at the ends, and an exponent. It is exact where
// floating point is not.
func canonical(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	power, _ := strconv.Atoi(exponent)
	power -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	power += len(digits) - len(short)
	switch {
	case short == "":
		return "0"
	case negative:
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(power)
}
