// Package dates reads dates as JavaScript does and writes them as Day.js does.
package dates

import (
	"math"
	"strings"
	"time"

	"atelier/internal/dsul/expr/value"
)

// maxMillis is the furthest time JavaScript knows, in both directions.
const maxMillis = 8.64e15

// Of makes a time of a value: milliseconds since 1970, or a text. It is false when the value is none.
func Of(v any) (time.Time, bool) {
	switch v := v.(type) {
	case string:
		return parse(v)
	case float64, bool, nil:
		return fromMillis(value.Number(v))
	default:
		return time.Time{}, false
	}
}

func fromMillis(millis float64) (time.Time, bool) {
	if math.IsNaN(millis) || math.Abs(millis) > maxMillis {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(millis)).UTC(), true
}

// Millis is a time in milliseconds since 1970.
func Millis(t time.Time) float64 { return float64(t.UnixMilli()) }

// ISO writes a time as 2022-04-13T08:04:05.493Z.
func ISO(t time.Time) string {
	t = t.UTC()
	rest := t.Format("-01-02T15:04:05.000Z")
	switch year := t.Year(); {
	case year > 9999: // the last year of four digits
		return "+" + pad(year, 6) + rest
	case year < 0:
		return "-" + pad(-year, 6) + rest
	default:
		return pad(year, 4) + rest
	}
}

// longest is more than any date is long.
const longest = 100

func parse(text string) (time.Time, bool) {
	text = value.Trim(text)
	if len(text) > longest {
		return time.Time{}, false
	}
	if at := strings.IndexByte(text, '('); at > 0 {
		text = strings.TrimRight(text[:at], " ") // the name of a zone, as JavaScript writes it
	}
	for _, layout := range layouts() {
		if t, err := time.Parse(layout, text); err == nil {
			return fromMillis(math.Floor(float64(t.UnixMicro()) / 1000)) // to milliseconds
		}
	}
	return time.Time{}, false
}

// layouts are the forms that are understood. What names no zone is in UTC.
func layouts() []string {
	return []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		"2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 Z0700",
		"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01", "2006",
		"2006/1/2", "2006/1/2 15:04", "2006/1/2 15:04:05", "1/2/2006", "1/2/2006 15:04", "1/2/2006 15:04:05",
		"Mon, 2 Jan 2006 15:04:05 GMT", "Mon, 2 Jan 2006 15:04:05 UTC", "Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 GMT", "2 Jan 2006 15:04:05 -0700",
		"Mon Jan 02 2006 15:04:05 GMT-0700", "Mon Jan 02 2006", "Mon Jan 2 15:04:05 2006",
		"Jan 2, 2006", "Jan 2, 2006 15:04", "Jan 2, 2006 15:04:05", "January 2, 2006", "January 2, 2006 15:04", "January 2, 2006 15:04:05",
		"2 Jan 2006", "2 Jan 2006 15:04", "2 Jan 2006 15:04:05", "2 January 2006", "2 January 2006 15:04", "2 January 2006 15:04:05",
	}
}
