package query

import (
	"encoding/json"
	"strconv"
	"strings"

	"atelier/internal/bus"
)

// maxValues is how many values one list may name.
const maxValues = 1024

func idsClause(body map[string]any, field string) (node, error) {
	if err := only(body, field, "values"); err != nil {
		return nil, err
	}
	values, ok := body["values"].([]any)
	if !ok || len(values) > maxValues {
		return nil, invalid(field+".values", "write a list of at most 1,024 ids")
	}
	wanted := ids{}
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			return nil, invalid(field+".values", "ids are texts")
		}
		if position, err := bus.ParseID(text); err == nil { // no event has another id
			wanted[position] = true
		}
	}
	return wanted, nil
}

// withOptions reads a value that may be written alone, or in an object with options.
func withOptions(value any, at place, key string, options ...string) (inner any, given map[string]any, err error) {
	object, ok := value.(map[string]any)
	if !ok {
		return value, nil, nil
	}
	if err := only(object, at.field, append([]string{key}, options...)...); err != nil {
		return nil, nil, err
	}
	return object[key], object, nil
}

func foldOption(given map[string]any, at place) (bool, error) {
	value, ok := given["case_insensitive"]
	fold, isBool := value.(bool)
	if ok && !isBool {
		return false, invalid(at.field+".case_insensitive", "use true or false")
	}
	return fold, nil
}

func termClause(value any, at place) (node, error) {
	value, given, err := withOptions(value, at, "value", "case_insensitive")
	if err != nil {
		return nil, err
	}
	fold, err := foldOption(given, at)
	if err != nil {
		return nil, err
	}
	if !scalar(value) {
		return nil, invalid(at.field, "use a text, a number or a boolean")
	}
	return oneOf(at.path, fold, value), nil
}

func termsClause(value any, at place) (node, error) {
	values, ok := value.([]any)
	if !ok || len(values) > maxValues {
		return nil, invalid(at.field, "write a list of at most 1,024 values")
	}
	for i, v := range values {
		if !scalar(v) {
			return nil, invalid(at.field+"["+strconv.Itoa(i)+"]", "use texts, numbers and booleans")
		}
	}
	if len(values) == 0 {
		return never{}, nil
	}
	return oneOf(at.path, false, values...), nil
}

// oneOf asks for exact values. Ids and times are asked of the log itself.
func oneOf(path string, fold bool, values ...any) node {
	if path != fieldID && path != fieldCreatedAt {
		return newTerm(path, fold, values...)
	}
	parts := make([]node, 0, len(values))
	for _, value := range values {
		parts = append(parts, exactly(path, textOf(value), true))
	}
	return either(parts)
}

func rangeClause(value any, at place) (node, error) {
	object, ok := value.(map[string]any)
	if !ok || len(object) == 0 {
		return nil, invalid(at.field, "write an object with gt, gte, lt or lte")
	}
	if err := only(object, at.field, opGT, opGTE, opLT, opLTE); err != nil {
		return nil, err
	}
	positions, sides := span{path: at.path}, bounds{path: at.path}
	for _, op := range []string{opGT, opGTE, opLT, opLTE} {
		bound, ok := object[op]
		if !ok || bound == nil {
			continue
		}
		switch at.path {
		case fieldCreatedAt:
			moment, ok := momentOf(bound)
			if !ok {
				return nil, invalid(at.field+"."+op, MomentForm)
			}
			positions = positions.narrow(op, moment)
		case fieldID:
			position, err := bus.ParseID(textOf(bound))
			if err != nil {
				return nil, invalid(at.field+"."+op, "use the id of an event")
			}
			positions = positions.narrowID(op, position)
		default:
			s, ok := newSide(op, bound)
			if !ok {
				return nil, invalid(at.field+"."+op, "use a number, or a text")
			}
			sides.sides = append(sides.sides, s)
		}
	}
	if at.path == fieldCreatedAt || at.path == fieldID {
		return positions, nil
	}
	return sides, nil
}

func matchClause(value any, at place) (node, error) {
	value, given, err := withOptions(value, at, "query", "operator")
	if err != nil {
		return nil, err
	}
	operator := "or"
	if text, ok := given["operator"]; ok {
		operator = strings.ToLower(textOf(text))
	}
	if operator != "or" && operator != "and" {
		return nil, invalid(at.field+".operator", "use and, or or")
	}
	if !scalar(value) || len(textOf(value)) > maxText {
		return nil, invalid(at.field, "use a text of at most 1,000 characters")
	}
	return match{path: at.path, words: words(textOf(value)), every: operator == "and"}, nil
}

func patternClause(kind string, value any, at place) (node, error) {
	value, given, err := withOptions(value, at, "value", "case_insensitive")
	if err != nil {
		return nil, err
	}
	fold, err := foldOption(given, at)
	if err != nil {
		return nil, err
	}
	text, ok := value.(string)
	if !ok || len(text) > maxPattern {
		return nil, invalid(at.field, "use a text of at most 500 bytes")
	}
	if kind == "prefix" {
		if !fold {
			return like{path: at.path, pattern: pattern{pieces: []string{text, ""}}}, nil
		}
		text = escaper().Replace(text) + "*"
	}
	return like{path: at.path, pattern: globbed(text, fold)}, nil
}

// escaper takes the meaning from the characters of patterns.
func escaper() *strings.Replacer { return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`) }

// count reads a number of things, from 0 to most.
func count(value any, most int) (int, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(number.String())
	return n, err == nil && n >= 0 && n <= most
}
