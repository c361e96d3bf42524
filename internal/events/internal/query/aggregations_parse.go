package query

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

func (a *aggregation) parseTerms(body map[string]any, field string) error {
	if err := only(body, field, "field", "size", "order", "missing", "min_doc_count"); err != nil {
		return err
	}
	a.size, a.least = 10, 1
	if err := number(body, "size", field, &a.size, 1, maxBuckets); err != nil {
		return err
	}
	if err := number(body, "min_doc_count", field, &a.least, 1, math.MaxInt32); err != nil {
		return err
	}
	if err := a.parseOrder(body["order"], field+".order", ordering{by: byCount, descending: true}); err != nil {
		return err
	}
	return a.parseField(body, field)
}

// number reads a whole number that may be left out.
func number(body map[string]any, key, field string, into *int, least, most int) error {
	value, ok := body[key]
	if !ok {
		return nil
	}
	n, valid := count(value, most)
	if !valid || n < least {
		return invalid(field+"."+key, fmt.Sprintf("use a number from %d to %d", least, most))
	}
	*into = n
	return nil
}

func (a *aggregation) parseDates(body map[string]any, field string) error {
	if err := only(body, field, "field", "fixed_interval", "calendar_interval", "time_zone", "format", "min_doc_count", "extended_bounds", "order"); err != nil {
		return err
	}
	line, err := parseTimeline(body, field)
	if err != nil {
		return err
	}
	a.timeline = line
	if err := number(body, "min_doc_count", field, &a.least, 0, math.MaxInt32); err != nil {
		return err
	}
	if err := a.parseOrder(body["order"], field+".order", ordering{by: byKey}); err != nil {
		return err
	}
	err = a.parseBounds(body, field, func(value any) (float64, bool) {
		t, ok := momentOf(value)
		return float64(t.UnixMilli()), ok
	})
	if err != nil {
		return err
	}
	return a.parseField(body, field)
}

// scale divides numbers into steps.
type scale struct{ step, offset float64 }

func (s *scale) floor(n float64) float64 { return math.Floor((n-s.offset)/s.step)*s.step + s.offset }

func (a *aggregation) parseHistogram(body map[string]any, field string) error {
	if err := only(body, field, "field", "interval", "offset", "min_doc_count", "extended_bounds", "order", "missing"); err != nil {
		return err
	}
	a.scale = &scale{}
	step, ok := numberOf(body["interval"])
	if !ok || !(step > 0) || math.IsInf(step, 0) {
		return invalid(field+".interval", "use a number above 0")
	}
	a.scale.step = step
	if given, ok := body["offset"]; ok {
		offset, ok := numberOf(given)
		if !ok || math.IsInf(offset, 0) {
			return invalid(field+".offset", "use a number")
		}
		a.scale.offset = offset
	}
	if err := number(body, "min_doc_count", field, &a.least, 0, math.MaxInt32); err != nil {
		return err
	}
	if err := a.parseOrder(body["order"], field+".order", ordering{by: byKey}); err != nil {
		return err
	}
	if err := a.parseBounds(body, field, numberOf); err != nil {
		return err
	}
	return a.parseField(body, field)
}

// parseBounds reads between which keys buckets are given although they are empty.
func (a *aggregation) parseBounds(body map[string]any, field string, read func(any) (float64, bool)) error {
	given, ok := body["extended_bounds"]
	if !ok {
		return nil
	}
	field += ".extended_bounds"
	object, ok := given.(map[string]any)
	if !ok {
		return invalid(field, "write an object with min and max")
	}
	if err := only(object, field, "min", "max"); err != nil {
		return err
	}
	for key, into := range map[string]**float64{"min": &a.from, "max": &a.to} {
		value, ok := object[key]
		if !ok {
			continue
		}
		bound, ok := read(value)
		if !ok || math.IsInf(bound, 0) {
			return invalid(field+"."+key, "use a number, or for dates a date")
		}
		*into = &bound
	}
	if a.from != nil && a.to != nil && *a.from > *a.to {
		return invalid(field, "min is above max")
	}
	return nil
}

