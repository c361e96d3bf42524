package cron

import "time"

// horizon is how many days ahead a schedule is looked for: 29 February may be eight years away.
const horizon = 8*366 + 1

// Next returns the first minute after a time at which the schedule fires, in UTC. It is false when there is none.
func (s Schedule) Next(after time.Time) (time.Time, bool) {
	at := after.UTC().Truncate(time.Minute).Add(time.Minute)
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	earliest := at.Hour()*60 + at.Minute()
	for range horizon {
		if s.onDay(day) {
			if minute, ok := s.inDay(earliest); ok {
				return day.Add(time.Duration(minute) * time.Minute), true
			}
		}
		day, earliest = day.AddDate(0, 0, 1), 0
	}
	return time.Time{}, false
}

// onDay says whether the schedule fires on a day. Where both the day of the month and the day of the week are chosen, one
// of them is enough.
func (s Schedule) onDay(day time.Time) bool {
	if !s.months.has(int(day.Month())) {
		return false
	}
	inMonth, inWeek := s.days.has(day.Day()), s.weekdays.has(int(day.Weekday()))
	if s.anyDay || s.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// inDay returns the first minute of a day at which the schedule fires, from one on.
func (s Schedule) inDay(from int) (int, bool) {
	for minute := from; minute < 24*60; minute++ {
		switch {
		case !s.hours.has(minute / 60):
			minute += 59 - minute%60 // to the end of the hour
		case s.minutes.has(minute % 60):
			return minute, true
		}
	}
	return 0, false
}
