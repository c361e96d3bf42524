package functions

import (
	"fmt"
	"math"

	"atelier/internal/dsul/expr/internal/dates"
	"atelier/internal/dsul/expr/value"
)

// date(x) gives milliseconds since 1970, date(x).field a part of the date in UTC, date(x, format[, locale[, zone]]) a text.
func runDate(c *Call) (any, error) {
	if format, ok := c.arg(1).(string); ok && format != "" {
		return c.formatted(format)
	}
	t, ok := dates.Of(c.arg(0))
	switch {
	case !ok && c.Field == "iso":
		return value.Undefined{}, nil
	case !ok:
		return math.NaN(), nil
	}
	switch c.Field {
	case "", "ts":
		return dates.Millis(t), nil
	case "day":
		return float64(t.Weekday()), nil
	case "date":
		return float64(t.Day()), nil
	case "month":
		return float64(t.Month()), nil
	case "year":
		return float64(t.Year()), nil
	case "hour":
		return float64(t.Hour()), nil
	case "minute":
		return float64(t.Minute()), nil
	case "second":
		return float64(t.Second()), nil
	case "iso":
		return dates.ISO(t), nil
	default:
		return value.Undefined{}, nil
	}
}

func (c *Call) formatted(format string) (any, error) {
	name := c.Env.Locale
	if c.given(2) { // the third argument
		name = value.String(c.arg(2))
	}
	locale, known := dates.FindLocale(name)
	if !known {
		return value.Undefined{}, nil
	}
	zone := c.Env.Zone
	if c.given(3) { // the fourth argument
		var err error
		if zone, err = c.Env.Zones(value.String(c.arg(3))); err != nil {
			return nil, fmt.Errorf("argument 4 must be the name of a time zone, such as Europe/Paris")
		}
	}
	t, ok := dates.Of(c.arg(0))
	if !ok {
		return "Invalid Date", nil
	}
	if err := c.Budget.Spend(longestMark * len(format)); err != nil {
		return nil, err
	}
	return dates.Format(t.In(zone), format, locale), nil
}

// longestMark is what one character of a format may become, roughly.
const longestMark = 50