func (a *aggregation) parsePercentiles(body map[string]any, field string) error {
	if err := only(body, field, "field", "percents", "missing"); err != nil {
		return err
	}
	a.percents = []float64{1, 5, 25, 50, 75, 95, 99}
	if given, ok := body["percents"]; ok {
		list, ok := given.([]any)
		if !ok || len(list) == 0 || len(list) > 100 {
			return invalid(field+".percents", "write a list of 1 to 100 numbers from 0 to 100")
		}
		a.percents = a.percents[:0]
		for _, value := range list {
			percent, ok := numberOf(value)
			if !ok || percent < 0 || percent > 100 {
				return invalid(field+".percents", "use numbers from 0 to 100")
			}
			a.percents = append(a.percents, percent)
		}
	}
	return a.parseField(body, field)
}

func (p *aggregationParser) parseFilters(a *aggregation, body map[string]any, field string) error {
	if err := only(body, field, "filters", "other_bucket_key"); err != nil {
		return err
	}
	if other, ok := body["other_bucket_key"]; ok {
		if a.other, ok = other.(string); !ok || a.other == "" || len(a.other) > maxName {
			return invalid(field+".other_bucket_key", "use a text of 1 to 100 characters")
		}
	}
	field += ".filters"
	switch given := body["filters"].(type) {
	case map[string]any:
		a.keyed = true
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if err := p.filter(a, name, given[name], field+"."+short(name)); err != nil {
				return err
			}
		}
	case []any:
		for i, value := range given {
			if err := p.filter(a, "", value, fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return err
			}
		}
	}
	if len(a.filters) == 0 {
		return invalid(field, "write queries by their names, or a list of them")
	}
	return nil
}

func (p *aggregationParser) filter(a *aggregation, name string, value any, field string) error {
	root, err := p.queries.query(value, field, 1)
	a.filters = append(a.filters, named{name: name, filter: Filter{root: root}})
	return err
}

// ordering is how buckets are sorted.
type ordering struct {
	by         string
	descending bool
}

const (
	byCount = "_count"
	byKey   = "_key"
)

// parseOrder reads {name: asc or desc}, or a list of those. Whatever is asked, the key comes last.
func (a *aggregation) parseOrder(value any, field string, otherwise ordering) error {
	list, ok := value.([]any)
	if !ok && value != nil {
		list = []any{value}
	}
	for _, element := range list {
		object, ok := element.(map[string]any)
		if !ok || len(object) != 1 {
			return invalid(field, "write an object such as {\"_count\": \"desc\"}, or a list of them")
		}
		for by, direction := range object {
			text, _ := direction.(string)
			if text = strings.ToLower(text); text != "asc" && text != "desc" {
				return invalid(field+"."+short(by), "use asc or desc")
			}
			a.order = append(a.order, ordering{by: by, descending: text == "desc"})
		}
	}
	if len(a.order) == 0 {
		a.order = []ordering{otherwise}
	}
	return nil
}

// checkOrder refuses to sort by figures that buckets do not have.
func (a *aggregation) checkOrder() error {
	for _, o := range a.order {
		if o.by == byCount || o.by == byKey {
			continue
		}
		name, figure, _ := strings.Cut(o.by, ".")
		known := slices.ContainsFunc(a.subs, func(s *aggregation) bool {
			return s.name == name && slices.Contains(s.figures(), figure)
		})
		if !known {
			return invalid(a.field+"."+a.kind+".order."+short(o.by), "sort by _count, _key or a figure of an aggregation below: its name, or name.avg of stats")
		}
	}
	return nil
}

// figures are the numbers of an aggregation that buckets can be sorted by.
func (a *aggregation) figures() []string {
	switch a.kind {
	case "avg", "sum", "min", "max", "cardinality":
		return []string{"", "value"}
	case "stats":
		return []string{"count", "min", "max", "avg", "sum"}
	default:
		return nil
	}
}
