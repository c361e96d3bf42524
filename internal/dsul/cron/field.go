package cron

import (
	"fmt"
	"strconv"
	"strings"
)

// field is what one field of a schedule may hold.
type field struct {
	name     string
	min, max int
	names    string // three letters each, the first one standing for the number base
	base     int
}

func ranges() []field {
	return []field{
		{name: "minute", max: 59},
		{name: "hour", max: 23},
		{name: "day of month", min: 1, max: 31},
		{name: "month", min: 1, max: 12, names: "janfebmaraprmayjunjulaugsepoctnovdec", base: 1},
		{name: "day of week", max: 7, names: "sunmontuewedthufrisat"},
	}
}

func (f field) fail(text string) error {
	allowed := fmt.Sprintf("use *, a number from %d to %d", f.min, f.max)
	if f.names != "" {
		allowed += fmt.Sprintf(", a name such as %s", f.names[:3])
	}
	return &Error{Field: f.name, Message: fmt.Sprintf("%q is not valid: %s, a range such as %d-%d, a step such as */2, or a list of these with commas",
		text, allowed, f.min+1, f.min+3)} // an example
}

// parse reads a list.
func (f field) parse(text string) (set, error) {
	var all set
	for item := range strings.SplitSeq(text, ",") {
		one, err := f.item(item)
		if err != nil {
			return 0, err
		}
		all |= one
	}
	return all, nil
}

// item reads *, a, a-b, and each of them with a step: a/n goes from a to the end.
func (f field) item(text string) (set, error) {
	span, step, stepped := strings.Cut(text, "/")
	by := 1
	if stepped {
		var ok bool
		if by, ok = number(step); !ok || by == 0 || by > f.max {
			return 0, &Error{Field: f.name, Message: fmt.Sprintf("%q is not valid: a step is a number from 1 to %d", text, f.max)}
		}
	}
	from, to, ok := f.span(span, stepped)
	if !ok {
		return 0, f.fail(text)
	}
	if from > to {
		return 0, &Error{Field: f.name, Message: fmt.Sprintf("%q is not valid: a range goes from the smaller to the greater", text)}
	}
	var found set
	for n := from; n <= to; n += by {
		found |= 1 << uint(n) //nolint:gosec // never negative
	}
	return found, nil
}

func (f field) span(text string, open bool) (from, to int, ok bool) {
	if text == "*" {
		return f.min, f.last(), true
	}
	first, second, isRange := strings.Cut(text, "-")
	if from, ok = f.value(first); !ok {
		return 0, 0, false
	}
	switch {
	case isRange:
		to, ok = f.value(second)
		if f.name == "day of week" && to == 0 && from > 0 {
			to = 7 // Sunday ends the week
		}
	case open:
		to = max(from, f.last())
	default:
		to = from
	}
	return from, to, ok
}

// last is where * ends: Sunday is counted once.
func (f field) last() int {
	if f.max == 7 {
		return f.max - 1
	}
	return f.max
}

// value reads a number or a name.
func (f field) value(text string) (int, bool) {
	if len(text) == 3 {
		if at := strings.Index(f.names, strings.ToLower(text)); at >= 0 && at%3 == 0 {
			return at/3 + f.base, true
		}
	}
	n, ok := number(text)
	return n, ok && n >= f.min && n <= f.max
}

// number reads one or two digits.
func number(text string) (int, bool) {
	if text == "" || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}
