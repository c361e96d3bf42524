package collections

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"atelier/internal/automation/internal/collections/internal/query"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Find is a question for records.
type Find struct {
	Query, Sort any
	// Options are limit, page, skip and fields.
	Options any
}

// finding is a compiled question.
type finding struct {
	query       *query.Query
	sort        query.Sort
	fields      *query.Projection
	skip, limit int
}

const defaultLimit = 50

func (c *Collections) compile(s *Schema, f Find) (*finding, error) {
	q, err := query.Compile(f.Query, s)
	if err != nil {
		return nil, err
	}
	order, err := query.CompileSort(f.Sort, s)
	if err != nil {
		return nil, err
	}
	fields, err := query.CompileProjection(value.Get(f.Options, "fields"), s)
	if err != nil {
		return nil, err
	}
	out := &finding{query: q, sort: order, fields: fields}
	return out, c.window(f.Options, out)
}

// window reads which of the records are wanted.
func (c *Collections) window(options any, f *finding) error {
	most := c.deps.Limits.Page
	limit, err := whole(options, "limit", defaultLimit, 1, most)
	if err != nil {
		return err
	}
	page, err := whole(options, "page", 1, 1, math.MaxInt32)
	if err != nil {
		return err
	}
	skip, err := whole(options, "skip", 0, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	f.limit = limit
	f.skip = min((page-1)*limit+skip, math.MaxInt32)
	return nil
}

func whole(options any, name string, otherwise, least, most int) (int, error) {
	v := value.Get(options, name)
	if !value.Exists(v) {
		return otherwise, nil
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		return 0, invalid("options.%s is a whole number from %d to %d.", name, least, most)
	}
	return int(n), nil
}

// FindMany gives the records that match.
func (c *Collections) FindMany(ctx context.Context, r sqldb.Reader, place Place, name string, f Find) ([]any, error) {
	col, err := open(ctx, r, place, name)
	if err != nil {
		return nil, err
	}
	compiled, err := c.compile(col.schema, f)
	if err != nil {
		return nil, err
	}
	return c.items(ctx, c.scan(r, col), compiled)
}

// FindOne gives the first record that matches, and null without one.
func (c *Collections) FindOne(ctx context.Context, r sqldb.Reader, place Place, name string, f Find) (any, error) {
	col, err := open(ctx, r, place, name)
	if err != nil {
		return nil, err
	}
	compiled, err := c.compile(col.schema, f)
	if err != nil {
		return nil, err
	}
	compiled.limit = 1
	items, err := c.items(ctx, c.scan(r, col), compiled)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return items[0], nil
}

// FindAndCount gives the records that match and are wanted, and how many match in all.
func (c *Collections) FindAndCount(ctx context.Context, r sqldb.Reader, place Place, name string, f Find) ([]any, error) {
	col, err := open(ctx, r, place, name)
	if err != nil {
		return nil, err
	}
	compiled, err := c.compile(col.schema, f)
	if err != nil {
		return nil, err
	}
	items, err := c.items(ctx, c.scan(r, col), compiled)
	if err != nil {
		return nil, err
	}
	total, err := c.total(ctx, c.scan(r, col), compiled.query)
	return []any{items, float64(total)}, err
}

// Count tells how many records match.
func (c *Collections) Count(ctx context.Context, r sqldb.Reader, place Place, name string, asked any) (float64, error) {
	col, err := open(ctx, r, place, name)
	if err != nil {
		return 0, err
	}
	q, err := query.Compile(asked, col.schema)
	if err != nil {
		return 0, err
	}
	total, err := c.total(ctx, c.scan(r, col), q)
	return float64(total), err
}

func (c *Collections) total(ctx context.Context, s *scan, q *query.Query) (int64, error) {
	if q.Everything() {
		return s.col.records, nil
	}
	total := int64(0)
	err := s.each(ctx, q, func(*record) (bool, error) {
		total++
		return true, nil
	})
	return total, err
}

func (c *Collections) items(ctx context.Context, s *scan, f *finding) ([]any, error) {
	records, err := c.best(ctx, s, f)
	if err != nil {
		return nil, err
	}
	items := make([]any, 0, len(records))
	for _, r := range records {
		items = append(items, f.fields.Of(r.shown))
	}
	return items, nil
}

// best gives the wanted records in their order.
func (c *Collections) best(ctx context.Context, s *scan, f *finding) ([]*record, error) {
	by := f.natural()
	ids, known, err := s.candidates(ctx, f.query, by, f.skip+f.limit)
	if err != nil {
		return nil, err
	}
	t := &top{most: f.skip + f.limit, compare: f.compare, left: c.deps.Limits.Result, limit: c.deps.Limits.Result}
	switch {
	case known:
		err = s.among(ctx, f.query, ids, t.add)
	case by == anyOrder:
		err = s.walk(ctx, f.query, false, 0, t.add)
	default: // they come in the right order: those in front need not be kept, and the rest need not be looked at
		skip := f.skip
		t.most, f.skip = f.limit, 0
		err = s.walk(ctx, f.query, by == newestFirst, skip+f.limit, func(r *record) (bool, error) {
			if skip > 0 {
				skip--
				return true, nil
			}
			_, err := t.add(r)
			return len(t.records) < t.most, err
		})
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(t.records, f.compare)
	return t.records[min(f.skip, len(t.records)):], nil
}

// natural tells whether the order is that in which records are stored.
func (f *finding) natural() order {
	switch {
	case len(f.sort) == 0:
		return oldestFirst
	case len(f.sort) > 1 || f.sort[0].Path[0] != fieldCreatedAt || len(f.sort[0].Path) > 1:
		return anyOrder
	case f.sort[0].Descending:
		return newestFirst
	default:
		return oldestFirst
	}
}

// compare orders records; those that the order does not tell apart by their age, the way the last field of the order goes.
func (f *finding) compare(a, b *record) int {
	if order := f.sort.Compare(a.shown, b.shown); order != 0 {
		return order
	}
	if n := len(f.sort); n > 0 && f.sort[n-1].Descending {
		a, b = b, a
	}
	return cmp.Compare(a.sequence, b.sequence)
}

// top keeps the first records of an order, the last of them on top of a heap.
type top struct {
	most, left, limit int
	compare           func(a, b *record) int
	records           []*record
}

// add takes a record. There can always be more: a later one may come first.
func (t *top) add(r *record) (more bool, err error) {
	if len(t.records) == t.most {
		if t.compare(r, t.records[0]) >= 0 {
			return true, nil
		}
		t.left += int(t.records[0].size())
		t.records[0] = r
		heap.Fix(t, 0)
	} else {
		heap.Push(t, r)
	}
	if t.left -= int(r.size()); t.left < 0 {
		return false, tooLarge("The records take more than %d bytes together; ask for fewer with options.limit, or skip fewer.", t.limit)
	}
	return true, nil
}

// Len implements heap.Interface, as do the next four.
func (t *top) Len() int { return len(t.records) }

// Less puts the last record on top.
func (t *top) Less(i, j int) bool { return t.compare(t.records[i], t.records[j]) > 0 }

// Swap exchanges two records.
func (t *top) Swap(i, j int) { t.records[i], t.records[j] = t.records[j], t.records[i] }

// Push adds a record.
func (t *top) Push(v any) {
	if r, ok := v.(*record); ok {
		t.records = append(t.records, r)
	}
}

// Pop takes the last record away.
func (t *top) Pop() any {
	last := t.records[len(t.records)-1]
	t.records = t.records[:len(t.records)-1]
	return last
}
