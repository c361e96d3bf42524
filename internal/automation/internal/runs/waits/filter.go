package waits

import (
	"regexp"
	"slices"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// operator compares what is in an event with what a filter says.
type operator func(got, want any) bool

// operators are what a filter may ask besides equality.
func operators() map[string]operator {
	return map[string]operator{
		"$eq":     equal,
		"$ne":     func(got, want any) bool { return !equal(got, want) },
		"$in":     among,
		"$nin":    func(got, want any) bool { return !among(got, want) },
		"$gt":     func(got, want any) bool { return less(want, got) },
		"$gte":    func(got, want any) bool { return less(want, got) || bothExist(got, want) && equal(got, want) },
		"$lt":     less,
		"$lte":    func(got, want any) bool { return less(got, want) || bothExist(got, want) && equal(got, want) },
		"$regex":  matches,
		"$exists": func(got, want any) bool { return value.Exists(got) == value.Truthy(want) },
	}
}

// equal is loose equality; lists and objects are equal when they hold the same.
func equal(got, want any) bool {
	return value.LooseEqual(got, want) || value.Exists(got) && value.Exists(want) && value.DeepEqual(got, want)
}

func among(got, want any) bool {
	list, ok := want.([]any)
	return ok && slices.ContainsFunc(list, func(one any) bool { return equal(got, one) })
}

// bothExist tells that neither side is missing.
func bothExist(a, b any) bool { return value.Exists(a) && value.Exists(b) }

func less(a, b any) bool {
	if !bothExist(a, b) {
		return false
	}
	is, ok := value.Less(a, b)
	return is && ok
}

const maxPattern = 1000 // characters of a regular expression

func matches(got, want any) bool {
	source, ok := want.(string)
	if !ok || !value.Exists(got) {
		return false
	}
	pattern, err := compilePattern(source)
	return err == nil && pattern.MatchString(value.String(got))
}

// compilePattern reads a regular expression, which may be written as /source/flags. It matches in linear time.
func compilePattern(source string) (*regexp.Regexp, error) {
	if body, flags, ok := cutFlags(source); ok {
		source = body
		if flags != "" {
			source = "(?" + flags + ")" + source
		}
	}
	return regexp.Compile(source)
}

func cutFlags(source string) (body, flags string, ok bool) {
	end := strings.LastIndexByte(source, '/')
	if end < 1 || source[0] != '/' || strings.Trim(source[end+1:], "ims") != "" {
		return "", "", false
	}
	return source[1:end], source[end+1:], true
}

// asked gives the operators of a filter; false when it is a plain value.
func asked(filter any) (*value.Object, bool) {
	object, ok := filter.(*value.Object)
	if !ok || object.Len() == 0 {
		return nil, false
	}
	for name := range object.All() {
		if !strings.HasPrefix(name, "$") {
			return nil, false
		}
	}
	return object, true
}

// Holds tells whether all filters hold for an event.
func (w Want) Holds(event *value.Object) bool {
	if w.Filters == nil {
		return true
	}
	known := operators()
	for path, filter := range w.Filters.All() {
		got := at(event, path)
		object, ok := asked(filter)
		if !ok {
			if !equal(got, filter) {
				return false
			}
			continue
		}
		for name, want := range object.All() {
			if compare, ok := known[name]; !ok || !compare(got, want) {
				return false
			}
		}
	}
	return true
}

// Check refuses filters that could never hold.
func (w Wanted) Check() error {
	known := operators()
	for _, one := range w {
		if one.Filters == nil {
			continue
		}
		for path, filter := range one.Filters.All() {
			object, ok := asked(filter)
			if !ok {
				continue
			}
			for name, want := range object.All() {
				if _, ok := known[name]; !ok {
					return bad("There is no operator "+shorten(name)+"; a filter of wait knows $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte, $regex and $exists.", path)
				}
				if err := checkOperand(name, want, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkOperand(name string, want any, path string) error {
	switch name {
	case "$in", "$nin":
		if _, ok := want.([]any); !ok {
			return bad(name+" needs a list.", path)
		}
	case "$regex":
		source, ok := want.(string)
		if !ok || len(source) > maxPattern {
			return bad("$regex needs a regular expression of at most 1000 characters.", path)
		}
		if _, err := compilePattern(source); err != nil {
			return bad("$regex needs a valid regular expression.", path)
		}
	}
	return nil
}

func bad(message, path string) error {
	return machine.Fail(machine.InvalidInstruction, message).With(map[string]any{"instruction": "wait", "filter": shorten(path)})
}

// shorten cuts a text of a user to a length that fits into a message.
func shorten(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
