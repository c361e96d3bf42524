package searchengine

import (
	"context"
	"encoding/json"
	"time"

	"atelier/internal/events/internal/query"
	"atelier/internal/events/internal/store"
)

const (
	// mostTypes is how many types are counted, mostIntervals how many intervals. With more of them the events are read.
	mostTypes     = 5000
	mostIntervals = 1000
)

// typeCounts are how many events there are of each type.
type typeCounts struct {
	Other   int `json:"sum_other_doc_count"`
	Buckets []struct {
		Key   string `json:"key"`
		Count int    `json:"doc_count"`
	} `json:"buckets"`
}

// Tally implements store.Index: how many events there are of each type, and in each interval of time.
func (b built) Tally(ctx context.Context, search store.Search, collector *query.Collector) (bool, error) {
	tallies, ok := collector.Tallies()
	parts, exact := condition(search)
	if !ok || !exact || search.May != nil {
		return false, nil
	}
	for _, t := range tallies {
		var err error
		if t.ByType() {
			ok, err = b.tallyTypes(ctx, search, parts, t)
		} else {
			ok, err = b.tallyTimes(ctx, search, parts, t)
		}
		if err != nil || !ok {
			return false, unavailable(ctx, err)
		}
	}
	return true, nil
}

func (b built) tallyTypes(ctx context.Context, search store.Search, parts []query.Condition, t query.Tally) (bool, error) {
	counted, err := b.byType(ctx, search, parts, mostTypes)
	if err != nil || counted.Other > 0 {
		return false, err
	}
	for _, bucket := range counted.Buckets {
		if err := t.Type(bucket.Key, bucket.Count); err != nil {
			return false, err
		}
	}
	return true, nil
}

// byType counts events by their types, in the order of those.
func (b built) byType(ctx context.Context, search store.Search, parts []query.Condition, most int) (typeCounts, error) {
	var answer struct {
		Aggregations struct {
			Types typeCounts `json:"types"`
		} `json:"aggregations"`
	}
	err := b.search(ctx, search, map[string]any{
		"size": 0, "track_total_hits": false, "query": filtered(parts),
		"aggs": map[string]any{"types": map[string]any{"terms": map[string]any{"field": "type", "size": most, "order": map[string]any{"_key": "asc"}}}},
	}, &answer)
	return answer.Aggregations.Types, err
}

// tallyTimes counts events in intervals. Where those begin and end is decided here, so that it is the same with every engine.
func (b built) tallyTimes(ctx context.Context, search store.Search, parts []query.Condition, t query.Tally) (bool, error) {
	first, last, found, err := b.ends(ctx, search, parts)
	if err != nil || !found {
		return err == nil, err
	}
	var starts []time.Time
	var ranges []map[string]any
	for at := first; !at.After(last); {
		if len(starts) >= mostIntervals {
			return false, nil
		}
		from, next := t.Interval(at)
		starts = append(starts, from)
		ranges = append(ranges, map[string]any{"from": from.UnixMilli(), "to": next.UnixMilli()})
		at = next
	}
	var answer struct {
		Aggregations struct {
			Times struct {
				Buckets []struct {
					From  json.Number `json:"from"`
					Count int         `json:"doc_count"`
				} `json:"buckets"`
			} `json:"times"`
		} `json:"aggregations"`
	}
	err = b.search(ctx, search, map[string]any{
		"size": 0, "track_total_hits": false, "query": filtered(parts),
		"aggs": map[string]any{"times": map[string]any{"date_range": map[string]any{"field": "createdAt", "format": "epoch_millis", "ranges": ranges}}},
	}, &answer)
	if err != nil || len(answer.Aggregations.Times.Buckets) != len(starts) {
		return false, err
	}
	for i, bucket := range answer.Aggregations.Times.Buckets { // in the order of time, as they were asked for
		if err := t.Time(starts[i], bucket.Count); err != nil {
			return false, err
		}
	}
	return true, nil
}

// ends are the times of the first and of the last event; false when there is none.
func (b built) ends(ctx context.Context, search store.Search, parts []query.Condition) (first, last time.Time, found bool, err error) {
	var answer struct {
		Aggregations struct {
			First, Last struct {
				Value *json.Number `json:"value"`
			}
		} `json:"aggregations"`
	}
	err = b.search(ctx, search, map[string]any{
		"size": 0, "track_total_hits": false, "query": filtered(parts),
		"aggs": map[string]any{
			"first": map[string]any{"min": map[string]any{"field": "createdAt"}}, "last": map[string]any{"max": map[string]any{"field": "createdAt"}},
		},
	}, &answer)
	if err != nil || answer.Aggregations.First.Value == nil || answer.Aggregations.Last.Value == nil {
		return first, last, false, err
	}
	least, err1 := answer.Aggregations.First.Value.Float64()
	most, err2 := answer.Aggregations.Last.Value.Float64()
	return time.UnixMilli(int64(least)).UTC(), time.UnixMilli(int64(most)).UTC(), err1 == nil && err2 == nil, nil
}
