package config

import (
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
)

// kind says how the text of a setting is read.
type kind int

const (
	kindUnknown kind = iota
	kindText
	kindSecret
	kindList
	kindNumber
	kindSize
	kindDuration
	kindSwitch
)

// setting is one row of the table: what the tags of one field of Config say.
type setting struct {
	field      int
	name       string
	aliases    []string
	kind       kind
	unit       string
	preset     string
	flag       string
	min, max   string
	oneOf      []string
	schemes    []string
	pattern    string
	minLength  string
	form       string
	mustExist  bool
	group, doc string
}

// table is every setting, in the order of Config.
type table []setting

// readTable reads the tags of Config. It is read anew each time: a process loads its configuration once.
func readTable() table {
	structure := reflect.TypeFor[Config]()
	settings := make(table, 0, structure.NumField())
	group := ""
	for i := range structure.NumField() {
		field := structure.Field(i)
		if opened := field.Tag.Get("group"); opened != "" {
			group = opened
		}
		settings = append(settings, readSetting(i, field, group))
	}
	return settings
}

func readSetting(index int, field reflect.StructField, group string) setting {
	tag := field.Tag
	return setting{
		field:     index,
		name:      tag.Get("env"),
		aliases:   splitList(tag.Get("alias")),
		kind:      kindOf(field),
		unit:      tag.Get("unit"),
		preset:    tag.Get("default"),
		flag:      tag.Get("flag"),
		min:       tag.Get("min"),
		max:       tag.Get("max"),
		oneOf:     splitList(tag.Get("oneof")),
		schemes:   splitList(tag.Get("url")),
		pattern:   tag.Get("pattern"),
		minLength: tag.Get("minlen"),
		form:      tag.Get("form"),
		mustExist: tag.Get("file") != "",
		group:     group,
		doc:       tag.Get("doc"),
	}
}

func kindOf(field reflect.StructField) kind {
	switch {
	case field.Type == reflect.TypeFor[Secret]():
		return kindSecret
	case field.Type == reflect.TypeFor[time.Duration]():
		return kindDuration
	case field.Type == reflect.TypeFor[[]string]():
		return kindList
	case field.Type.Kind() == reflect.Int && field.Tag.Get("unit") == "b":
		return kindSize
	case field.Type.Kind() == reflect.Int:
		return kindNumber
	case field.Type.Kind() == reflect.Bool:
		return kindSwitch
	case field.Type.Kind() == reflect.String:
		return kindText
	default:
		return kindUnknown
	}
}

// secret tells whether the value is hidden, and may come from a file of its own.
func (s setting) secret() bool { return s.kind == kindSecret }

// names lists the name and the older names of a setting, the name first.
func (s setting) names() []string { return append([]string{s.name}, s.aliases...) }

// accepted lists, sorted, every name that an operator may write in the environment or in the file.
func (t table) accepted() []string {
	var accepted []string
	for _, s := range t {
		for _, name := range s.names() {
			accepted = append(accepted, name)
			if s.secret() {
				accepted = append(accepted, name+fileSuffix)
			}
		}
	}
	sort.Strings(accepted)
	return accepted
}

// byName finds a setting by its name or by an older one.
func (t table) byName(wanted string) (setting, bool) {
	for _, s := range t {
		if slices.Contains(s.names(), wanted) {
			return s, true
		}
	}
	return setting{}, false
}

// Flag is a setting that may also be given on the command line.
type Flag struct {
	Name    string // without the dashes
	Setting string // the name of the setting
	Doc     string // what the setting means
}

// Flags lists the settings that have a flag, in the order of Config, so that a command can offer them.
func Flags() []Flag {
	var flags []Flag
	for _, s := range readTable() {
		if s.flag != "" {
			flags = append(flags, Flag{Name: s.flag, Setting: s.name, Doc: s.doc})
		}
	}
	return flags
}

// splitList splits a comma list; blanks around an item and empty items do not count.
func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
