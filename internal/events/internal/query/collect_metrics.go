package query

import (
	"math"
	"strconv"
	"time"
)

// summed counts numbers: avg, sum, min, max and stats.
type summed struct {
	of          *aggregation
	count       int
	sum, lost   float64 // lost is what rounding took from the sum
	least, most float64
}

func (s *summed) add(d *Document) error {
	for _, value := range s.of.values(d) {
		number, ok := amount(value)
		if !ok {
			continue
		}
		s.count++
		s.least, s.most = min(s.least, number), max(s.most, number)
		next := s.sum + number
		if math.Abs(s.sum) >= math.Abs(number) {
			s.lost += (s.sum - next) + number
		} else {
			s.lost += (number - next) + s.sum
		}
		s.sum = next
	}
	return nil
}

func (s *summed) figure(name string) float64 {
	if name == "" || name == "value" {
		name = s.of.kind
	}
	switch {
	case name == "count":
		return float64(s.count)
	case name == "sum":
		return s.sum + s.lost
	case s.count == 0:
		return math.NaN()
	case name == "avg":
		return (s.sum + s.lost) / float64(s.count)
	case name == "min":
		return s.least
	default:
		return s.most
	}
}

func (s *summed) result() (map[string]any, error) {
	shown := map[string]any{}
	put := func(as, name string) {
		shown[as] = finite(s.figure(name))
		if s.of.path == fieldCreatedAt && s.count > 0 && name != "count" && name != "sum" {
			shown[as+"_as_string"] = plainTimes().write(int64(s.figure(name)))
		}
	}
	if s.of.kind != "stats" {
		put("value", s.of.kind)
		return shown, nil
	}
	for _, name := range s.of.figures() {
		put(name, name)
	}
	shown["count"] = s.count
	return shown, nil
}

// finite is a number as JSON can write it; null when there is none.
func finite(number float64) any {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return nil
	}
	return number
}

func plainTimes() *timeline { return &timeline{zone: time.UTC, layout: isoMillis} }

// distinct counts different values, exactly.
type distinct struct {
	of     *aggregation
	budget *budget
	seen   map[any]struct{}
}

func (c *distinct) add(d *Document) error {
	for _, value := range c.of.values(d) {
		key := termKey(value)
		if _, known := c.seen[key]; known {
			continue
		}
		if err := c.budget.take(c.of); err != nil {
			return err
		}
		c.seen[key] = struct{}{}
	}
	return nil
}

func (c *distinct) figure(string) float64 { return float64(len(c.seen)) }

func (c *distinct) result() (map[string]any, error) {
	return map[string]any{"value": len(c.seen)}, nil
}

// ranked finds percentiles.
type ranked struct {
	of     *aggregation
	budget *budget
	digest digest
}

func (c *ranked) add(d *Document) error {
	for _, value := range c.of.values(d) {
		number, ok := amount(value)
		if !ok {
			continue
		}
		if c.digest.size() < exactValues { // it does not grow beyond
			if err := c.budget.take(c.of); err != nil {
				return err
			}
		}
		c.digest.add(number)
	}
	return nil
}

func (c *ranked) figure(string) float64 { return math.NaN() }

func (c *ranked) result() (map[string]any, error) {
	values := make(map[string]any, len(c.of.percents))
	for _, percent := range c.of.percents {
		name := strconv.FormatFloat(percent, 'f', -1, 64)
		if percent == math.Trunc(percent) {
			name += ".0"
		}
		values[name] = finite(c.digest.at(percent / 100))
	}
	return map[string]any{"values": values}, nil
}
