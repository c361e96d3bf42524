package value_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/dsul/expr/value"
)

func compact(v any) string {
	text, _ := value.JSON(v, "", math.MaxInt)
	return text
}

func TestFrom(t *testing.T) {
	t.Parallel()
	v := value.From(map[string]any{
		"b": 1, "a": []any{int64(2), uint64(3), json.Number("4.5"), nil, true, map[string]any{}}, "c": []string{"x"}, "d": value.Undefined{}, "e": make(chan int), "f": "é",
	})
	if got := compact(v); got != `{"a":[2,3,4.5,null,true,{}],"b":1,"c":["x"],"f":"é"}` {
		t.Error(got)
	}
	if same := value.NewObject(0); value.From(same) != any(same) {
		t.Error("an object is copied")
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	o := value.NewObject(0)
	for _, key := range []string{"b", "a", "b", "1"} {
		o.Set(key, float64(o.Len()))
	}
	o.Delete("nothing")
	if got := compact(value.From(o)); o.Len() != 3 || !o.Has("a") || o.Has("c") || strings.Count(got, ":") != 3 || !strings.HasPrefix(got, `{"b"`) {
		t.Error(got)
	}
	o.Delete("b")
	var keys []string
	for key := range o.All() {
		keys = append(keys, key)
	}
	if got := strings.Join(keys, " "); got != "a 1" || o.Has("b") || o.Get("b") != any(value.Undefined{}) {
		t.Error(got)
	}
	for range o.All() {
		break // a loop may end early
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	o := value.NewObject(0)
	o.Set("gone", value.Undefined{})
	o.Set("list", []any{value.Undefined{}, math.NaN(), math.Inf(1), nil, 1e21, []any{}, value.NewObject(0)})
	o.Set("text", "a\"\\\b\f\n\r\t\x00\x1f\u2028é<😀\x7f")
	want := `{"list":[null,null,null,null,1e+21,[],{}],"text":"a\"\\\b\f\n\r\t\u0000\u001f` + "\u2028é<😀\x7f" + `"}`
	if got := compact(o); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, _ := value.JSON(o, "  ", 1000); !strings.HasPrefix(got, "{\n  \"list\": [\n    null,\n") || !strings.HasSuffix(got, "\"\n}") {
		t.Error(got)
	}
	if got := compact(value.Undefined{}); got != "" {
		t.Error(got)
	}
	empty := value.NewObject(0)
	empty.Set("gone", value.Undefined{})
	if got, _ := value.JSON([]any{empty}, " ", 1000); got != "[\n {}\n]" {
		t.Error(got)
	}
	if _, ok := value.JSON(o, "", len(want)-1); ok {
		t.Error("longer than the limit")
	}
	if _, ok := value.JSON(o, "", len(want)); !ok {
		t.Error("not longer than the limit")
	}
}

// Decode reads what encoding/json reads, and nothing else.
func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, ` `, `1`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1,}`, `{"a" 1}`, `{"a":}`, `{a:1}`, `{1:1}`, `nul`, `null`, `01`, `1.`, `-`, `"a`, `"\x"`, `"\u00e9\ud83d\ude00"`, `[[]`, `[]]`, `{"a":[{}]} `, "\ufeff1", `'a'`, `1e999`,
		strings.Repeat("[", 101) + strings.Repeat("]", 101),
	} {
		_, err := value.Decode(text)
		tooDeep := strings.Count(text, "[") > value.MaxDepth
		if (err == nil) != (json.Valid([]byte(text)) && !tooDeep) {
			t.Errorf("%q: %v", text, err)
		}
	}
	v, err := value.Decode(`{"z":1,"a":[1e999,"\ud83d\ude00"],"z":2,"__proto__":{}}`)
	o, ok := v.(*value.Object)
	if err != nil || !ok || o.Get("z") != 2.0 || compact(v) != `{"z":2,"a":[null,"😀"],"__proto__":{}}` {
		t.Error(compact(v), err)
	}
}

func TestDecodeUndoesJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := draw(t, 3)
		back, err := value.Decode(compact(v))
		if err != nil || !value.DeepEqual(v, back) || compact(back) != compact(v) {
			t.Fatalf("%s becomes %s, %v", compact(v), compact(back), err)
		}
	})
}

