package value_test

import (
	"fmt"
	"slices"
	"testing"

	"atelier/internal/dsul/internal/value"
)

func TestNode(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a: &x {b: [1, 1.10, '1', null, true, no, 0x10]}\nc: *x\nd: {<<: *x, e: !t f}\n1: x\n'': y\n? [k]\n: z\n<<: {g: 1}\n",
		"[]", "{}", "x", "", "!t {a: 1}", "!t [a]", "conditions: {b: 1, a: 2}", "'<<': 1", "~: 1",
	} {
		v := of(t, text)
		again, err := value.Of(v.Node())
		if err != nil || !again.Equal(v) || string(again.AppendJSON(nil)) != string(v.AppendJSON(nil)) {
			t.Errorf("%q became %s: %v", text, again.AppendJSON(nil), err)
		}
	}
	if (*value.Value)(nil).Node() != nil {
		t.Error("nothing has a node")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[[{slug: a, id: 1}], [{slug: b}]]":                 "slug [[a] [b]]",
		"[[{slug: a, id: 1}, {slug: a, id: 2}], [{id: 1}]]": "id [[1 2] [1]]",
		"[[], [{name: x}], []]":                             "name [[] [x] []]",
		"[[{slug: a}], [{id: 1}]]":                          "",
		"[[{slug: ''}], []]":                                "",
		"[[{slug: [a]}], []]":                               "",
		"[[a], [{slug: a}]]":                                "",
	} {
		var lists [][]*value.Value
		for _, list := range of(t, text).Items {
			lists = append(lists, list.Items)
		}
		got := ""
		if key, names, ok := value.Names(lists...); ok {
			got = fmt.Sprint(key, " ", names)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestAligned(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]value.Pair{
		"[[a, b, c], [a, c]]":                                                  {{From: 0, To: 0}, {From: 2, To: 1}},
		"[[a, b, c], [a, x, c]]":                                               {{From: 0, To: 0}, {From: 1, To: 1}, {From: 2, To: 2}},
		"[[a, b, c], [a, x, y, c]]":                                            {{From: 0, To: 0}, {From: 2, To: 3}},
		"[[{x: 1}, a], [{x: 2, y: 1}, a]]":                                     {{From: 0, To: 0}, {From: 1, To: 1}},
		"[[{x: 1}, a], [{y: 1}, a]]":                                           {{From: 1, To: 1}},
		"[[{x: 1}, {y: 1}], [{y: 2}, {x: 2}]]":                                 nil,
		"[[{}, x, [a]], [{x: 1}, x, [b]]]":                                     {{From: 0, To: 0}, {From: 1, To: 1}, {From: 2, To: 2}},
		"[[{all: [1]}, {emit: {event: a}}], [{all: [2]}, {emit: {event: b}}]]": {{From: 0, To: 0}, {From: 1, To: 1}},
		"[[{n: a, v: 1}, {n: b, v: 2}], [{n: a, v: 3}, {n: b, v: 4}]]":         {{From: 0, To: 0}, {From: 1, To: 1}},
		"[[{n: a, v: 1}, {n: b, v: 2}], [{n: b, v: 3}, {n: c, v: 4}]]":         nil,
		"[[{n: a, v: 1}, {n: a, v: 2}], [{n: a, v: 3}, {n: a, v: 4}]]":         nil,
		"[[a, b], [x, y]]":                                                     nil,
		"[[a], [[a]]]":                                                         nil,
		"[[], [a]]":                                                            nil,
		"[[{set: {a: 1}}, b], [c, {set: {a: 1}}, {b: 1}, b]]":                  {{From: 0, To: 1}, {From: 1, To: 3}},
	} {
		lists := of(t, text).Items
		if got := value.Aligned(lists[0].Items, lists[1].Items); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
