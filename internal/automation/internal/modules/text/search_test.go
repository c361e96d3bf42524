package text_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/text"
	"atelier/internal/clock"
)

const poem = "Roses are red\nViolets are blue\r\nsugar is sweet\n\nand so are you"

func TestSearch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parameters []any
		want       string
	}{
		"pattern": {[]any{"pattern", `\b(\w+) are (b\w*)?`}, `[{"line":1,"content":"Roses are red","match":"Roses are ","groups":["Roses",null]},` +
			`{"line":2,"content":"Violets are blue","match":"Violets are blue","groups":["Violets","blue"]},{"line":5,"content":"and so are you","match":"so are ","groups":["so",null]}]`},
		"literal":     {[]any{"pattern", "is sw", "literal", true}, `[{"line":3,"content":"sugar is sweet","match":"is sw","groups":[]}]`},
		"not literal": {[]any{"pattern", "^$"}, `[{"line":4,"content":"","match":"","groups":[]}]`},
		"case":        {[]any{"pattern", "SUGAR", "ignoreCase", true}, `[{"line":3,"content":"sugar is sweet","match":"sugar","groups":[]}]`},
		"other case":  {[]any{"pattern", "SUGAR"}, `[]`},
		"invert":      {[]any{"pattern", "are", "invert", true}, `[{"line":3,"content":"sugar is sweet"},{"line":4,"content":""}]`},
		"limit":       {[]any{"pattern", "are", "limit", 1.0}, `[{"line":1,"content":"Roses are red","match":"are","groups":[]}]`},
		"around": {[]any{"pattern", "Vio|you", "before", 1.0, "after", 2.0}, `[{"line":2,"content":"Violets are blue","match":"Vio","groups":[],"before":["Roses are red"],"after":["sugar is sweet",""]},` +
			`{"line":5,"content":"and so are you","match":"you","groups":[],"before":[""],"after":[]}]`},
		"end of line": {[]any{"pattern", "(blue|red)$"}, `[{"line":1,"content":"Roses are red","match":"red","groups":["red"]},{"line":2,"content":"Violets are blue","match":"blue","groups":["blue"]}]`},
	} {
		got, err := timed(t, text.Search)(machine.Payload(append([]any{"content", poem}, c.parameters...)...))
		if err != nil || compact(t, got) != c.want {
			t.Errorf("%s: %s, %v", name, compact(t, got), err)
		}
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	t.Parallel()
	search, substitute := timed(t, text.Search), timed(t, text.Substitute)
	for name, do := range map[string]function{"search": search, "substitute": substitute} {
		refused(t, name, do, machine.InvalidArguments, "pattern is missing", "content", "a")
		refused(t, name, do, machine.InvalidArguments, "pattern is empty", "content", "a", "pattern", "")
		refused(t, name, do, machine.InvalidArguments, "not a valid regular expression", "content", "a", "pattern", "(a")
		refused(t, name, do, machine.InvalidArguments, "not a valid regular expression", "content", "a", "pattern", `(a)\1`)
		refused(t, name, do, machine.InvalidArguments, "not a valid regular expression", "content", "a", "pattern", `(?=a)`)
		refused(t, name, do, machine.InvalidArguments, "pattern is longer", "content", "a", "pattern", strings.Repeat("a", 2000))
		refused(t, name, do, machine.InvalidArguments, "is too large", "content", "a", "pattern", strings.Repeat("(a{1,900})", 20))
		refused(t, name, do, machine.InvalidArguments, "more than 500000 lines", "content", strings.Repeat("\n", 500_000), "pattern", "a")
		refused(t, name, do, machine.QuotaExceeded, "costs too much", "content", strings.Repeat("a", 1<<20), "pattern", strings.Repeat("(a?b){20}", 10))
	}
	refused(t, "limit", search, machine.InvalidArguments, "limit must be", "content", "a", "pattern", "a", "limit", 0.0)
	refused(t, "around", search, machine.InvalidArguments, "before must be", "content", "a", "pattern", "a", "before", 1000.0)
	refused(t, "much around", search, machine.QuotaExceeded, "too large", "content", strings.Repeat(strings.Repeat("a", 5000)+"\n", 2000), "pattern", "a", "before", 50.0)
	refused(t, "much more", substitute, machine.QuotaExceeded, "too large", "content", strings.Repeat("a", 10_000), "pattern", "a", "replacement", strings.Repeat("b", 10_000))
	refused(t, "much of groups", substitute, machine.QuotaExceeded, "too large", "content", strings.Repeat("a", 10_000), "pattern", "a+", "replacement", strings.Repeat("$&", 100_000))
}

