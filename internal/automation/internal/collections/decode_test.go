package collections_test

import (
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

func drawJSON(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 3+min(depth, 2)).Draw(t, "kind") {
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
			list[i] = drawJSON(t, depth-1)
		}
		return list
	default:
		return drawObject(t, depth-1)
	}
}

func drawObject(t *rapid.T, depth int) *value.Object {
	o := value.NewObject(0)
	for range rapid.IntRange(0, 3).Draw(t, "keys") {
		o.Set(rapid.String().Draw(t, "key"), drawJSON(t, depth))
	}
	return o
}

// What is written is read back as it was.
func TestBodiesAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := drawObject(t, 3)
		text := machinetest.JSON(o)
		want, err := value.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collections.Decode(text)
		if err != nil || !value.DeepEqual(got, want) || machinetest.JSON(got) != text {
			t.Fatalf("%s becomes %s, %v", text, machinetest.JSON(got), err)
		}
	})
	for _, text := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[]`, `1`, `{} `, `{"a":nul}`, `{"a":"\x"}`, `{"a":"\`, `{"a":-}`, `{"a":[1}`, `{a:1}`} {
		if got, err := collections.Decode(text); err == nil {
			t.Errorf("%s is read as %s", text, machinetest.JSON(got))
		}
	}
}
