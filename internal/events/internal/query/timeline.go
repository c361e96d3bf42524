package query

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones are the same on every machine
)

// timeline divides time into intervals.
type timeline struct {
	// fixed is the length of the intervals; zero when they are those of the calendar.
	fixed time.Duration
	unit  string
	zone  *time.Location
	// layout writes times; empty writes milliseconds.
	layout string
}

const isoMillis = "2006-01-02T15:04:05.000Z07:00"

var fixedForm = regexp.MustCompile(`^([1-9]\d{0,8})(ms|s|m|h|d)$`) //nolint:gochecknoglobals // compiled once, never changed

func parseTimeline(body map[string]any, field string) (*timeline, error) {
	line := &timeline{zone: time.UTC, layout: isoMillis}
	fixed, isFixed := body["fixed_interval"]
	calendar, isCalendar := body["calendar_interval"]
	switch {
	case isFixed == isCalendar:
		return nil, invalid(field, "give fixed_interval or calendar_interval")
	case isFixed:
		text, _ := fixed.(string)
		form := fixedForm.FindStringSubmatch(text)
		if form == nil {
			return nil, invalid(field+".fixed_interval", "use a number of ms, s, m, h or d, such as 30m")
		}
		number, _ := strconv.Atoi(form[1])
		units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
		line.fixed = time.Duration(number) * units[form[2]]
		if line.fixed > 100*365*24*time.Hour || line.fixed/units[form[2]] != time.Duration(number) {
			return nil, invalid(field+".fixed_interval", "use at most 100 years")
		}
	default:
		text, _ := calendar.(string)
		units := map[string]string{"1m": "minute", "1h": "hour", "1d": "day", "1w": "week", "1M": "month", "1q": "quarter", "1y": "year"}
		for short, unit := range units {
			if text == short || text == unit {
				line.unit = unit
			}
		}
		if line.unit == "" {
			return nil, invalid(field+".calendar_interval", "use minute, hour, day, week, month, quarter or year")
		}
	}
	return line, line.parseForm(body, field)
}

func (l *timeline) parseForm(body map[string]any, field string) error {
	if given, ok := body["time_zone"]; ok {
		text, _ := given.(string)
		zone, ok := parseZone(text)
		if !ok {
			return invalid(field+".time_zone", "use a name such as Europe/Paris, or an offset such as +02:00")
		}
		l.zone = zone
	}
	if given, ok := body["format"]; ok {
		text, _ := given.(string)
		layout, ok := parseLayout(text)
		if !ok {
			return invalid(field+".format", "use yyyy, MM, dd, HH, mm, ss, SSS, XXX, text in '', and signs; or epoch_millis")
		}
		l.layout = layout
	}
	return nil
}

var offsetForm = regexp.MustCompile(`^([+-])(\d\d):?(\d\d)$`) //nolint:gochecknoglobals // compiled once, never changed

func parseZone(text string) (*time.Location, bool) {
	if form := offsetForm.FindStringSubmatch(text); form != nil {
		hours, _ := strconv.Atoi(form[2])
		minutes, _ := strconv.Atoi(form[3])
		seconds := hours*3600 + minutes*60
		if form[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone("", seconds), hours <= 18 && minutes < 60
	}
	if text == "Z" {
		return time.UTC, true
	}
	if text == "" || text == "Local" || len(text) > 60 {
		return nil, false
	}
	zone, err := time.LoadLocation(text)
	return zone, err == nil
}

// parseLayout reads a format such as yyyy-MM-dd.
func parseLayout(format string) (string, bool) {
	switch format {
	case "epoch_millis":
		return "", true
	case "strict_date_optional_time", "date_optional_time", "date_time", "strict_date_time":
		return isoMillis, true
	}
	if format == "" || len(format) > 60 {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(format); {
		if format[i] == '\'' {
			end := strings.IndexByte(format[i+1:], '\'')
			if end < 0 || strings.Trim(format[i+1:i+1+end], "TZWQHhw:-/. ") != "" {
				return "", false // other text could mean something in a layout
			}
			b.WriteString(format[i+1 : i+1+end])
			i += end + 2
			continue
		}
		length := 1
		for i+length < len(format) && format[i+length] == format[i] {
			length++
		}
		part, ok := layoutPart(format[i : i+length])
		if !ok {
			return "", false
		}
		b.WriteString(part)
		i += length
	}
	return b.String(), true
}

func layoutPart(part string) (string, bool) {
	known := map[string]string{
		"yyyy": "2006", "uuuu": "2006", "yy": "06", "MM": "01", "M": "1", "dd": "02", "d": "2", "HH": "15", "mm": "04", "ss": "05",
		"XXX": "Z07:00", "xxx": "-07:00", "Z": "-0700", "EEE": "Mon", "MMM": "Jan",
	}
	if layout, ok := known[part]; ok {
		return layout, true
	}
	if part == "SSS" {
		return "000", true // stands after . or , as fractions do
	}
	return part, strings.Trim(part, "-/.:, ") == ""
}

// floor is the beginning of the interval that a time lies in. All times are milliseconds.
func (l *timeline) floor(ms int64) int64 {
	if l.fixed > 0 {
		step := l.fixed.Milliseconds()
		_, shift := time.UnixMilli(ms).In(l.zone).Zone()
		local := ms + int64(shift)*1000
		rounded := local - ((local%step)+step)%step
		if l.fixed >= 24*time.Hour { // the day may have begun with another offset
			_, shift = time.UnixMilli(rounded - int64(shift)*1000).In(l.zone).Zone()
		}
		return rounded - int64(shift)*1000
	}
	t := time.UnixMilli(ms).In(l.zone)
	year, month, day := t.Date()
	switch l.unit {
	case "minute":
		return t.Truncate(time.Minute).UnixMilli()
	case "hour":
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second).Truncate(time.Second).UnixMilli()
	case "week":
		day -= (int(t.Weekday()) + 6) % 7
	case "month":
		day = 1
	case "quarter":
		month, day = month-(month-1)%3, 1
	case "year":
		month, day = time.January, 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, l.zone).UnixMilli()
}

// next is the beginning of the interval after the one that begins at ms.
func (l *timeline) next(ms int64) int64 {
	if l.fixed > 0 {
		step := l.fixed.Milliseconds()
		for _, after := range []int64{step, step + step/2} { // where clocks change an interval is longer
			if next := l.floor(ms + after); next > ms {
				return next
			}
		}
		return ms + step
	}
	t := time.UnixMilli(ms).In(l.zone)
	switch l.unit {
	case "minute":
		return ms + time.Minute.Milliseconds()
	case "hour":
		return ms + time.Hour.Milliseconds()
	case "day":
		return t.AddDate(0, 0, 1).UnixMilli()
	case "week":
		return t.AddDate(0, 0, 7).UnixMilli()
	case "month":
		return t.AddDate(0, 1, 0).UnixMilli()
	case "quarter":
		return t.AddDate(0, 3, 0).UnixMilli()
	default:
		return t.AddDate(1, 0, 0).UnixMilli()
	}
}

// write is a time as the format says.
func (l *timeline) write(ms int64) string {
	if l.layout == "" {
		return strconv.FormatInt(ms, 10)
	}
	return time.UnixMilli(ms).In(l.zone).Format(l.layout)
}
