package query

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"time"

	"atelier/internal/bus"
)

// MomentForm says how a point in time may be written.
const MomentForm = "use a date such as 2026-03-01 or 2026-03-01T12:00:00Z, or milliseconds since 1970"

// ParseMoment reads a date (UTC unless it says otherwise), or milliseconds since 1970.
func ParseMoment(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly, "2006-01"} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 0 && t.Year() <= 9999 {
			return t.UTC(), true
		}
	}
	if !millis.MatchString(text) {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms).UTC(), err == nil
}

// millis tells milliseconds from a year.
var millis = regexp.MustCompile(`^-?\d{5,14}$`) //nolint:gochecknoglobals // compiled once, never changed

// momentOf is the time that a value means: a text as in ParseMoment, or a number of milliseconds.
func momentOf(value any) (time.Time, bool) {
	switch v := value.(type) {
	case string:
		return ParseMoment(v)
	case json.Number:
		n, _ := numberOf(v)
		if math.IsNaN(n) || math.Abs(n) > 1e14 {
			return time.Time{}, false
		}
		return time.UnixMilli(int64(math.Floor(n))).UTC(), true
	default:
		return time.Time{}, false
	}
}

// Events are stored to the millisecond, so a time between two of them bounds the events of the one or the other.
func floorMillis(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).After(t) { // UnixMilli rounds towards zero before 1970
		ms--
	}
	return ms
}

func ceilMillis(t time.Time) int64 {
	ms := floorMillis(t)
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}

// since is the position before those of a millisecond.
func since(ms int64) bus.Position { return until(ms) - 1 }

// until is the first position of a millisecond. Times before the log, or after its end, are those ends.
func until(ms int64) bus.Position {
	const last = math.MaxInt64 >> 20
	ms = max(0, min(ms, last))
	return bus.PositionAt(time.UnixMilli(ms), 0)
}
