package collections

import (
	"context"
	"regexp"
	"slices"

	"atelier/internal/automation/internal/collections/internal/query"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Names gives the names of the collections of a place.
func (c *Collections) Names(ctx context.Context, r sqldb.Reader, place Place) ([]any, error) {
	all, err := list(ctx, r, place)
	out := make([]any, 0, len(all))
	for _, col := range all {
		out = append(out, col.name)
	}
	return out, err
}

// about gives what show says of each of the named collections, or of all when none is named.
func about(ctx context.Context, r sqldb.Reader, place Place, names []string, show func(*collection) *value.Object) ([]any, error) {
	all, err := list(ctx, r, place)
	out := make([]any, 0, len(all))
	for _, col := range all {
		if len(names) == 0 || slices.Contains(names, col.name) {
			out = append(out, show(col))
		}
	}
	return out, err
}

// Schemas gives the definitions of collections: of all when none is named.
func (c *Collections) Schemas(ctx context.Context, r sqldb.Reader, place Place, names []string) ([]any, error) {
	return about(ctx, r, place, names, func(col *collection) *value.Object {
		o := value.NewObject(4)
		o.Set("collection", col.name)
		for key, v := range col.schema.Definition().All() {
			o.Set(key, v)
		}
		return o
	})
}

// Stats tells how large collections are: all when none is named.
func (c *Collections) Stats(ctx context.Context, r sqldb.Reader, place Place, names []string) ([]any, error) {
	return about(ctx, r, place, names, func(col *collection) *value.Object {
		o := value.NewObject(8)
		o.Set("collection", col.name)
		o.Set("count", float64(col.records))
		o.Set("size", float64(col.bytes))
		o.Set("averageSize", 0.0)
		if col.records > 0 {
			o.Set("averageSize", float64(col.bytes/col.records))
		}
		o.Set("indexes", float64(len(col.schema.indexes)))
		o.Set("uniques", float64(len(col.schema.unique)))
		o.Set(fieldCreatedAt, sqldb.Time(col.created).Format(momentForm))
		o.Set(fieldUpdatedAt, sqldb.Time(col.updated).Format(momentForm))
		return o
	})
}

// samples is how many records a definition is inferred from.
const samples = 1000

// Infer proposes properties: for records that are given, or for those of a collection.
func (c *Collections) Infer(ctx context.Context, r sqldb.Reader, place Place, name string, data any) (*value.Object, error) {
	given, ok := data.([]any)
	switch {
	case ok:
	case value.Exists(data):
		given = []any{data}
	default:
		var err error
		if given, err = c.sample(ctx, r, place, name); err != nil {
			return nil, err
		}
	}
	return infer(given[:min(len(given), samples)])
}

func (c *Collections) sample(ctx context.Context, r sqldb.Reader, place Place, name string) ([]any, error) {
	col, err := open(ctx, r, place, name)
	if err != nil {
		return nil, err
	}
	everything, err := query.Compile(nil, col.schema)
	if err != nil {
		return nil, err
	}
	return c.items(ctx, c.scan(r, col), &finding{query: everything, fields: &query.Projection{}, limit: samples})
}

func infer(records []any) (*value.Object, error) {
	kinds := value.NewObject(0)
	for _, item := range records {
		record, ok := item.(*value.Object)
		if !ok {
			return nil, invalid("data is a record, or a list of records: objects of fields and values.")
		}
		for name, v := range record.All() {
			if isSystem(name) {
				continue
			}
			kinds.Set(name, join(kinds.Get(name), kindOf(v)))
		}
	}
	properties := value.NewObject(kinds.Len())
	for name, kind := range kinds.All() {
		if kind == "" {
			kind = "json" // nothing but null was seen
		}
		property := value.NewObject(2)
		property.Set("type", kind)
		property.Set("nullable", true)
		properties.Set(name, property)
	}
	out := value.NewObject(1)
	out.Set("properties", properties)
	return out, nil
}

// join gives the type for two values of a field; empty is that of null.
func join(a any, b string) string {
	known, _ := a.(string)
	switch {
	case known == "" || known == b:
		return b
	case b == "":
		return known
	case textual(known) && textual(b):
		if known == "text" || b == "text" {
			return "text"
		}
		return "string"
	default:
		return "json"
	}
}

func textual(kind string) bool { return kind == "string" || kind == "text" || kind == "datetime" }

// kindOf is the type for a value.
func kindOf(v any) string {
	const short = 255
	switch v := v.(type) {
	case nil, value.Undefined:
		return ""
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		if _, ok := moment(v); ok && regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`).MatchString(v) {
			return "datetime"
		}
		if len(v) > short {
			return "text"
		}
		return "string"
	case []any:
		if !slices.ContainsFunc(v, func(item any) bool { _, text := item.(string); return !text }) {
			return "array"
		}
	}
	return "json"
}
