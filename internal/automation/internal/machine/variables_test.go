package machine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

// model is the naive way to keep variables: every value that comes in or goes out is copied, all of it.
type model struct{ locals *value.Object }

func clone(v any) any {
	switch v := v.(type) {
	case []any:
		made := make([]any, len(v))
		for i, item := range v {
			made[i] = clone(item)
		}
		return made
	case *value.Object:
		made := value.NewObject(v.Len())
		for key, item := range v.All() {
			made.Set(key, clone(item))
		}
		return made
	default:
		return v
	}
}

func (m *model) get(path []string) any {
	v := any(m.locals)
	for _, key := range path {
		v = value.Get(v, key)
	}
	return clone(v)
}

// set changes a copy of everything, and keeps it when that works.
func (m *model) change(kind string, path []string, v any) bool {
	copied := clone(m.locals)
	made, ok := naive(copied, kind, path, clone(v))
	if ok {
		m.locals, ok = made.(*value.Object)
	}
	return ok
}

func naive(at any, kind string, path []string, v any) (any, bool) {
	if len(path) == 0 {
		return naiveChange(at, kind, v), true
	}
	key, last := path[0], len(path) == 1
	switch old := at.(type) {
	case nil, value.Undefined:
		return naive(value.NewObject(0), kind, path, v)
	case *value.Object:
		if kind == machine.Delete && last {
			old.Delete(key)
			return old, true
		}
		inner, ok := naive(old.Get(key), kind, path[1:], v)
		if ok {
			old.Set(key, inner)
		}
		return old, ok
	case []any:
		i, err := strconv.Atoi(key)
		if kind == machine.Delete && last {
			if err == nil && i < len(old) {
				old = slices.Delete(old, i, i+1)
			}
			return old, true
		}
		if err != nil {
			return nil, false
		}
		for len(old) <= i {
			old = append(old, value.Undefined{})
		}
		inner, ok := naive(old[i], kind, path[1:], v)
		old[i] = inner
		return old, ok
	default:
		return at, kind == machine.Delete && last
	}
}

func naiveChange(old any, kind string, v any) any {
	list, isList := old.([]any)
	more, isMore := v.([]any)
	o, isObject := old.(*value.Object)
	from, isFrom := v.(*value.Object)
	switch {
	case kind == machine.Push, kind == machine.Merge && isList && !isMore:
		return append(list, v)
	case kind == machine.Merge && isList:
		return append(list, more...)
	case kind == machine.Merge && isObject && isFrom:
		for key, item := range from.All() {
			o.Set(key, item)
		}
		return o
	case kind == machine.Merge && isObject:
		return o
	default:
		return v
	}
}

func drawValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 7).Draw(t, "kind of value") {
	case 0, 1:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawLeaf(t, depth))
		}
		return list
	case 2, 3, 4:
		o := value.NewObject(0)
		for range rapid.IntRange(0, 12).Draw(t, "keys") {
			o.Set(rapid.StringMatching(`[a-l]`).Draw(t, "key"), drawLeaf(t, depth))
		}
		return o
	default:
		return drawLeaf(t, 3)
	}
}

func drawLeaf(t *rapid.T, depth int) any {
	if depth < 2 {
		return drawValue(t, depth+1)
	}
	return rapid.SampledFrom([]any{nil, true, 1.5, "text", value.Undefined{}}).Draw(t, "leaf")
}

func drawPath(t *rapid.T) []string {
	path := []string{rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "root")}
	for range rapid.IntRange(0, 3).Draw(t, "keys") {
		path = append(path, rapid.SampledFrom([]string{"a", "b", "0", "1", "2", "length"}).Draw(t, "key"))
	}
	return path
}

// Whatever is changed in whatever order, variables hold what the naive model holds, and what was handed out stays as it was.
func TestVariablesAreThoseOfTheNaiveModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := machinetest.Frame(t)
		m := &model{locals: value.NewObject(0)}
		type held struct {
			v    any
			text string
		}
		var seen []held
		for range rapid.IntRange(1, 40).Draw(rt, "changes") {
			path := drawPath(rt)
			kind := rapid.SampledFrom([]string{machine.Replace, machine.Replace, machine.Merge, machine.Push, machine.Push, machine.Delete, "read", "copy"}).Draw(rt, "kind")
			switch kind {
			case "read":
				v := f.Get(path[0], path[1:]...)
				seen = append(seen, held{v, machinetest.JSON(v)})
				if got, want := machinetest.JSON(v), machinetest.JSON(m.get(path)); got != want {
					rt.Fatalf("%v is %s instead of %s", path, got, want)
				}
				continue
			case "copy": // one variable becomes another one
				from := drawPath(rt)
				compare(rt, f, m, machine.Replace, path, [2]any{f.Get(from[0], from[1:]...), m.get(from)})
				continue
			}
			v := drawValue(rt, 0)
			compare(rt, f, m, kind, path, [2]any{v, v})
			if rapid.Bool().Draw(rt, "look") {
				if got, want := machinetest.JSON(f.Lookup(path[0])), machinetest.JSON(m.get(path[:1])); got != want {
					rt.Fatalf("%s %v: %s instead of %s", kind, path, got, want)
				}
			}
		}
		for _, root := range []string{"x", "y", "z"} {
			if got, want := machinetest.JSON(f.Lookup(root)), machinetest.JSON(m.get([]string{root})); got != want {
				rt.Fatalf("%s: %s instead of %s", root, got, want)
			}
		}
		for _, h := range seen {
			if got := machinetest.JSON(h.v); got != h.text {
				rt.Fatalf("what was handed out as %s became %s", h.text, got)
			}
		}
	})
}

