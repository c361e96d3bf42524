package query

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// buckets counts events by their values, or by the intervals that those lie in.
type buckets struct {
	of     *aggregation
	budget *budget
	by     map[any]*bucket
}

// exact is the key of a number that floating point cannot hold.
type exact string

func (c *buckets) add(d *Document) error {
	for _, value := range c.of.values(d) {
		key := c.of.key(value)
		if key == nil {
			continue
		}
		b, err := c.bucket(key)
		if err != nil {
			return err
		}
		if b.last == d.stored.Position { // an event counts once in a bucket
			continue
		}
		b.last = d.stored.Position
		if err := b.add(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *buckets) bucket(key any) (*bucket, error) {
	if b, ok := c.by[key]; ok {
		return b, nil
	}
	if err := c.budget.take(c.of); err != nil {
		return nil, err
	}
	b := &bucket{key: key, subs: newGroup(c.of.subs, c.budget)}
	c.by[key] = b
	return b, nil
}

// key is the bucket of a value; nil when it has none. Keys are texts, booleans, numbers (float64 or exact) and moments.
func (a *aggregation) key(value any) any {
	switch {
	case a.timeline != nil:
		if at, ok := value.(moment); ok {
			return moment(a.timeline.floor(int64(at)))
		}
		t, ok := momentOf(value)
		if !ok {
			return nil
		}
		return moment(a.timeline.floor(t.UnixMilli()))
	case a.scale != nil:
		number, ok := amount(value)
		if !ok {
			return nil
		}
		return a.scale.floor(number)
	default:
		return termKey(value)
	}
}

func termKey(value any) any {
	switch v := value.(type) {
	case json.Number:
		number, _ := numberOf(v)
		if math.IsInf(number, 0) || canonical(v.String()) != canonical(strconv.FormatFloat(number, 'g', -1, 64)) {
			return exact(v.String())
		}
		return number
	case int:
		return float64(v)
	default:
		return v
	}
}

// amount is a number that can be counted with; times are milliseconds.
func amount(value any) (float64, bool) {
	if at, ok := value.(moment); ok {
		return float64(at), true
	}
	number, ok := numberOf(value)
	return number, ok && !math.IsInf(number, 0)
}

func (c *buckets) figure(string) float64 { return math.NaN() }

func (c *buckets) result() (map[string]any, error) {
	if c.of.kind != "terms" && c.of.least == 0 {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	found := make([]*bucket, 0, len(c.by))
	for _, b := range c.by {
		if b.count >= c.of.least {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, c.compare)
	left := 0
	if c.of.kind == "terms" && len(found) > c.of.size {
		for _, b := range found[c.of.size:] {
			left += b.count
		}
		found = found[:c.of.size]
	}
	if len(found) > maxBuckets {
		return nil, invalid(c.of.field, "there are more than 10,000 buckets; narrow the query, or use larger intervals")
	}
	list := make([]any, 0, len(found))
	for _, b := range found {
		shown, err := b.show()
		if err != nil {
			return nil, err
		}
		c.label(shown, b.key)
		list = append(list, shown)
	}
	if c.of.kind != "terms" {
		return map[string]any{"buckets": list}, nil
	}
	return map[string]any{"doc_count_error_upper_bound": 0, "sum_other_doc_count": left, "buckets": list}, nil
}

// label writes the key of a bucket.
func (c *buckets) label(shown map[string]any, key any) {
	switch k := key.(type) {
	case moment:
		line := c.of.timeline
		if line == nil {
			line = plainTimes()
		}
		shown["key"], shown["key_as_string"] = int64(k), line.write(int64(k))
	case bool:
		shown["key"], shown["key_as_string"] = 0, strconv.FormatBool(k)
		if k {
			shown["key"] = 1
		}
	case exact:
		shown["key"] = json.Number(k)
	default:
		shown["key"] = key
	}
}

// fill adds the empty buckets between the others, and up to the extended bounds.
func (c *buckets) fill() error {
	from, to := math.Inf(1), math.Inf(-1)
	for key := range c.by {
		number, _ := amount(key)
		from, to = min(from, number), max(to, number)
	}
	if c.of.from != nil {
		from = min(from, c.of.floor(*c.of.from))
	}
	if c.of.to != nil {
		to = max(to, c.of.floor(*c.of.to))
	}
	if c.of.from == nil && math.IsInf(from, 0) || c.of.to == nil && math.IsInf(to, 0) {
		return nil
	}
	count := 0
	for at := from; at <= to; count++ {
		if count >= maxBuckets {
			return invalid(c.of.field, "there are more than 10,000 buckets; narrow the query, or use larger intervals")
		}
		var key any = at
		if c.of.timeline != nil {
			key = moment(int64(at))
		}
		if _, err := c.bucket(key); err != nil {
			return err
		}
		next := c.of.next(at)
		if !(next > at) {
			return invalid(c.of.field, "the interval is too small for these numbers")
		}
		at = next
	}
	return nil
}

func (a *aggregation) floor(at float64) float64 {
	if a.timeline != nil {
		return float64(a.timeline.floor(int64(at)))
	}
	return a.scale.floor(at)
}

func (a *aggregation) next(at float64) float64 {
	if a.timeline != nil {
		return float64(a.timeline.next(int64(at)))
	}
	return a.scale.floor(at + a.scale.step*1.5)
}

// compare sorts buckets as was asked, and by their keys where that leaves them equal.
func (c *buckets) compare(a, b *bucket) int {
	for _, o := range c.of.order {
		var order int
		switch o.by {
		case byCount:
			order = cmp.Compare(a.count, b.count)
		case byKey:
			order = compareKeys(a.key, b.key)
		default:
			name, part, _ := strings.Cut(o.by, ".")
			order = compareFigures(a.subs.figure(name, part), b.subs.figure(name, part), o.descending)
		}
		if o.descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return compareKeys(a.key, b.key)
}

// compareFigures puts what has no figure last, whatever the direction.
func compareFigures(a, b float64, descending bool) int {
	if math.IsNaN(a) != math.IsNaN(b) {
		if math.IsNaN(a) != descending {
			return 1
		}
		return -1
	}
	return cmp.Compare(a, b)
}

// compareKeys puts numbers before texts, and booleans after both.
func compareKeys(a, b any) int {
	if order := cmp.Compare(rank(a), rank(b)); order != 0 {
		return order
	}
	switch x := a.(type) {
	case string:
		text, _ := b.(string)
		return strings.Compare(x, text)
	case bool:
		if a == b {
			return 0
		}
		if x {
			return 1
		}
		return -1
	default:
		return cmp.Or(cmp.Compare(keyNumber(a), keyNumber(b)), strings.Compare(keyText(a), keyText(b)))
	}
}

func rank(key any) int {
	switch key.(type) {
	case string:
		return 1
	case bool:
		return 2
	default:
		return 0
	}
}

func keyNumber(key any) float64 {
	if text, ok := key.(exact); ok {
		number, _ := strconv.ParseFloat(string(text), 64)
		return number
	}
	number, _ := amount(key)
	return number
}

func keyText(key any) string {
	text, _ := key.(exact)
	return string(text)
}
