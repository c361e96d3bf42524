package query

import (
	"cmp"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// The kinds of values in their order: what is missing comes first.
const (
	rankNull = iota
	rankNumber
	rankText
	rankObject
	rankList
	rankBool
)

func rank(v any) int {
	switch v.(type) {
	case float64:
		return rankNumber
	case string:
		return rankText
	case *value.Object:
		return rankObject
	case []any:
		return rankList
	case bool:
		return rankBool
	default:
		return rankNull
	}
}

// Compare orders any two values: nothing, numbers, texts by their bytes, objects, lists, false, true.
func Compare(a, b any) int { return compareAt(a, b, 0) }

func compareAt(a, b any, depth int) int {
	if order := cmp.Compare(rank(a), rank(b)); order != 0 || depth > value.MaxDepth {
		return order
	}
	switch a := a.(type) {
	case float64:
		b, _ := b.(float64)
		return cmp.Compare(a, b)
	case string:
		b, _ := b.(string)
		return strings.Compare(a, b)
	case bool:
		b, _ := b.(bool)
		return cmp.Compare(number(a), number(b))
	case []any:
		b, _ := b.([]any)
		for i := range min(len(a), len(b)) {
			if order := compareAt(a[i], b[i], depth+1); order != 0 {
				return order
			}
		}
		return cmp.Compare(len(a), len(b))
	case *value.Object:
		b, _ := b.(*value.Object)
		return strings.Compare(text(a), text(b))
	default:
		return 0
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// text writes a value whole.
func text(v any) string {
	const whole = 1 << 30
	written, _ := value.JSON(v, "", whole)
	return written
}

// Sort is an order of records.
type Sort []Key

// Key is a field that records are ordered by.
type Key struct {
	Path       []string
	Descending bool
}

// CompileSort reads an order: {field: 1, other: -1}, where asc and desc will do as well, a text such as "-field", or a list of texts or
// of pairs.
func CompileSort(v any, schema Schema) (Sort, error) {
	switch v := v.(type) {
	case nil, value.Undefined:
		return nil, nil
	case string:
		return sortTexts(strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' }), schema)
	case *value.Object:
		return sortObject(v, schema)
	case []any:
		return sortList(v, schema)
	default:
		return nil, invalid("sort is an object of fields and directions, such as {name: 1, age: -1}.")
	}
}

const maxSort = 16

func sortObject(o *value.Object, schema Schema) (Sort, error) {
	var sort Sort
	for name, direction := range o.All() {
		key, err := sortKey(name, direction, schema)
		if err != nil {
			return nil, err
		}
		sort = append(sort, key)
	}
	if len(sort) > maxSort {
		return nil, invalid("sort takes at most %d fields.", maxSort)
	}
	return sort, nil
}

func sortTexts(names []string, schema Schema) (Sort, error) {
	o := value.NewObject(len(names))
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, "-"); ok {
			o.Set(rest, -1.0)
		} else {
			o.Set(strings.TrimPrefix(name, "+"), 1.0)
		}
	}
	return sortObject(o, schema)
}

func sortList(list []any, schema Schema) (Sort, error) {
	var sort Sort
	for _, item := range list {
		var part Sort
		var err error
		if pair, ok := item.([]any); ok && len(pair) == 2 {
			name, _ := pair[0].(string)
			var key Key
			key, err = sortKey(name, pair[1], schema)
			part = Sort{key}
		} else if ok {
			err = invalid("A pair in sort is a field and its direction.")
		} else {
			part, err = CompileSort(item, schema)
		}
		if err != nil {
			return nil, err
		}
		sort = append(sort, part...)
	}
	if len(sort) > maxSort {
		return nil, invalid("sort takes at most %d fields.", maxSort)
	}
	return sort, nil
}

func sortKey(name string, direction any, schema Schema) (Key, error) {
	path, err := Path(name, schema)
	if err != nil {
		return Key{}, err
	}
	switch d := direction.(type) {
	case float64:
		if d == 1 || d == -1 {
			return Key{Path: path, Descending: d < 0}, nil
		}
	case string:
		switch strings.ToLower(d) {
		case "asc", "ascending", "1":
			return Key{Path: path}, nil
		case "desc", "descending", "-1":
			return Key{Path: path, Descending: true}, nil
		}
	}
	return Key{}, invalid("The direction of %q in sort is 1 or -1.", shorten(name))
}

// Compare orders two records; 0 when the order does not tell.
func (s Sort) Compare(a, b *value.Object) int {
	for _, key := range s {
		order := Compare(Lookup(a, key.Path), Lookup(b, key.Path))
		if key.Descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// Projection is the fields of records that are wanted.
type Projection struct {
	with, without map[string]bool
}

// CompileProjection reads the fields that are wanted: a list of names, a text of names, or {name: 1} or {name: 0}.
func CompileProjection(v any, schema Schema) (*Projection, error) {
	p := &Projection{with: map[string]bool{}, without: map[string]bool{}}
	switch v := v.(type) {
	case nil, value.Undefined:
		return p, nil
	case string:
		return p, p.names(strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' }), schema)
	case []any:
		names := make([]string, 0, len(v))
		for _, item := range v {
			name, _ := item.(string)
			names = append(names, name)
		}
		return p, p.names(names, schema)
	case *value.Object:
		return p, p.object(v, schema)
	default:
		return nil, invalid("fields is a list of the names of fields.")
	}
}

func (p *Projection) names(names []string, schema Schema) error {
	for _, name := range names {
		if err := p.add(p.with, name, schema); err != nil {
			return err
		}
	}
	return nil
}

func (p *Projection) object(o *value.Object, schema Schema) error {
	for name, v := range o.All() {
		to := p.without
		if value.Truthy(v) {
			to = p.with
		}
		if err := p.add(to, name, schema); err != nil {
			return err
		}
	}
	onlyID := len(p.without) == 1 && p.without["_id"]
	if len(p.with) > 0 && len(p.without) > 0 && !onlyID {
		return invalid("fields names either the fields that are wanted or those that are not.")
	}
	return nil
}

func (p *Projection) add(to map[string]bool, name string, schema Schema) error {
	path, err := Path(name, schema)
	if err != nil {
		return err
	}
	if len(path) > 1 {
		return invalid("fields names whole fields; %q is a part of one.", shorten(name))
	}
	to[name] = true
	return nil
}

// Of gives the wanted fields of a record. Its id is one of them unless it is said to be unwanted.
func (p *Projection) Of(record *value.Object) *value.Object {
	if len(p.with) == 0 && len(p.without) == 0 {
		return record
	}
	out := value.NewObject(record.Len())
	for name, v := range record.All() {
		wanted := len(p.with) == 0 || p.with[name] || name == "_id"
		if wanted && !p.without[name] {
			out.Set(name, v)
		}
	}
	return out
}
