package collections_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// The model is a list of plain records that is searched from the front to the end.
type model []modelRecord

type modelRecord struct {
	id   string
	n, s any
	tags []any
}

func (r modelRecord) get(field string) any {
	switch field {
	case "n":
		return r.n
	case "s":
		return r.s
	default:
		if r.tags == nil {
			return nil
		}
		return r.tags
	}
}

// clause is a condition of the model and how it is written as a query.
type clause struct {
	text  string
	holds func(modelRecord) bool
}

// values of few kinds, so that they meet.
func drawValue(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, -1.5, 0.0, 1.0, 2.0, 10.0, "", "a", "ab", "b", "é", "\x00", "\x01", "😀", strings.Repeat("x", 95) + "é", strings.Repeat("x", 120), strings.Repeat("x", 120) + "y",
	}).Draw(t, "value")
}

func drawOf(t *rapid.T, field string) any {
	for {
		v := drawValue(t)
		_, number := v.(float64)
		if v == nil || number == (field == "n") {
			return v
		}
	}
}

func anyOf(v any, holds func(any) bool) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, holds)
	}
	return holds(v)
}

// side is how two values of the same kind compare; those of different kinds do not.
func side(a, b any) (int, bool) {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return cmp.Compare(a, b), ok
	case string:
		b, ok := b.(string)
		return strings.Compare(a, b), ok
	default:
		return 0, a == nil && b == nil
	}
}

func drawClause(t *rapid.T, depth int) clause {
	if depth > 0 && rapid.IntRange(0, 3).Draw(t, "joined") == 0 {
		return drawJoined(t, depth)
	}
	field := rapid.SampledFrom([]string{"n", "s", "tags"}).Draw(t, "field")
	v := drawValue(t)
	equal := func(r modelRecord) bool { return anyOf(r.get(field), func(x any) bool { return x == v }) }
	written := machinetest.JSON(v)
	compare := func(operator string, holds func(int) bool) clause {
		return clause{fmt.Sprintf(`{%q:{%q:%s}}`, field, operator, written), func(r modelRecord) bool {
			return anyOf(r.get(field), func(x any) bool { order, ok := side(x, v); return ok && holds(order) })
		}}
	}
	switch rapid.IntRange(0, 8).Draw(t, "operator") {
	case 0, 1:
		return clause{fmt.Sprintf(`{%q:%s}`, field, written), equal}
	case 2:
		return clause{fmt.Sprintf(`{%q:{"$ne":%s}}`, field, written), func(r modelRecord) bool { return !equal(r) }}
	case 3:
		return compare("$gt", func(order int) bool { return order > 0 })
	case 4:
		return compare("$gte", func(order int) bool { return order >= 0 })
	case 5:
		return compare("$lt", func(order int) bool { return order < 0 })
	case 6:
		return compare("$lte", func(order int) bool { return order <= 0 })
	case 7:
		exists := rapid.Bool().Draw(t, "exists")
		return clause{fmt.Sprintf(`{%q:{"$exists":%v}}`, field, exists), func(r modelRecord) bool { return (r.get(field) != nil) == exists }}
	default:
		many := []any{v}
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			many = append(many, drawValue(t))
		}
		many = many[rapid.IntRange(0, 1).Draw(t, "from"):]
		return clause{fmt.Sprintf(`{%q:{"$in":%s}}`, field, machinetest.JSON(many)), func(r modelRecord) bool {
			return anyOf(r.get(field), func(x any) bool { return slices.Contains(many, x) })
		}}
	}
}

func drawJoined(t *rapid.T, depth int) clause {
	a, b := drawClause(t, depth-1), drawClause(t, depth-1)
	switch rapid.IntRange(0, 2).Draw(t, "join") {
	case 0:
		return clause{`{"$and":[` + a.text + "," + b.text + `]}`, func(r modelRecord) bool { return a.holds(r) && b.holds(r) }}
	case 1:
		return clause{`{"$or":[` + a.text + "," + b.text + `]}`, func(r modelRecord) bool { return a.holds(r) || b.holds(r) }}
	default:
		return clause{`{"$nor":[` + a.text + "," + b.text + `]}`, func(r modelRecord) bool { return !a.holds(r) && !b.holds(r) }}
	}
}

// world is a collection and its model.
type world struct {
	k     *kit
	place collections.Place
	model model
	next  int
}

func (w *world) call(t *rapid.T, function, parameters string) any {
	do := w.k.c.Module()[function]
	out, err := do(w.k.bench.Frame(), machinetest.Object(w.k.t, parameters))
	if err != nil {
		t.Fatalf("%s %s: %v", function, parameters, err)
	}
	return out
}

