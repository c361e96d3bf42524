package query

import "time"

// Tally is an aggregation that a store can count without reading events: how many there are of each type, or in each interval
// of time.
type Tally struct{ counts *buckets }

// Tallies gives the aggregations as tallies; false when one of them needs the events themselves.
func (c *Collector) Tallies() ([]Tally, bool) {
	tallies := make([]Tally, 0, len(c.figures))
	for _, f := range c.figures {
		counts, ok := f.counter.(*buckets)
		byType := ok && f.of.kind == "terms" && f.of.path == fieldType
		byTime := ok && f.of.kind == "date_histogram" && f.of.path == fieldCreatedAt
		if len(f.of.subs) > 0 || !byType && !byTime {
			return nil, false
		}
		tallies = append(tallies, Tally{counts})
	}
	return tallies, true
}

// ByType tells that events are counted by their types; otherwise they are by time.
func (t Tally) ByType() bool { return t.counts.of.timeline == nil }

// Interval is the interval of time that a time lies in, and the beginning of the next one.
func (t Tally) Interval(at time.Time) (from, next time.Time) {
	start := t.counts.of.timeline.floor(at.UnixMilli())
	return time.UnixMilli(start).UTC(), time.UnixMilli(t.counts.of.timeline.next(start)).UTC()
}

// Type counts events of a type.
func (t Tally) Type(eventType string, count int) error { return t.count(eventType, count) }

// Time counts events in the interval that begins at a time.
func (t Tally) Time(from time.Time, count int) error { return t.count(moment(from.UnixMilli()), count) }

func (t Tally) count(key any, count int) error {
	if count <= 0 {
		return nil
	}
	b, err := t.counts.bucket(key)
	if err == nil {
		b.count += count
	}
	return err
}
