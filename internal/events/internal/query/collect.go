package query

import (
	"maps"
	"math"

	"atelier/internal/bus"
)

// Collector counts the figures of aggregations, one event after the other.
type Collector struct {
	figures group
	budget  *budget
}

// Collect begins to count.
func (a Aggregations) Collect() *Collector {
	b := &budget{left: maxParts}
	return &Collector{figures: newGroup(a, b), budget: b}
}

// Add counts an event. It refuses, with validation_failed, what would need too much memory.
func (c *Collector) Add(d *Document) error { return c.figures.add(d) }

// Result gives the figures by their names, as search engines write them.
func (c *Collector) Result() (map[string]any, error) { return c.figures.result() }

// budget bounds what a search keeps in memory.
type budget struct{ left int }

func (b *budget) take(a *aggregation) error {
	if b.left--; b.left < 0 {
		return invalid(a.field, "there are too many different values to count; narrow the query, or use larger intervals")
	}
	return nil
}

// group is the figures of some aggregations about the same events.
type group []figure

// figure is one figure that is being counted.
type figure struct {
	of *aggregation
	counter
}

// counter counts.
type counter interface {
	add(d *Document) error
	result() (map[string]any, error)
	// figure is a number to sort buckets by.
	figure(name string) float64
}

func newGroup(all Aggregations, b *budget) group {
	if len(all) == 0 {
		return nil
	}
	g := make(group, 0, len(all))
	for _, a := range all {
		g = append(g, figure{of: a, counter: a.counter(b)})
	}
	return g
}

func (a *aggregation) counter(b *budget) counter {
	switch a.kind {
	case "terms", "date_histogram", "histogram":
		return &buckets{of: a, budget: b, by: map[any]*bucket{}}
	case "filters":
		return newFiltered(a, b)
	case "cardinality":
		return &distinct{of: a, budget: b, seen: map[any]struct{}{}}
	case "percentiles":
		return &ranked{of: a, budget: b}
	default:
		return &summed{of: a, least: math.Inf(1), most: math.Inf(-1)}
	}
}

func (g group) add(d *Document) error {
	for _, f := range g {
		if err := f.add(d); err != nil {
			return err
		}
	}
	return nil
}

func (g group) result() (map[string]any, error) {
	all := make(map[string]any, len(g))
	for _, f := range g {
		one, err := f.result()
		if err != nil {
			return nil, err
		}
		all[f.of.name] = one
	}
	return all, nil
}

// figure is a number of one of the aggregations, by name or name.part.
func (g group) figure(name, part string) float64 {
	for _, f := range g {
		if f.of.name == name {
			return f.figure(part)
		}
	}
	return math.NaN()
}

// filtered counts events by the filters they match.
type filtered struct {
	of    *aggregation
	parts []bucket
	other bucket
}

func newFiltered(a *aggregation, b *budget) *filtered {
	f := &filtered{of: a, parts: make([]bucket, len(a.filters))}
	for i := range f.parts {
		f.parts[i].subs = newGroup(a.subs, b)
	}
	f.other.subs = newGroup(a.subs, b)
	return f
}

func (f *filtered) add(d *Document) error {
	matched := false
	for i := range f.parts {
		if !f.of.filters[i].filter.Match(d) {
			continue
		}
		matched = true
		if err := f.parts[i].add(d); err != nil {
			return err
		}
	}
	if matched || f.of.other == "" {
		return nil
	}
	return f.other.add(d)
}

func (f *filtered) result() (map[string]any, error) {
	list, byName := make([]any, 0, len(f.parts)+1), map[string]any{}
	put := func(name string, b *bucket) error {
		shown, err := b.show()
		list, byName[name] = append(list, shown), shown
		return err
	}
	for i := range f.parts {
		if err := put(f.of.filters[i].name, &f.parts[i]); err != nil {
			return nil, err
		}
	}
	if f.of.other != "" {
		if err := put(f.of.other, &f.other); err != nil {
			return nil, err
		}
	}
	if f.of.keyed {
		return map[string]any{"buckets": byName}, nil
	}
	return map[string]any{"buckets": list}, nil
}

func (f *filtered) figure(string) float64 { return math.NaN() }

// bucket is some of the events.
type bucket struct {
	key   any
	count int
	subs  group
	last  bus.Position // of what was counted
}

func (b *bucket) add(d *Document) error {
	b.count++
	return b.subs.add(d)
}

func (b *bucket) show() (map[string]any, error) {
	shown := map[string]any{"doc_count": b.count}
	figures, err := b.subs.result()
	maps.Copy(shown, figures)
	return shown, err
}
