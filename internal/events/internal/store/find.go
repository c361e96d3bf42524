package store

import (
	"container/heap"
	"context"

	"atelier/internal/bus/sqlbus"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// Want is what a search gives of the events that match.
type Want struct {
	Offset, Limit int
	Order         query.Order
	// Most is where counting stops; zero counts them all.
	Most         int
	Aggregations query.Aggregations
}

// Found is the result of a search.
type Found struct {
	// Size is how many events match, up to Want.Most.
	Size      int
	Documents []*query.Document
	// Figures are those of the aggregations, over all events that match.
	Figures map[string]any
}

// Find searches. The index counts where it can; otherwise the events that may match are read once.
func (s *Store) Find(ctx context.Context, search Search, want Want) (found Found, err error) {
	ascending, natural := want.Order.Natural()
	search.Ascending = natural && ascending
	collector := want.Aggregations.Collect()
	if natural && !search.Plan().Nothing {
		found, counted, err := s.counted(ctx, search, want, collector)
		if err != nil || counted {
			return found, err
		}
		collector = want.Aggregations.Collect()
	}
	run := &run{want: want, natural: natural, collector: collector, best: places{order: want.Order}}
	if err := s.Each(ctx, search, run.visit); err != nil {
		return found, err
	}
	found = Found{Size: run.size, Documents: run.documents}
	if !natural {
		if found.Documents, err = s.fetch(ctx, run.best.page(want.Offset, want.Limit)); err != nil {
			return found, err
		}
	}
	found.Figures, err = collector.Result()
	return found, err
}

// counted is a search whose figures the index knows; false when it does not.
func (s *Store) counted(ctx context.Context, search Search, want Want, collector *query.Collector) (found Found, counted bool, err error) {
	if counted, err = s.Index.Tally(ctx, search, collector); err != nil || !counted {
		return found, false, err
	}
	if found.Size, counted, err = s.Index.Count(ctx, search, want.Most); err != nil || !counted {
		return found, false, err
	}
	if found.Documents, err = s.Page(ctx, search, want.Offset, want.Limit); err != nil {
		return found, false, err
	}
	found.Figures, err = collector.Result()
	return found, true, err
}

// run is a search that reads events.
type run struct {
	want      Want
	natural   bool
	collector *query.Collector
	size      int
	seen      int
	documents []*query.Document
	best      places
}

func (r *run) visit(d *query.Document) (more bool, err error) {
	r.seen++
	if r.want.Most == 0 || r.size < r.want.Most {
		r.size++
	}
	switch {
	case r.natural && r.seen > r.want.Offset && len(r.documents) < r.want.Limit:
		r.documents = append(r.documents, d)
	case !r.natural:
		r.best.offer(r.want.Order.Place(d), r.want.Offset+r.want.Limit)
	}
	if len(r.want.Aggregations) > 0 {
		return true, r.collector.Add(d)
	}
	enough := r.natural && len(r.documents) == r.want.Limit && r.want.Most > 0 && r.size >= r.want.Most
	return !enough, nil
}

// fetch reads events that were chosen by their places. One that is gone by now is left out.
func (s *Store) fetch(ctx context.Context, places []query.Place) ([]*query.Document, error) {
	documents := make([]*query.Document, 0, len(places))
	for _, place := range places {
		event, err := sqlbus.Get(ctx, s.DB, place.WorkspaceID, place.Position)
		if sqldb.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		documents = append(documents, query.Read(event))
	}
	return documents, nil
}

// places keeps the events that come first, the last of them on top.
type places struct {
	order query.Order
	all   []query.Place
}

func (p *places) offer(place query.Place, most int) {
	switch {
	case most == 0:
	case len(p.all) < most:
		heap.Push(p, place)
	case p.order.Compare(place, p.all[0]) < 0:
		p.all[0] = place
		heap.Fix(p, 0)
	}
}

// page takes the places of a page, in order. Nothing can be offered afterwards.
func (p *places) page(offset, limit int) []query.Place {
	sorted := make([]query.Place, len(p.all))
	for i := len(sorted) - 1; i >= 0; i-- {
		sorted[i], _ = heap.Pop(p).(query.Place)
	}
	sorted = sorted[min(offset, len(sorted)):]
	return sorted[:min(limit, len(sorted))]
}

// Len implements heap.Interface.
func (p *places) Len() int { return len(p.all) }

// Less implements heap.Interface: the last comes first.
func (p *places) Less(i, j int) bool { return p.order.Compare(p.all[i], p.all[j]) > 0 }

// Swap implements heap.Interface.
func (p *places) Swap(i, j int) { p.all[i], p.all[j] = p.all[j], p.all[i] }

// Push implements heap.Interface.
func (p *places) Push(x any) {
	place, _ := x.(query.Place)
	p.all = append(p.all, place)
}

// Pop implements heap.Interface.
func (p *places) Pop() any {
	last := p.all[len(p.all)-1]
	p.all = p.all[:len(p.all)-1]
	return last
}
