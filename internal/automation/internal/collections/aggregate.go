package collections

import (
	"context"
	"slices"

	"atelier/internal/automation/internal/collections/internal/query"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Aggregation is a question for numbers about records.
type Aggregation struct {
	Query any
	// Steps are {type, inputField, outputField}, or the stages of a pipeline.
	Steps any
	// Options are groupBy, groupField and sort.
	Options any
}

// Aggregate gives the rows of an aggregation.
func (c *Collections) Aggregate(ctx context.Context, r sqldb.Reader, place Place, name string, a Aggregation) ([]any, error) {
	col, err := open(ctx, r, place, name)
	if err != nil {
		return nil, err
	}
	var rows []*value.Object
	if query.IsPipeline(a.Steps) {
		rows, err = c.pipeline(ctx, c.scan(r, col), a)
	} else {
		rows, err = c.steps(ctx, c.scan(r, col), a)
	}
	if err != nil {
		return nil, err
	}
	order, err := query.CompileSort(value.Get(a.Options, "sort"), nil)
	if err != nil {
		return nil, err
	}
	if len(order) > 0 {
		slices.SortStableFunc(rows, order.Compare)
	}
	out := make([]any, len(rows))
	for i, row := range rows {
		out[i] = row
	}
	return out, nil
}

func (c *Collections) steps(ctx context.Context, s *scan, a Aggregation) ([]*value.Object, error) {
	q, err := query.Compile(a.Query, s.col.schema)
	if err != nil {
		return nil, err
	}
	group, err := query.Steps{
		Steps: a.Steps, GroupBy: value.Get(a.Options, "groupBy"), GroupField: value.Get(a.Options, "groupField"),
	}.Compile(s.col.schema)
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, q, func(r *record) (bool, error) { return true, group.Add(r.shown) })
	return group.Rows(), err
}

func (c *Collections) pipeline(ctx context.Context, s *scan, a Aggregation) ([]*value.Object, error) {
	p, err := query.CompilePipeline(a.Query, a.Steps, s.col.schema)
	if err != nil {
		return nil, err
	}
	rows := []*value.Object{}
	left := c.deps.Limits.Result
	add, end := p.Start(func(row *value.Object) error {
		left -= query.Weigh(row)
		if len(rows) == c.deps.Limits.Page || left < 0 {
			return tooLarge("The aggregation gives more than %d rows or %d bytes; end it with a $group or a $limit.", c.deps.Limits.Page, c.deps.Limits.Result)
		}
		rows = append(rows, row)
		return nil
	})
	// The stages see records in their order: $first, $last and $push depend on it.
	ids, known, err := s.candidates(ctx, p.First, oldestFirst, 0)
	if err != nil {
		return nil, err
	}
	visit := func(r *record) (bool, error) { return true, add(r.shown) }
	if known {
		err = s.inOrder(ctx, p.First, ids, visit)
	} else {
		err = s.walk(ctx, p.First, false, 0, visit)
	}
	if err != nil {
		return nil, err
	}
	return rows, end()
}

// Distinct is a question for the values of a field.
type Distinct struct {
	Query, Field any
	// Options are count, valueField and sort.
	Options any
}

// Distinct gives the different values of a field, in their order; with the option count rows of values and how many records have them.
func (c *Collections) Distinct(ctx context.Context, r sqldb.Reader, place Place, name string, d Distinct) ([]any, error) {
	col, err := open(ctx, r, place, name)
	if err != nil {
		return nil, err
	}
	q, err := query.Compile(d.Query, col.schema)
	if err != nil {
		return nil, err
	}
	field, ok := d.Field.(string)
	if !ok {
		return nil, invalid("field is the name of the field whose values are wanted.")
	}
	path, err := query.Path(field, col.schema)
	if err != nil {
		return nil, err
	}
	t := &values{found: map[string]*counted{}, most: c.deps.Limits.Page, left: c.deps.Limits.Result}
	err = c.scan(r, col).each(ctx, q, func(r *record) (bool, error) { return true, t.add(query.Lookup(r.shown, path)) })
	if err != nil {
		return nil, err
	}
	return t.rows(d.Options)
}

// values counts different values.
type values struct {
	found map[string]*counted
	list  []*counted
	// most is how many values there may be, left how many bytes more.
	most, left int
}

type counted struct {
	v any
	n float64
}

// add counts a value, or the items of a list; what is missing does not count.
func (t *values) add(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		if !value.Exists(item) {
			continue
		}
		key := jsonText(sorted(item))
		if known, ok := t.found[key]; ok {
			known.n++
			continue
		}
		if t.left -= len(key); len(t.list) == t.most || t.left < 0 {
			return tooLarge("The field has more than %d different values, or they are too long; narrow the query down.", t.most)
		}
		one := &counted{item, 1}
		t.found[key], t.list = one, append(t.list, one)
	}
	return nil
}

// rows gives the values, or rows with their numbers.
func (t *values) rows(options any) ([]any, error) {
	slices.SortFunc(t.list, func(a, b *counted) int { return query.Compare(a.v, b.v) })
	name, ok := value.Get(options, "valueField").(string)
	if !ok || name == "" {
		name = "value"
	}
	order, err := distinctSort(value.Get(options, "sort"), name)
	if err != nil {
		return nil, err
	}
	rows := make([]*value.Object, 0, len(t.list))
	for _, one := range t.list {
		row := value.NewObject(2)
		row.Set(name, one.v)
		row.Set("count", one.n)
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, order.Compare)
	out := make([]any, len(rows))
	for i, row := range rows {
		out[i] = row
		if !value.Truthy(value.Get(options, "count")) {
			out[i] = row.Get(name)
		}
	}
	return out, nil
}

// distinctSort reads an order of values: 1 or -1, asc or desc, or one by the fields of the rows.
func distinctSort(v any, name string) (query.Sort, error) {
	switch direction := v.(type) {
	case float64:
	case string:
		if direction != "asc" && direction != "desc" {
			return query.CompileSort(v, nil)
		}
	default:
		return query.CompileSort(v, nil)
	}
	o := value.NewObject(1)
	o.Set(name, v)
	return query.CompileSort(o, nil)
}
