package expr_test

import (
	"strings"
	"testing"

	"atelier/internal/dsul/expr"
)

// A large text is told of before it is made, and is the same as a small one would be; small ones are not told of.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	template, err := expr.ParseTemplate("<{{x}}|{{y}}>")
	if err != nil {
		t.Fatal(err)
	}
	program, err := expr.CompileTemplate(template)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{0: 0, 1: 0, 1000: 0, 256 << 10: 0, 600_000: 1_200_003, 1 << 20: 2<<20 + 3} {
		x, y := strings.Repeat("x1", size/2), strings.Repeat("y", size)
		told := 0
		env := &expr.Env{
			Lookup: func(name string) any { return map[string]any{"x": x, "y": y}[name] },
			Large:  func(bytes int) { told += bytes },
		}
		got, err := program.Eval(env)
		if err != nil || got != "<"+x+"|"+y+">" {
			t.Errorf("a text of twice %d bytes is another one: %v", size, err)
		}
		if told != want {
			t.Errorf("of %d bytes it told %d, want %d", size, told, want)
		}
	}
}