func compare(t *rapid.T, f *machine.Frame, m *model, kind string, path []string, v [2]any) {
	t.Helper()
	target, err := machine.ParseTarget(strings.Join(path, "."))
	if err != nil {
		t.Fatal(err)
	}
	err = f.Change(kind, target, v[0])
	if ok := m.change(kind, path, v[1]); ok != (err == nil) {
		t.Fatalf("%s %v: %v, but the model says %v", kind, path, err, ok)
	}
}

// Branches change the same variables at the same time: nothing is lost, and nobody sees half a change.
func TestVariablesOfBranches(t *testing.T) {
	t.Parallel()
	const branches, times = 8, 300
	f := machinetest.Frame(t)
	var seen sync.Map
	failed := f.Beside(branches, func(branch *machine.Frame, i int) error {
		for n := range times {
			if err := branch.Set("list[]", float64(i*times+n)); err != nil {
				return err
			}
			if err := branch.Set(fmt.Sprintf("o.k%d.n%d", i, n), float64(n)); err != nil {
				return err
			}
			if n%10 == 0 {
				v := branch.Lookup("list")
				seen.Store(fmt.Sprint(i, n), [2]any{v, machinetest.JSON(v)})
				machinetest.JSON(branch.Lookup("o"))
			}
			if err := branch.Set("item", float64(i)); err != nil {
				return err
			}
			if branch.Lookup("item") != float64(i) {
				return fmt.Errorf("another branch changed the item")
			}
		}
		return nil
	})
	if err := f.First(failed); err != nil {
		t.Fatal(err)
	}
	list, _ := f.Lookup("list").([]any)
	found := map[any]bool{}
	for _, item := range list {
		found[item] = true
	}
	if len(list) != branches*times || len(found) != branches*times {
		t.Errorf("%d items, %d of them different", len(list), len(found))
	}
	seen.Range(func(_, held any) bool {
		if pair, _ := held.([2]any); machinetest.JSON(pair[0]) != pair[1] {
			t.Error("a list that was handed out changed")
		}
		return true
	})
	for i := range branches {
		if o, _ := f.Get("o", "k"+strconv.Itoa(i)).(*value.Object); o == nil || o.Len() != times {
			t.Errorf("branch %d: %v", i, o)
		}
	}
}

// Building large values item by item, with a look at their length each time, takes linear time: this would take minutes otherwise.
func TestLargeValuesAreBuiltInLinearTime(t *testing.T) {
	t.Parallel()
	for _, do := range []string{
		`[{repeat: {until: 100000, do: [{set: {name: "x.list[]", value: {n: "{{item}}"}}}, {set: {name: n, value: "{{x.list.length}}"}}]}}]`,
		`[{repeat: {until: 100000, do: [{set: {name: "x.o.k{{item}}", value: "{{item}}"}}, {set: {name: n, value: "{% {{x.o.k0}} + {{item}} + 1 %}"}}]}}]`,
		`[{repeat: {until: 100000, do: [{set: {name: x, value: ["{{item}}"], type: merge}}, {set: {name: "n", value: "{{x.length}}"}}]}}]`,
		`[{repeat: {until: 100000, do: [{set: {name: "x[]", value: 1}}, {conditions: {"{{x}} exists": [{set: {name: "n", value: "{{x.length}}"}}]}}]}}]`,
		`[{repeat: {until: 100000, do: [{set: {name: "o.k{{item}}", value: 1}}]}}, {repeat: {until: 100000, do: [{delete: {name: "o.k{{item}}"}}]}}, {set: {name: n, value: 100000}}]`,
	} {
		bench := machinetest.New(t)
		bench.Machine.Limits.Memory = 0
		bench.Add("main", `{do: `+do+`, output: "{{n}}"}`)
		result := bench.Execute("main", nil)
		if result.Err != nil || result.Output != 100000.0 {
			t.Errorf("%s: %v, %v", do, result.Output, result.Err)
		}
	}
}
