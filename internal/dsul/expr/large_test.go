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

// A list that becomes a large text is told of, too, and one that would be too large is never made.
func TestLargeLists(t *testing.T) {
	t.Parallel()
	item := strings.Repeat("x", 1000)
	list := func(n int) []any {
		made := make([]any, n)
		for i := range made {
			made[i] = item
		}
		return made
	}
	for n, fits := range map[int]bool{10: true, 5_000: true, 50_000: false} {
		told, paused := 0, 0
		all := list(n)
		env := &expr.Env{Lookup: func(string) any { return all }, Large: func(bytes int) {
			if told += bytes; bytes == 0 {
				paused++
			}
		}}
		template, err := expr.ParseTemplate("{{all}}.")
		if err != nil {
			t.Fatal(err)
		}
		program, err := expr.CompileTemplate(template)
		if err != nil {
			t.Fatal(err)
		}
		got, err := program.Eval(env)
		if text, _ := got.(string); (err == nil) != fits || fits && strings.Count(text, item) != n {
			t.Errorf("%d items: %v", n, err)
		}
		if small := n == 10; small != (told == 0 && paused == 0) && fits || !fits && told != 0 {
			t.Errorf("%d items: told %d, paused %d times", n, told, paused)
		}
	}
}
