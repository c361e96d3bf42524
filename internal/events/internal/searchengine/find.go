package searchengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
	"atelier/internal/events/internal/store"
)

// Index searches the index. As long as that is being built, the log itself is searched: answers are complete at any time.
type Index struct {
	Engine *Engine
	SQL    store.SQL
}

var _ store.Index = Index{}

// pick is what can answer now.
func (i Index) pick(ctx context.Context) (store.Index, error) {
	s, err := i.Engine.state(ctx)
	if err != nil {
		return nil, err
	}
	if !s.built {
		return i.SQL, nil
	}
	return built{i.Engine}, nil
}

// Candidates implements store.Index.
func (i Index) Candidates(ctx context.Context, search store.Search) (*store.Candidates, error) {
	index, err := i.pick(ctx)
	if err != nil {
		return nil, err
	}
	return index.Candidates(ctx, search)
}

// Count implements store.Index.
func (i Index) Count(ctx context.Context, search store.Search, most int) (int, bool, error) {
	index, err := i.pick(ctx)
	if err != nil {
		return 0, false, err
	}
	return index.Count(ctx, search, most)
}

// Tally implements store.Index.
func (i Index) Tally(ctx context.Context, search store.Search, collector *query.Collector) (bool, error) {
	index, err := i.pick(ctx)
	if err != nil {
		return false, err
	}
	return index.Tally(ctx, search, collector)
}

// Types implements store.Index.
func (i Index) Types(ctx context.Context, workspaceID string, most int) ([]string, error) {
	index, err := i.pick(ctx)
	if err != nil {
		return nil, err
	}
	return index.Types(ctx, workspaceID, most)
}

// built is an index that is complete.
type built struct{ *Engine }

// searchAnswer is what a search gives.
type searchAnswer struct {
	Hits struct {
		Hits []struct {
			Index       string      `json:"_index"`
			SeqNo       json.Number `json:"_seq_no"`
			PrimaryTerm json.Number `json:"_primary_term"`
			Source      document    `json:"_source"`
		} `json:"hits"`
	} `json:"hits"`
	TimedOut bool `json:"timed_out"`
	Shards   struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
}

// condition is what the engine is asked: as much of the search as it can decide. It is exact when that is all.
func condition(search store.Search) (parts []query.Condition, exact bool) {
	p := search.Plan()
	bounds := map[string]any{"gt": int64(p.After)}
	if p.Before > 0 {
		bounds["lt"] = int64(p.Before)
	}
	parts = []query.Condition{{"range": map[string]any{"position": bounds}}}
	if !search.Everywhere {
		parts = append(parts, query.Condition{"term": map[string]any{"workspaceId": search.WorkspaceID}})
	}
	asked, exact := search.Filter.Condition()
	parts = append(parts, asked)
	if search.May != nil {
		outline, _ := search.Outline.Condition()
		parts = append(parts, outline)
	}
	return parts, exact && search.Fitting == nil && !p.Nothing
}

func filtered(parts []query.Condition) map[string]any {
	return map[string]any{"bool": map[string]any{"filter": parts}}
}

// Candidates implements store.Index.
func (b built) Candidates(_ context.Context, search store.Search) (*store.Candidates, error) {
	parts, exact := condition(search)
	read := func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error) {
		return b.read(ctx, reading{search: search, parts: parts, after: after, before: before}, limit)
	}
	return store.NewCandidates(search, store.Known{Matching: exact}, read), nil
}

// reading is a part of a search.
type reading struct {
	search        store.Search
	parts         []query.Condition
	after, before bus.Position
}

// read reads events, fewer at a time when they are large.
func (b built) read(ctx context.Context, r reading, limit int) (events []bus.Event, err error) {
	for page := limit; len(events) < limit; {
		some, ended, err := b.page(ctx, r, min(page, limit-len(events)))
		if errors.Is(err, errTooLarge) && page > 1 {
			page /= 4
			page = max(page, 1)
			continue
		}
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		events = append(events, some...)
		if ended {
			break
		}
		if last := some[len(some)-1].Position; r.search.Ascending {
			r.after = last
		} else {
			r.before = last
		}
	}
	return events, nil
}

// page reads some events; the second result tells that there are no more.
func (b built) page(ctx context.Context, r reading, limit int) ([]bus.Event, bool, error) {
	bounds := map[string]any{"gt": int64(r.after)}
	if r.before > 0 {
		bounds["lt"] = int64(r.before)
	}
	order := "desc"
	if r.search.Ascending {
		order = "asc"
	}
	var answer searchAnswer
	err := b.search(ctx, r.search, map[string]any{
		"size": limit, "track_total_hits": false, "_source": []string{"position", "workspaceId", "type", "body"},
		"query": filtered(append(r.parts[:len(r.parts):len(r.parts)], query.Condition{"range": map[string]any{"position": bounds}})),
		"sort":  []any{map[string]any{"position": map[string]any{"order": order, "unmapped_type": "long"}}},
	}, &answer)
	if err != nil {
		return nil, false, err
	}
	if answer.TimedOut || answer.Shards.Failed > 0 {
		return nil, false, fmt.Errorf("%d parts of the search engine did not answer", answer.Shards.Failed)
	}
	events := make([]bus.Event, 0, len(answer.Hits.Hits))
	for _, h := range answer.Hits.Hits {
		event := eventOf(h.Source)
		if n := len(events); n == 0 || events[n-1].Position != event.Position { // one that was written twice is one
			events = append(events, event)
		}
	}
	return events, len(answer.Hits.Hits) < limit, nil
}

func (b built) search(ctx context.Context, search store.Search, body map[string]any, answer any) error {
	return b.client.do(ctx, http.MethodPost, "/"+b.places(search.WorkspaceID, search.Everywhere)+"/_search?"+lenient+"&allow_partial_search_results=false", body, answer)
}

// Count implements store.Index.
func (b built) Count(ctx context.Context, search store.Search, most int) (int, bool, error) {
	parts, exact := condition(search)
	if !exact || search.May != nil {
		return 0, false, nil
	}
	var answer struct {
		Count int `json:"count"`
	}
	err := b.client.do(ctx, http.MethodPost, "/"+b.places(search.WorkspaceID, search.Everywhere)+"/_count?"+lenient, map[string]any{"query": filtered(parts)}, &answer)
	if most > 0 {
		answer.Count = min(answer.Count, most)
	}
	return answer.Count, err == nil, unavailable(ctx, err)
}

// Types implements store.Index.
func (b built) Types(ctx context.Context, workspaceID string, most int) ([]string, error) {
	search := store.Search{WorkspaceID: workspaceID}
	parts, _ := condition(search)
	counted, err := b.byType(ctx, search, parts, most)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	types := make([]string, 0, len(counted.Buckets))
	for _, bucket := range counted.Buckets {
		types = append(types, bucket.Key)
	}
	return types, nil
}
