package query_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/events/internal/query"
)

// TestConditionsNeverHideWhatMatches decides a condition about the entry of an event as a search engine does.
func TestConditionsNeverHideWhatMatches(t *testing.T) {
	t.Parallel()
	exactly := 0
	often(t, func(t *rapid.T) {
		filter, text := anyFilter(t)
		body := anyBody(t)
		document := event(0, "order.paid", body)
		condition, exact := filter.Condition()
		matches, fulfils := filter.Match(document), holds(t, condition, document)
		if matches && !fulfils || exact && matches != fulfils {
			t.Fatalf("%s: matches %t, fulfils %t, exact %t\n%s\n%v", text, matches, fulfils, exact, body, condition)
		}
		if exact && matches {
			exactly++
		}
	})
	if exactly == 0 {
		t.Error("no exact condition was ever fulfilled")
	}
}

// holds decides a condition.
func holds(t *rapid.T, condition query.Condition, d *query.Document) bool {
	entry := d.Entry()
	for kind, body := range condition {
		inner, _ := body.(map[string]any)
		switch kind {
		case "match_all":
			return true
		case "match_none":
			return false
		case "bool":
			return boolHolds(t, inner, d)
		}
		for field, asked := range inner {
			switch {
			case kind == "terms" && field == "terms":
				return slices.ContainsFunc(asked.([]string), func(term string) bool { return slices.Contains(entry.Terms, term) })
			case kind == "terms" && field == "words":
				return slices.ContainsFunc(asked.([]string), func(word string) bool { return slices.Contains(entry.Words, word) })
			case kind == "terms" && field == "type":
				return slices.Contains(asked.([]string), d.Stored().Type)
			}
		}
	}
	t.Fatalf("a condition that the test does not know: %v", condition)
	return false
}

func boolHolds(t *rapid.T, parts map[string]any, d *query.Document) bool {
	count := func(kind string) (fulfilled, all int) {
		list, _ := parts[kind].([]query.Condition)
		for _, part := range list {
			if holds(t, part, d) {
				fulfilled++
			}
		}
		return fulfilled, len(list)
	}
	filters, all := count("filter")
	without, _ := count("must_not")
	should, _ := count("should")
	least, _ := parts["minimum_should_match"].(int)
	return filters == all && without == 0 && should >= least
}
