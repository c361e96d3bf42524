package locks_test

import (
	"fmt"
	"testing"
)

// A history that is not one of one lock is found out, whatever is unsure in it.
func TestHistories(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(h *history, changes *[]change, clearedBy map[string]string)
		fine   bool
	}{
		"one after the other": {func(*history, *[]change, map[string]string) {}, true},
		"two at the same time": {func(h *history, _ *[]change, _ map[string]string) {
			h.takes["b"] = span{3, 4}
		}, false},
		"not free in between": {func(_ *history, changes *[]change, _ map[string]string) {
			*changes = []change{{epoch: 1, holder: "a"}, {epoch: 2, holder: "b"}}
		}, false},
		"the same epoch": {func(_ *history, changes *[]change, _ map[string]string) {
			(*changes)[2].epoch = 2
		}, false},
		"taken and never had": {func(h *history, _ *[]change, _ map[string]string) {
			h.takes["c"] = span{3, 30}
		}, false},
		"cut off and never had": {func(h *history, _ *[]change, _ map[string]string) {
			h.takes["c"] = span{3, never}
		}, true},
		"cut off and had": {func(h *history, _ *[]change, _ map[string]string) {
			h.takes["b"] = span{3, never}
		}, true},
		"had and not asked for": {func(h *history, _ *[]change, _ map[string]string) {
			delete(h.takes, "b")
		}, false},
		"named while it holds": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{3, 4}, holder: "a"})
		}, true},
		"named too late": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{7, 8}, holder: "a"})
		}, false},
		"named too early": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{-1, 0}, holder: "a"})
		}, false},
		"named for nothing": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{3, 4}, holder: "c"})
		}, false},
		"named after the next": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{7, 8}, holder: "b"}, look{span: span{9, 12}, holder: "a"})
		}, false},
		"written while it is free": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{3, 6}})
		}, true},
		"written while it is held": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{3, 4}})
		}, false},
		"the epoch that it has": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{3, 4}, holder: "a", epoch: 1}, look{span: span{5, 8}, epoch: 2})
		}, true},
		"an epoch that is over": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{7, 9}, holder: "b", epoch: 3}, look{span: span{10, 11}, epoch: 2})
		}, false},
		"another's epoch": {func(h *history, _ *[]change, _ map[string]string) {
			h.looks = append(h.looks, look{span: span{3, 20}, holder: "a", epoch: 3})
		}, false},
		"cleared by nobody": {func(_ *history, _ *[]change, clearedBy map[string]string) {
			delete(clearedBy, "a")
		}, false},
		"cleared without effect": {func(h *history, _ *[]change, _ map[string]string) {
			h.clears["other"] = span{3, 4}
		}, false},
		"cut off and without effect": {func(h *history, _ *[]change, _ map[string]string) {
			h.clears["other"] = span{3, never}
		}, true},
		"an import": {func(h *history, changes *[]change, _ map[string]string) {
			h.imports["k"] = []*attempt{{span: span{11, 20}, accepted: true}}
			h.clears["second"] = span{12, 14}
			*changes = append(*changes, change{epoch: 4}, change{epoch: 5, holder: "k@1", key: "k"}, change{epoch: 6})
		}, true},
		"an import that was cut off and found": {func(h *history, changes *[]change, _ map[string]string) {
			h.imports["k"] = []*attempt{{span: span{11, never}}}
			h.clears["second"] = span{12, 14}
			*changes = append(*changes, change{epoch: 4}, change{epoch: 5, holder: "k@1", key: "k"}, change{epoch: 6})
		}, true},
		"a stale import that wrote": {func(h *history, changes *[]change, clearedBy map[string]string) {
			h.imports["k"] = []*attempt{{span: span{11, 20}, accepted: true}}
			h.clears["second"], h.clears["third"] = span{12, 14}, span{15, 16}
			*changes = append(*changes, change{epoch: 4}, change{epoch: 5, holder: "k@1", key: "k"}, change{epoch: 6})
			clearedBy["k@1"] = "third"
		}, false},
		"a stale import that was refused": {func(h *history, changes *[]change, clearedBy map[string]string) {
			h.imports["k"] = []*attempt{{span: span{11, 20}, lost: true}}
			h.clears["second"], h.clears["third"] = span{12, 14}, span{15, 16}
			*changes = append(*changes, change{epoch: 4}, change{epoch: 5, holder: "k@1", key: "k"}, change{epoch: 6})
			clearedBy["k@1"] = "third"
		}, true},
	} {
		h := newHistory()
		h.takes["a"], h.takes["b"], h.clears["first"] = span{1, 2}, span{3, 7}, span{5, 6}
		changes := []change{{epoch: 1, holder: "a"}, {epoch: 2}, {epoch: 3, holder: "b"}}
		clearedBy := map[string]string{"a": "first", "b": "second"}
		test.change(h, &changes, clearedBy)
		if why := h.linear(changes, clearedBy); (why == "") != test.fine {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A long history is gone through in little time, and one wrong answer in it is found.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	for _, wrong := range []bool{false, true} {
		h, clearedBy := newHistory(), map[string]string{}
		var changes []change
		for i := range int64(2000) {
			name, at := fmt.Sprint("n", i), i*100
			h.takes[name], h.clears[name], clearedBy[name] = span{at, at + 30}, span{at + 60, at + 90}, name
			changes = append(changes, change{epoch: 2*i + 1, holder: name}, change{epoch: 2*i + 2})
			for k := range int64(5) {
				h.looks = append(h.looks, look{span: span{at + 10 + k, at + 80}, holder: name})
			}
		}
		if wrong {
			h.looks = append(h.looks, look{span: span{100_000, 100_050}, holder: "n7"})
		}
		if why := h.linear(changes, clearedBy); (why == "") == wrong {
			t.Errorf("wrong: %v, found: %q", wrong, why)
		}
	}
}
