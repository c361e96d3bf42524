package dates

import (
	_ "embed"
	"strconv"
	"strings"
)

// locales holds one language a line: its names of months and days, its parts of the day, its formats.
//
//go:embed locales.tsv
var locales string

// Locale is how a language writes dates.
type Locale struct {
	months, monthsShort, weekdays, weekdaysShort, weekdaysMin string
	// parts are the names of the parts of a day, each with the time it ends, as in 1200=AM_2400=PM.
	parts   string
	formats map[string]string
}

// FindLocale knows a language by its name, such as fr or pt-br. A name with a country that has no ways of its own, such as
// fr-FR, is the language without it.
func FindLocale(name string) (Locale, bool) {
	name = strings.ToLower(name)
	if name == "" || strings.ContainsAny(name, "\t\n") {
		return Locale{}, false
	}
	at := strings.Index("\n"+locales, "\n"+name+"\t")
	if at < 0 {
		language, _, country := strings.Cut(name, "-")
		if !country {
			return Locale{}, false
		}
		return FindLocale(language)
	}
	line, _, _ := strings.Cut(locales[at:], "\n")
	return locale(strings.Split(line, "\t"))
}

func locale(columns []string) (Locale, bool) {
	names := []string{"LT", "LTS", "L", "LL", "LLL", "LLLL", "l", "ll", "lll", "llll"}
	const first = 7
	if len(columns) != first+len(names) {
		return Locale{}, false
	}
	l := Locale{
		months: columns[1], monthsShort: columns[2], weekdays: columns[3], weekdaysShort: columns[4], weekdaysMin: columns[5],
		parts: columns[6], formats: make(map[string]string, len(names)),
	}
	for i, name := range names {
		if format := columns[first+i]; format != "" {
			l.formats[name] = format
		}
	}
	return l, true
}

// name returns one of the names in a list.
func name(list string, index int) string {
	for range index {
		_, list, _ = strings.Cut(list, "_")
	}
	first, _, _ := strings.Cut(list, "_")
	return first
}

// part names the part of the day.
func (l Locale) part(hour, minute int) string {
	named := ""
	for item := range strings.SplitSeq(l.parts, "_") {
		var end string
		end, named, _ = strings.Cut(item, "=")
		if limit, err := strconv.Atoi(end); err == nil && hour*100+minute < limit {
			break
		}
	}
	return named
}
