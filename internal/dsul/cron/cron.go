// Package cron reads the schedules of automations: five fields, in UTC. A schedule says when it fires next; who fires it is
// not its business.
package cron

import (
	"fmt"
	"math/bits"
	"strings"
)

// maxText is the longest schedule, in bytes.
const maxText = 256

// Schedule is a set of minutes. The zero Schedule holds none.
type Schedule struct {
	text                   string
	minutes, hours, months set
	days, weekdays         set
	anyDay, anyWeekday     bool
}

// set holds small numbers, one bit each.
type set uint64

func (s set) has(n int) bool { return s>>uint(n)&1 == 1 } //nolint:gosec // never negative

// Error says which field of a schedule cannot be read, and what is allowed there.
type Error struct {
	Field   string // minute, hour, day of month, month, day of week; empty when the whole is wrong
	Message string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Parse reads minute, hour, day of month, month and day of week. Each field is *, a number, a range or a list of them,
// with a step where wanted; months and days of the week have their English names too, and Sunday is 0 or 7. Its errors
// are *Error; a schedule that can never fire is one.
func Parse(text string) (Schedule, error) {
	if len(text) > maxText {
		return Schedule{}, &Error{Message: fmt.Sprintf("a schedule has at most %d characters", maxText)}
	}
	fields, allowed := strings.Fields(text), ranges()
	if len(fields) != len(allowed) {
		return Schedule{}, &Error{Message: fmt.Sprintf("a schedule has five fields: minute, hour, day of month, month and day of week, "+
			"as in \"30 8 * * mon-fri\"; this one has %d", len(fields))}
	}
	sets := make([]set, len(allowed))
	for i, f := range allowed {
		one, err := f.parse(fields[i])
		if err != nil {
			return Schedule{}, err
		}
		sets[i] = one
	}
	s := Schedule{
		text: strings.Join(fields, " "), minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3],
		weekdays: (sets[4] | sets[4]>>7) & 0x7f, // 7 is Sunday too
	}
	s.anyDay, s.anyWeekday = bits.OnesCount64(uint64(s.days)) == 31, s.weekdays == 0x7f
	return s, s.possible()
}

// possible refuses a date that no year has, such as 30 February.
func (s Schedule) possible() error {
	if s.anyDay || !s.anyWeekday {
		return nil
	}
	for month, longest := range []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if s.months.has(month+1) && bits.TrailingZeros64(uint64(s.days)) <= longest {
			return nil
		}
	}
	return &Error{Field: "day of month", Message: "no chosen month has such a day, so that the schedule would never fire"}
}

// String is the schedule as it was written, with one space between fields.
func (s Schedule) String() string { return s.text }
