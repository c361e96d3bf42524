package query

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Clauses says which queries there are.
const Clauses = "bool, exists, ids, match, match_all, prefix, range, term, terms and wildcard"

// ParseQuery makes a filter of a query in the language of search engines. What is not part of the subset is validation_failed
// with the path below field, and what is allowed there.
func ParseQuery(raw json.RawMessage, field string) (Filter, error) {
	value, err := decode(raw)
	if err != nil {
		return Filter{}, invalid(field, "write a query as an object")
	}
	root, err := (&parser{}).query(value, field, 1)
	return Filter{root: root}, err
}

// parser reads queries and keeps count of them.
type parser struct{ clauses int }

// query reads one clause.
func (p *parser) query(value any, field string, depth int) (node, error) {
	object, ok := value.(map[string]any)
	if !ok || len(object) != 1 {
		return nil, invalid(field, "write one query as an object with one key: "+Clauses)
	}
	if p.clauses++; p.clauses > maxClauses {
		return nil, invalid(field, "use at most 1,024 clauses")
	}
	if depth > maxDepth {
		return nil, invalid(field, "nest at most 20 queries")
	}
	for kind, body := range object {
		inner, ok := body.(map[string]any)
		field += "." + short(kind)
		if !ok {
			return nil, invalid(field, "write an object")
		}
		return p.clause(kind, inner, field, depth)
	}
	return nil, nil //nolint:nilnil // not reached: the object has one key
}

func (p *parser) clause(kind string, body map[string]any, field string, depth int) (node, error) {
	switch kind {
	case "bool":
		return p.boolean(body, field, depth)
	case "match_all":
		return anything{}, only(body, field)
	case "exists":
		return existsClause(body, field)
	case "ids":
		return idsClause(body, field)
	case "term", "terms", "range", "match", "wildcard", "prefix":
		path, value, err := fieldClause(body, field)
		if err != nil {
			return nil, err
		}
		return p.onField(kind, value, place{path: path, field: field + "." + path})
	default:
		return nil, invalid(field, "there is no such query here; use "+Clauses)
	}
}

// place is a field of events that a clause is about, and where the clause stands.
type place struct{ path, field string }

func (p *parser) onField(kind string, value any, at place) (node, error) {
	switch kind {
	case "term":
		return termClause(value, at)
	case "terms":
		return termsClause(value, at)
	case "range":
		return rangeClause(value, at)
	case "match":
		return matchClause(value, at)
	default:
		return patternClause(kind, value, at)
	}
}

// fieldClause reads an object whose one key is a field.
func fieldClause(body map[string]any, field string) (path string, value any, err error) {
	if len(body) != 1 {
		return "", nil, invalid(field, "name one field")
	}
	for name, value := range body {
		path, ok := cleanPath(name)
		if !ok {
			return "", nil, invalid(field+"."+short(name), Paths)
		}
		return path, value, nil
	}
	return "", nil, nil
}

// only refuses keys besides those that are allowed.
func only(body map[string]any, field string, allowed ...string) error {
	for _, key := range slices.Sorted(maps.Keys(body)) {
		if slices.Contains(allowed, key) {
			continue
		}
		message := "nothing is allowed here"
		if len(allowed) > 0 {
			message = "it is not known here; use " + strings.Join(allowed, ", ")
		}
		return invalid(field+"."+short(key), message)
	}
	return nil
}

func (p *parser) boolean(body map[string]any, field string, depth int) (node, error) {
	if err := only(body, field, "must", "filter", "should", "must_not", "minimum_should_match"); err != nil {
		return nil, err
	}
	lists := map[string][]node{}
	for _, kind := range []string{"must", "filter", "should", "must_not"} {
		parts, err := p.list(body[kind], field+"."+kind, depth)
		if err != nil {
			return nil, err
		}
		lists[kind] = parts
	}
	parts := append(all(lists["must"]), lists["filter"]...)
	for _, part := range lists["must_not"] {
		parts = append(parts, not{part})
	}
	least := 0
	if len(lists["must"])+len(lists["filter"]) == 0 && len(lists["should"]) > 0 {
		least = 1
	}
	if given, ok := body["minimum_should_match"]; ok {
		var valid bool
		if least, valid = count(given, maxClauses); !valid {
			return nil, invalid(field+".minimum_should_match", "use a number from 0")
		}
	}
	if least > 0 {
		parts = append(parts, some{parts: lists["should"], least: least})
	}
	return parts, nil
}

// list reads one query or several.
func (p *parser) list(value any, field string, depth int) ([]node, error) {
	if value == nil {
		return nil, nil
	}
	values, ok := value.([]any)
	if !ok {
		part, err := p.query(value, field, depth+1)
		return []node{part}, err
	}
	parts := make([]node, 0, len(values))
	for i, element := range values {
		part, err := p.query(element, fmt.Sprintf("%s[%d]", field, i), depth+1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func existsClause(body map[string]any, field string) (node, error) {
	if err := only(body, field, "field"); err != nil {
		return nil, err
	}
	path, err := pathOf(body["field"], field+".field")
	return exists{path}, err
}

// pathOf reads the name of a field of events. Whole objects may be asked for too.
func pathOf(value any, field string) (string, error) {
	text, _ := value.(string)
	if slices.Contains([]string{"source", "target", "options", "error"}, text) {
		return text, nil
	}
	path, ok := cleanPath(text)
	if !ok {
		return "", invalid(field, Paths)
	}
	return path, nil
}
