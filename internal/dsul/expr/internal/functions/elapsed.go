package functions

import (
	"errors"
	"strings"
	"time"

	"atelier/internal/dsul/expr/internal/dates"
	"atelier/internal/dsul/expr/value"
)

// elapsed(date, unit[, n]) says whether n units have gone by since a date; without n, one.
func runElapsed(c *Call) (any, error) {
	t, ok := dates.Of(c.arg(0))
	if !ok {
		return false, nil
	}
	n := 1.0
	if c.given(2) { // the third argument
		var err error
		if n, err = c.number(2); err != nil {
			return nil, err
		}
	}
	unit := strings.ToLower(strings.TrimSuffix(value.String(c.arg(1)), "s"))
	switch unit {
	case "month":
		return !c.Env.Now().Before(t.AddDate(0, int(n), 0)), nil
	case "year":
		return !c.Env.Now().Before(t.AddDate(int(n), 0, 0)), nil
	}
	length := map[string]time.Duration{
		"millisecond": time.Millisecond, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}[unit]
	if length == 0 {
		return nil, errors.New("argument 2 must be millisecond, second, minute, hour, day, week, month or year")
	}
	return float64(c.Env.Now().Sub(t)) >= n*float64(length), nil
}