func (w *world) insert(t *rapid.T) {
	w.next++
	r := modelRecord{id: fmt.Sprint("r", w.next), n: drawOf(t, "n"), s: drawOf(t, "s")}
	if rapid.Bool().Draw(t, "tagged") {
		r.tags = []any{}
		for range rapid.IntRange(0, 2).Draw(t, "tags") {
			if text, ok := drawOf(t, "s").(string); ok {
				r.tags = append(r.tags, text)
			}
		}
	}
	data := machine.Payload("_id", r.id, "n", r.n, "s", r.s)
	if r.tags != nil {
		data.Set("tags", r.tags)
	}
	w.call(t, "create", `{"collection":"model","data":`+machinetest.JSON(data)+`}`)
	w.model = append(w.model, r)
}

func (w *world) update(t *rapid.T) {
	c, field := drawClause(t, 1), rapid.SampledFrom([]string{"n", "s"}).Draw(t, "set")
	v := drawOf(t, field)
	w.call(t, "updateMany", fmt.Sprintf(`{"collection":"model","query":%s,"data":{%q:%s}}`, c.text, field, machinetest.JSON(v)))
	for i, r := range w.model {
		if !c.holds(r) {
			continue
		}
		if field == "n" {
			w.model[i].n = v
		} else {
			w.model[i].s = v
		}
	}
}

func (w *world) remove(t *rapid.T) {
	c := drawClause(t, 1)
	w.call(t, "deleteOne", `{"collection":"model","query":`+c.text+`}`)
	if i := slices.IndexFunc(w.model, c.holds); i >= 0 {
		w.model = slices.Delete(w.model, i, i+1)
	}
}

func (w *world) find(t *rapid.T) {
	c := drawClause(t, 2)
	var want []modelRecord
	for _, r := range w.model {
		if c.holds(r) {
			want = append(want, r)
		}
	}
	if got := w.call(t, "count", `{"collection":"model","query":`+c.text+`}`); got != float64(len(want)) {
		t.Fatalf("%s: %v records, want %d", c.text, got, len(want))
	}
	sort := "{}"
	if rapid.Bool().Draw(t, "sorted") {
		sort = `{"n":1,"s":-1}`
		slices.Reverse(want) // those of equal n and s come as the last field goes
		slices.SortStableFunc(want, func(a, b modelRecord) int {
			return cmp.Or(inOrder(a.n, b.n), -inOrder(a.s, b.s))
		})
	}
	skip, limit := rapid.IntRange(0, 3).Draw(t, "skip"), rapid.IntRange(1, 10).Draw(t, "limit")
	want = want[min(skip, len(want)):]
	want = want[:min(limit, len(want))]
	ids := []any{}
	for _, r := range want {
		ids = append(ids, r.id)
	}
	found, _ := w.call(t, "findMany", fmt.Sprintf(`{"collection":"model","query":%s,"sort":%s,"options":{"skip":%d,"limit":%d}}`, c.text, sort, skip, limit)).([]any)
	got := []any{}
	for _, item := range found {
		got = append(got, value.Get(item, "_id"))
	}
	if !slices.Equal(got, ids) {
		t.Fatalf("%s sorted by %s: %v, want %v", c.text, sort, got, ids)
	}
}

// inOrder compares values of one field, in which null comes first.
func inOrder(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(boolean(a != nil), boolean(b != nil))
	}
	order, _ := side(a, b)
	return order
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Whatever the indexes, queries find what a search of all records finds.
func TestQueriesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		k := newKit(t, db)
		rapid.Check(t, func(r *rapid.T) {
			if err := k.tx(func(ctx context.Context, tx *sqldb.Tx) error { return k.c.PurgeWorkspace(ctx, tx, k.place.WorkspaceID) }); err != nil {
				r.Fatal(err)
			}
			w := &world{k: k, place: k.place}
			w.define(r)
			r.Repeat(map[string]func(*rapid.T){"insert": w.insert, "update": w.update, "remove": w.remove, "find": w.find, "define": w.define})
		})
	}, collections.Migrations())
}

// define gives the collection other indexes.
func (w *world) define(t *rapid.T) {
	var indexes []string
	for _, one := range []string{`"n"`, `["s"]`, `["tags","n"]`, `["n","s"]`, `["s","tags","n"]`} {
		if rapid.Bool().Draw(t, "index") {
			indexes = append(indexes, `{"properties":`+one+`}`)
		}
	}
	w.call(t, "updateSchema", `{"collection":"model","properties":{"n":"number","s":"string","tags":"array"},"indexes":[`+strings.Join(indexes, ",")+`]}`)
}
