package query

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"atelier/internal/bus"
	"atelier/internal/errs"
)

// What one filter may ask, so that deciding about an event stays cheap.
const (
	maxClauses = 1024
	maxDepth   = 20
	// defaultDepth is how deep apps may be nested for their events to be shown unless asked otherwise.
	defaultDepth = 1
	maxTypes     = 200
)

// FromParameters makes a filter of the query parameters of a list of events. It reads types (a comma list), text, afterDate,
// beforeDate, afterId, beforeId and appInstanceDepth; every other parameter that is not reserved is a dotted path into the
// event. Reserved ones are the caller's, and may be given once. What is wrong is invalid_parameter with its name.
func FromParameters(values url.Values, reserved ...string) (Filter, error) {
	given, err := gather(values)
	if err != nil {
		return Filter{}, err
	}
	var parts all
	clauses := 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(reserved, name) {
			if len(given[name].values) > 1 {
				return Filter{}, errs.Parameter(name, "give it once, as one value")
			}
			continue
		}
		part, err := parameter(name, given[name])
		if err != nil {
			return Filter{}, err
		}
		if clauses += len(given[name].values); clauses > maxClauses {
			return Filter{}, errs.Parameter(name, "ask for less: all parameters together may have 1,024 values")
		}
		parts = append(parts, part)
	}
	if _, asked := given["appInstanceDepth"]; !asked && given[depthPath].values == nil {
		parts = append(parts, shallow{defaultDepth})
	}
	return Filter{root: parts}, nil
}

// asked are the values of one parameter.
type asked struct {
	values []string
	// list tells that they were written as a list, also if it has one element.
	list bool
}

var indexed = regexp.MustCompile(`^([^\[\]]+)\[\d{0,4}\]$`) //nolint:gochecknoglobals // compiled once, never changed

// gather puts the spellings of lists together: k=a&k=b, k[]=a&k[]=b and k[0]=a&k[1]=b.
func gather(values url.Values) (map[string]asked, error) {
	all := make(map[string]asked, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		plain, list := name, len(values[name]) > 1
		if match := indexed.FindStringSubmatch(name); match != nil {
			plain, list = match[1], true
		} else if strings.ContainsAny(name, "[]") {
			return nil, errs.Parameter(short(name), "write lists as name=a&name=b, or name[0]=a&name[1]=b")
		}
		known := all[plain]
		all[plain] = asked{values: append(known.values, values[name]...), list: known.list || list || len(known.values) > 0}
	}
	return all, nil
}

func short(name string) string {
	const most = 100
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "..."
	}
	return name
}

func parameter(name string, given asked) (node, error) {
	switch name {
	case "types":
		return typesParameter(name, given)
	case "text", "afterDate", "beforeDate", "afterId", "beforeId", "appInstanceDepth":
		if len(given.values) != 1 {
			return nil, errs.Parameter(name, "give it once, as one value")
		}
		return single(name, given.values[0])
	}
	path, ok := cleanPath(name)
	if !ok {
		return nil, errs.Parameter(short(name), "there is no such parameter, and "+Paths)
	}
	for _, value := range given.values {
		if len(value) > maxText {
			return nil, errs.Parameter(short(name), "use at most 1,000 characters")
		}
	}
	return anyOf(path, given.values, given.list), nil
}

// anyOf asks for one of some values, where * is any text. An empty one, when it may be, means that there is no value.
func anyOf(path string, values []string, absence bool) node {
	var parts []node
	var exact []any
	for _, value := range values {
		part := exactly(path, value, false)
		switch _, plain := part.(term); {
		case value == "" && absence:
			parts = append(parts, not{exists{path}})
		case plain:
			exact = append(exact, value)
		default:
			parts = append(parts, part)
		}
	}
	if len(exact) > 0 { // together, so that a store can look them up
		parts = append(parts, newTerm(path, false, exact...))
	}
	return either(parts)
}

func typesParameter(name string, given asked) (node, error) {
	var types []any
	for _, value := range given.values {
		for eventType := range strings.SplitSeq(value, ",") {
			if eventType = strings.TrimSpace(eventType); eventType != "" {
				types = append(types, eventType)
			}
		}
	}
	switch {
	case len(types) == 0:
		return anything{}, nil
	case len(types) > maxTypes:
		return nil, errs.Parameter(name, "name at most 200 types")
	default:
		return newTerm(fieldType, false, types...), nil
	}
}

// single reads the parameters that have one value and a meaning of their own. Dates are exclusive bounds.
func single(name, value string) (node, error) {
	switch name {
	case "text":
		n, problem := parseText(value)
		if problem != "" {
			return nil, errs.Parameter(name, problem)
		}
		return n, nil
	case "appInstanceDepth":
		depth, err := strconv.Atoi(value)
		if err != nil || depth < 0 {
			return nil, errs.Parameter(name, "use a number from 0")
		}
		return shallow{depth}, nil
	case "afterId", "beforeId":
		position, err := bus.ParseID(value)
		if err != nil {
			return nil, errs.Parameter(name, "use the id of an event")
		}
		return span{path: fieldID}.narrowID(directions()[name], position), nil
	default:
		moment, ok := ParseMoment(value)
		if !ok {
			return nil, errs.Parameter(name, MomentForm)
		}
		return span{path: fieldCreatedAt}.narrow(directions()[name], moment), nil
	}
}

func directions() map[string]string {
	return map[string]string{"afterId": opGT, "afterDate": opGT, "beforeId": opLT, "beforeDate": opLT}
}

// exactly asks for a value at a path, where * is any text unless it is taken literally.
func exactly(path, value string, literal bool) node {
	switch {
	case !literal && strings.Contains(value, "*"):
		return like{path: path, pattern: starred(value)}
	case path == fieldCreatedAt:
		if moment, ok := ParseMoment(value); ok {
			return span{path: path}.narrow(opGTE, moment).narrow(opLTE, moment)
		}
		return never{}
	case path == fieldID:
		if position, err := bus.ParseID(value); err == nil {
			return ids{position: true}
		}
		return never{}
	default:
		return newTerm(path, false, value)
	}
}
