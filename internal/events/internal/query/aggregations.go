package query

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Aggregations are figures about the events of a search, by their names. They are counted in one pass.
type Aggregations []*aggregation

// AggregationKinds says which aggregations there are.
const AggregationKinds = "avg, cardinality, date_histogram, filters, histogram, max, min, percentiles, stats, sum and terms"

const (
	maxAggregations     = 100
	maxAggregationDepth = 5
	maxName             = 100
	// maxBuckets is how many buckets one aggregation gives.
	maxBuckets = 10_000
	// maxParts bounds what all aggregations of a search keep in memory: buckets and different values.
	maxParts = 250_000
)

// aggregation is one figure that is asked for.
type aggregation struct {
	name, field string
	kind        string
	path        string
	subs        Aggregations

	size     int
	least    int
	missing  any
	order    []ordering
	timeline *timeline
	scale    *scale
	from, to *float64 // extended bounds, of keys
	percents []float64
	filters  []named
	keyed    bool
	other    string
}

// named is one filter of an aggregation.
type named struct {
	name   string
	filter Filter
}

// ParseAggregations reads aggregations in the language of search engines. What is not part of the subset is
// validation_failed with the path below field.
func ParseAggregations(raw json.RawMessage, field string) (Aggregations, error) {
	value, err := decode(raw)
	if err != nil {
		return nil, invalid(field, "write aggregations as an object, by their names")
	}
	return (&aggregationParser{}).all(value, field, 1)
}

// aggregationParser reads aggregations and keeps count of them.
type aggregationParser struct {
	count   int
	queries parser
}

func (p *aggregationParser) all(value any, field string, depth int) (Aggregations, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, invalid(field, "write aggregations as an object, by their names")
	}
	if depth > maxAggregationDepth {
		return nil, invalid(field, "nest at most 5 aggregations")
	}
	read := make(Aggregations, 0, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if p.count++; p.count > maxAggregations {
			return nil, invalid(field, "ask for at most 100 aggregations")
		}
		if len(name) > maxName || name == "" || strings.ContainsAny(name, "[]>") {
			return nil, invalid(field+"."+short(name), "a name has 1 to 100 characters, and none of [ ] >")
		}
		one, err := p.one(object[name], field+"."+name, depth)
		if err != nil {
			return nil, err
		}
		one.name = name
		read = append(read, one)
	}
	return read, nil
}

func (p *aggregationParser) one(value any, field string, depth int) (*aggregation, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, invalid(field, "write an aggregation as an object")
	}
	a := &aggregation{field: field}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var err error
		switch {
		case key == "aggs" || key == "aggregations":
			a.subs, err = p.all(object[key], field+"."+key, depth+1)
		case a.kind != "":
			err = invalid(field+"."+short(key), "an aggregation is of one kind, and may have aggs")
		default:
			a.kind = key
			err = p.kind(a, object[key])
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case a.kind == "":
		return nil, invalid(field, "say which kind of aggregation it is: "+AggregationKinds)
	case len(a.subs) > 0 && !a.hasBuckets():
		return nil, invalid(field+".aggs", "only terms, date_histogram, histogram and filters have buckets to aggregate")
	}
	return a, a.checkOrder()
}

func (a *aggregation) hasBuckets() bool {
	return slices.Contains([]string{"terms", "date_histogram", "histogram", "filters"}, a.kind)
}

func (p *aggregationParser) kind(a *aggregation, value any) error {
	field := a.field + "." + short(a.kind)
	body, ok := value.(map[string]any)
	if !ok {
		return invalid(field, "write an object")
	}
	switch a.kind {
	case "terms":
		return a.parseTerms(body, field)
	case "date_histogram":
		return a.parseDates(body, field)
	case "histogram":
		return a.parseHistogram(body, field)
	case "filters":
		return p.parseFilters(a, body, field)
	case "percentiles":
		return a.parsePercentiles(body, field)
	case "avg", "sum", "min", "max", "stats", "cardinality":
		if err := only(body, field, "field", "missing"); err != nil {
			return err
		}
		return a.parseField(body, field)
	default:
		return invalid(field, "there is no such aggregation here; use "+AggregationKinds)
	}
}

// parseField reads the field of events that an aggregation is about, and what stands for a missing value.
func (a *aggregation) parseField(body map[string]any, field string) error {
	name, _ := body["field"].(string)
	path, ok := cleanPath(name)
	if !ok {
		return invalid(field+".field", Paths)
	}
	a.path = path
	missing, given := body["missing"]
	if given && !scalar(missing) {
		return invalid(field+".missing", "use a text, a number or a boolean")
	}
	a.missing = missing
	return nil
}

// values are what a document has for the aggregation. Times are milliseconds.
func (a *aggregation) values(d *Document) []any {
	if a.path == fieldCreatedAt {
		return []any{moment(d.stored.Position.Time().UnixMilli())}
	}
	values := d.Values(a.path)
	if len(values) == 0 && a.missing != nil {
		return []any{a.missing}
	}
	return values
}

// moment is the time of an event as a value, in milliseconds.
type moment int64
