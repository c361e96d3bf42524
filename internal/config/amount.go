package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Sizes count in powers of two, as operators of the original expect from 1mb.
const (
	kilobyte = int64(1) << 10
	megabyte = int64(1) << 20
	gigabyte = int64(1) << 30
)

const day = 24 * time.Hour

// amount reads the text of a number, a size or a duration; all three are compared and kept as whole numbers.
func (s setting) amount(text string) (int64, bool) {
	switch s.kind {
	case kindSize:
		return parseSize(text)
	case kindDuration:
		return parseDuration(text, s.unit)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
}

// amountText writes an amount so that amount reads it back.
func (s setting) amountText(n int64) string {
	switch s.kind {
	case kindSize:
		return sizeText(n)
	case kindDuration:
		return durationText(time.Duration(n))
	default:
		return strconv.FormatInt(n, 10)
	}
}

// amountName is what a malformed value is not.
func (s setting) amountName() string {
	switch s.kind {
	case kindSize:
		return "a size such as 1048576, 500kb or 10mb"
	case kindDuration:
		return "a duration such as 500ms, 30s or 2m"
	default:
		return "a whole number"
	}
}

func parseSize(text string) (int64, bool) {
	digits, factor := splitSize(strings.ToLower(text))
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, false
	}
	return multiply(int64(n), factor)
}

func splitSize(text string) (digits string, factor int64) {
	for _, unit := range []struct {
		suffix string
		factor int64
	}{{"kb", kilobyte}, {"mb", megabyte}, {"gb", gigabyte}, {"b", 1}} {
		if rest, found := strings.CutSuffix(text, unit.suffix); found {
			return rest, unit.factor
		}
	}
	return text, 1
}

func sizeText(n int64) string {
	switch {
	case n%gigabyte == 0:
		return strconv.FormatInt(n/gigabyte, 10) + "gb"
	case n%megabyte == 0:
		return strconv.FormatInt(n/megabyte, 10) + "mb"
	case n%kilobyte == 0:
		return strconv.FormatInt(n/kilobyte, 10) + "kb"
	default:
		return strconv.FormatInt(n, 10)
	}
}

// parseDuration reads the form of Go, a number of days as in 14d, or a bare number in the unit of the setting: seconds unless it
// says otherwise.
func parseDuration(text, unit string) (int64, bool) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseInt(days, 10, 64)
		in, fits := multiply(n, int64(day))
		return in, err == nil && fits
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		switch unit {
		case "ms":
			return multiply(n, int64(time.Millisecond))
		case "m":
			return multiply(n, int64(time.Minute))
		case "d":
			return multiply(n, int64(day))
		default:
			return multiply(n, int64(time.Second))
		}
	}
	d, err := time.ParseDuration(text)
	return int64(d), err == nil
}

// durationText drops the zeros that Go writes after the last unit: 30m, not 30m0s.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// multiply refuses a product that does not fit.
func multiply(n, factor int64) (int64, bool) {
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, false
	}
	return n * factor, true
}