func TestSubstitute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content    string
		parameters []any
		want       string
	}{
		"all":             {"a b a\nba\r\n", []any{"pattern", "a", "replacement", "x"}, "x b x\nbx\r\n"},
		"first of a line": {"a b a\naa", []any{"pattern", "a", "replacement", "x", "global", false}, "x b a\nxa"},
		"gone":            {"a b", []any{"pattern", `\s`}, "ab"},
		"groups":          {"John Smith", []any{"pattern", `(\w+) (\w+)`, "replacement", "$2, $1 ($&) $$1 $9 $"}, "Smith, John (John Smith) $1 $9 $"},
		"group of many":   {"ab", []any{"pattern", `(a)(b)`, "replacement", "$12$01"}, "a2a"},
		"no part":         {"b", []any{"pattern", `(a)?b`, "replacement", "[$1]"}, "[]"},
		"literal":         {"a.b", []any{"pattern", ".", "replacement", "$1", "literal", true}, "a$1b"},
		"case":            {"aA", []any{"pattern", "A", "replacement", "-", "ignoreCase", true}, "--"},
		"begin":           {"aa\nab", []any{"pattern", "^a", "replacement", "-"}, "-a\n-b"},
		"word":            {"ab b bc", []any{"pattern", `\bb`, "replacement", "-"}, "ab - -c"},
		"empty":           {"abxxc", []any{"pattern", "x*", "replacement", "-"}, "-a-b--c-"},
		"over lines":      {"a\nb\na\nb", []any{"pattern", `a\nb`, "replacement", "x", "multiline", true}, "x\nx"},
		"lines of a text": {"a\na", []any{"pattern", "^a$", "replacement", "x", "multiline", true}, "x\nx"},
		"one of a text":   {"a\na", []any{"pattern", "a", "replacement", "x", "multiline", true, "global", false}, "x\na"},
		"quoted":          {"a)a)", []any{"pattern", `\Qa)`, "replacement", "x"}, "xx"},
		"broken":          {"a\xffa", []any{"pattern", "a", "replacement", "x"}, "x\xffx"},
	} {
		got, err := timed(t, text.Substitute)(machine.Payload(append([]any{"content", c.content}, c.parameters...)...))
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Going on behind what was found sees what came before it, as a search from the beginning does.
func TestSubstituteAsRegexp(t *testing.T) {
	t.Parallel()
	patterns := []string{`a`, `\ba`, `a\b`, `^a`, `a$`, `(?m)^.`, `\Bb`, `[ab]+`, `b|ab`, `(a|ab)(c|bcd)?`, `a.`, `\A.`, `.\z`}
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringOf(rapid.SampledFrom([]rune("abc é\n"))).Draw(t, "content")
		source := rapid.SampledFrom(patterns).Draw(t, "pattern")
		got, err := text.Substitute(text.NewWatch(context.Background(), clock.NewManual(time.Unix(0, 0))),
			machine.Payload("content", content, "pattern", source, "replacement", "<$&>", "multiline", true))
		if want := regexp.MustCompile("(?m)"+source).ReplaceAllString(content, "<$0>"); err != nil || got != want {
			t.Fatalf("%q in %q: %q, not %q, %v", source, content, got, want, err)
		}
	})
}

// ticking is a clock on which every look takes a while.
type ticking struct {
	*clock.Manual

	step time.Duration
}

func (c ticking) Now() time.Time {
	c.Advance(c.step)
	return c.Manual.Now()
}

// A pattern that looks ahead to the end of the text after each thing it finds is stopped.
func TestWatch(t *testing.T) {
	t.Parallel()
	slow := ticking{clock.NewManual(time.Unix(0, 0)), 100 * time.Millisecond}
	parameters := machine.Payload("content", strings.Repeat("b", 10_000), "pattern", ".*c|b", "replacement", "")
	_, err := text.Substitute(text.NewWatch(t.Context(), slow), parameters)
	var failure *machine.Failure
	if !errors.As(err, &failure) || failure.Name != machine.QuotaExceeded || !strings.Contains(failure.Message, "too long") {
		t.Errorf("it went on: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := text.Search(text.NewWatch(ctx, slow), parameters); !errors.Is(err, context.Canceled) {
		t.Errorf("the run is over: %v", err)
	}
}