func draw(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 3+min(depth, 2)).Draw(t, "kind"); kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Float64().Draw(t, "number")
	case 3:
		return rapid.String().Draw(t, "text")
	case 4:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = draw(t, depth-1)
		}
		return list
	default:
		o := value.NewObject(0)
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			o.Set(rapid.String().Draw(t, "key"), draw(t, depth-1))
		}
		return o
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text   string
		length int
	}{{"", 0}, {"abc", 3}, {"é", 1}, {"😀", 2}, {"a😀b", 4}} {
		if got := value.Length(test.text); got != test.length {
			t.Errorf("%q has length %d, want %d", test.text, got, test.length)
		}
		if got := value.Slice(test.text, 0, test.length); got != test.text {
			t.Errorf("%q is cut to %q", test.text, got)
		}
	}
	if got := value.Slice("a😀b", 0, 2); got != "a\ufffd" {
		t.Errorf("half a character is %q", got)
	}
	if got := value.String([]any{1.0, nil, value.Undefined{}, []any{2.0, "x"}, value.NewObject(0), true}); got != "1,,,2,x,[object Object],true" {
		t.Error(got)
	}
}

// Texts are ordered by their UTF-16 units, as JavaScript orders them.
func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if rapid.Bool().Draw(t, "prefix") {
			b = a + b
		}
		less, ok := value.Less(a, b)
		if !ok || less != lessUnits(a, b) {
			t.Fatalf("%q < %q is %v", a, b, less)
		}
	})
	for _, pair := range [][2]string{{"😀", "\uffee"}, {"a", "ab"}, {strings.Repeat("a", 600) + "é", strings.Repeat("a", 600) + "ê"}} {
		if less, _ := value.Less(pair[0], pair[1]); !less {
			t.Errorf("%q is not less than %q", pair[0], pair[1])
		}
	}
}

func lessUnits(a, b string) bool {
	x, y := units(a), units(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return len(x) < len(y)
}

func units(text string) []uint16 {
	var out []uint16
	for _, r := range text {
		if r >= 0x10000 {
			r -= 0x10000
			out = append(out, uint16(0xd800+r>>10), uint16(0xdc00+r&0x3ff))
			continue
		}
		out = append(out, uint16(r))
	}
	return out
}

func TestDeepEqual(t *testing.T) {
	t.Parallel()
	read := func(text string) any {
		v, err := value.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[1,{}]}`, `{"b":[1,{}],"a":1}`, true}, {`{"a":1}`, `{"a":1,"b":2}`, false}, {`{"a":1}`, `{"b":1}`, false}, {`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,1]`, false}, {`[]`, `{}`, false}, {`1`, `"1"`, false}, {`{}`, `[]`, false}, {`null`, `null`, true},
	} {
		if got := value.DeepEqual(read(test.a), read(test.b)); got != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}

// An object of many keys behaves like one of few, also while keys come and go.
func TestObjectsOfEverySize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := value.NewObject(rapid.IntRange(0, 20).Draw(t, "room"))
		var order []string
		model := map[string]any{}
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			key := rapid.StringMatching(`[a-d][0-9]`).Draw(t, "key")
			if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
				o.Delete(key)
				delete(model, key)
				order = slices.DeleteFunc(order, func(k string) bool { return k == key })
				continue
			}
			if _, had := model[key]; !had {
				order = append(order, key)
			}
			v := rapid.Float64().Draw(t, "value")
			o.Set(key, v)
			model[key] = v
		}
		for _, seen := range []*value.Object{o, o.Clone()} {
			var keys []string
			for key, v := range seen.All() {
				keys = append(keys, key)
				if model[key] != v || seen.Get(key) != v || !seen.Has(key) {
					t.Fatalf("%s: %v instead of %v", key, v, model[key])
				}
			}
			if !slices.Equal(keys, order) || seen.Len() != len(order) {
				t.Fatalf("%v instead of %v", keys, order)
			}
		}
	})
}

func TestWhatIsNoValueIsUndefinedInJSON(t *testing.T) {
	t.Parallel()
	o := value.NewObject(0)
	o.Set("stream", make(chan int))
	o.Set("list", []any{make(chan int), true})
	if got := compact(o); got != `{"list":[null,true]}` {
		t.Error(got)
	}
	if got := compact(make(chan int)); got != "" {
		t.Error(got)
	}
}
