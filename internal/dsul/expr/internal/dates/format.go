package dates

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The marks of a format. What stands in brackets is text.
var (
	longMarks  = regexp.MustCompile(`\[[^\]]+\]|LTS?|l{1,4}|L{1,4}`)
	shortMarks = regexp.MustCompile(`\[[^\]]+\]|MMMM|MM|DD|dddd`)
	marks      = regexp.MustCompile(`\[[^\]]+\]|YYYY|YY|M{1,4}|D{1,2}|d{1,4}|H{1,2}|h{1,2}|a|A|m{1,2}|s{1,2}|Z{1,2}|SSS`)
)

// Format writes a time in its zone: YYYY-MM-DD HH:mm, dddd D MMMM, L, LLL and so on.
func Format(t time.Time, format string, l Locale) string {
	return marks.ReplaceAllStringFunc(l.expand(format), func(mark string) string {
		if mark[0] == '[' {
			return mark[1 : len(mark)-1]
		}
		return l.mark(t, mark)
	})
}

// expand replaces the formats of the language by what they stand for. A format in small letters is the short one.
func (l Locale) expand(format string) string {
	return longMarks.ReplaceAllStringFunc(format, func(mark string) string {
		if mark[0] == '[' {
			return mark
		}
		if own, ok := l.formats[mark]; ok {
			return own
		}
		return shortMarks.ReplaceAllStringFunc(l.formats[strings.ToUpper(mark)], func(inner string) string {
			if inner[0] == '[' {
				return inner
			}
			return inner[1:]
		})
	})
}

// mark writes one mark.
func (l Locale) mark(t time.Time, mark string) string {
	if text, ok := l.day(t, mark); ok {
		return text
	}
	hour := t.Hour()
	half := (hour+11)%12 + 1
	switch mark {
	case "H":
		return strconv.Itoa(hour)
	case "HH":
		return pad(hour, 2)
	case "h":
		return strconv.Itoa(half)
	case "hh":
		return pad(half, 2)
	case "a":
		return strings.ToLower(l.part(hour, t.Minute()))
	case "A":
		return l.part(hour, t.Minute())
	case "m":
		return strconv.Itoa(t.Minute())
	case "mm":
		return pad(t.Minute(), 2)
	case "s":
		return strconv.Itoa(t.Second())
	case "ss":
		return pad(t.Second(), 2)
	case "SSS":
		return pad(t.Nanosecond()/int(time.Millisecond), 3)
	case "Z":
		return t.Format("-07:00")
	default:
		return t.Format("-0700")
	}
}

// day writes the marks of a date.
func (l Locale) day(t time.Time, mark string) (string, bool) {
	month, weekday := int(t.Month()), int(t.Weekday())
	switch mark {
	case "YY":
		year := strconv.Itoa(t.Year())
		return year[max(len(year)-2, 0):], true
	case "YYYY":
		return pad(t.Year(), 4), true
	case "M":
		return strconv.Itoa(month), true
	case "MM":
		return pad(month, 2), true
	case "MMM":
		return name(l.monthsShort, month-1), true
	case "MMMM":
		return name(l.months, month-1), true
	case "D":
		return strconv.Itoa(t.Day()), true
	case "DD":
		return pad(t.Day(), 2), true
	case "d":
		return strconv.Itoa(weekday), true
	case "dd":
		return name(l.weekdaysMin, weekday), true
	case "ddd":
		return name(l.weekdaysShort, weekday), true
	case "dddd":
		return name(l.weekdays, weekday), true
	default:
		return "", false
	}
}

func pad(n, width int) string {
	text := strconv.Itoa(n)
	return strings.Repeat("0", max(width-len(text), 0)) + text
}
