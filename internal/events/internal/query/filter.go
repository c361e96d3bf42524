package query

import (
	"slices"
	"time"

	"atelier/internal/bus"
)

// Filter is what is asked of an event. The zero value asks nothing: every event fulfils it. It does not change and may be used
// by several goroutines.
type Filter struct{ root node }

// Match tells whether the event fulfils everything that is asked.
func (f Filter) Match(d *Document) bool { return f.root == nil || f.root.match(d) }

// And asks for both.
func (f Filter) And(other Filter) Filter {
	switch {
	case f.root == nil:
		return other
	case other.root == nil:
		return f
	default:
		return Filter{root: all{f.root, other.root}}
	}
}

// Types lists the only types that can match; nil when any can.
func (f Filter) Types() []string { return f.Plan().Types }

// Asks tells whether the filter looks at a path.
func (f Filter) Asks(path string) bool { return f.root != nil && f.root.asks(path) }

// Plan is what a store can use of a filter to read few events. Every event that matches the filter is within it.
type Plan struct {
	// Types are the only types that can match; nil when any can.
	Types []string
	// After and Before bound the positions of what can match; both are exclusive, zero does not limit.
	After, Before bus.Position
	// Equal are the only texts that can match at some paths, for the paths of Indexed.
	Equal map[string][]string
	// Nothing tells that no event can match.
	Nothing bool
	// Exact tells that everything within the plan matches, or at most Shallow stands between them.
	Exact bool
	// Shallow tells that, besides, only events up to a depth of apps match. Most events are.
	Shallow bool
}

// Plan tells how a store can read what matches.
func (f Filter) Plan() Plan {
	p := Plan{Exact: true}
	if f.root != nil {
		p.take(f.root)
	}
	p.Nothing = p.Nothing || p.Types != nil && len(p.Types) == 0 || p.Before > 0 && p.After >= p.Before-1
	return p
}

func (p *Plan) take(n node) {
	switch n := n.(type) {
	case all:
		for _, part := range n {
			p.take(part)
		}
	case term:
		if n.path != fieldType || n.fold {
			p.Exact = false
			p.equal(n)
			return
		}
		p.only(n.texts())
	case span:
		p.within(n.after, n.before)
	case ids:
		p.Exact = false
		if len(n) == 0 {
			p.Nothing = true
			return
		}
		p.within(slices.Min(n.positions())-1, slices.Max(n.positions())+1)
	case shallow:
		p.Shallow = true
	case never:
		p.Nothing = true
	default:
		p.Exact = false
	}
}

// Indexed lists the paths that a store finds events by without reading others: the platform writes there, always texts. The
// rarest come first.
func Indexed() []string { return []string{"source.correlationId", "source.userId"} }

func (p *Plan) equal(n term) {
	const most = 20
	if n.fold || len(n.values) > most || !slices.Contains(Indexed(), n.path) || p.Equal[n.path] != nil {
		return
	}
	if p.Equal == nil {
		p.Equal = map[string][]string{}
	}
	p.Equal[n.path] = n.texts()
}

func (p *Plan) only(types []string) {
	if p.Types == nil {
		p.Types = types
		return
	}
	p.Types = slices.DeleteFunc(slices.Clone(p.Types), func(t string) bool { return !slices.Contains(types, t) })
}

func (p *Plan) within(after, before bus.Position) {
	p.After = max(p.After, after)
	if before > 0 && (p.Before == 0 || before < p.Before) {
		p.Before = before
	}
}

// OfTypes asks for events of some types.
func OfTypes(types ...string) Filter {
	values := make([]any, 0, len(types))
	for _, t := range types {
		values = append(values, t)
	}
	return Filter{root: newTerm(fieldType, false, values...)}
}

// Between asks for events from a time up to another, which is not part of it.
func Between(from, to time.Time) Filter {
	return Filter{root: span{path: fieldCreatedAt}.narrow(opGTE, from).narrow(opLT, to)}
}
