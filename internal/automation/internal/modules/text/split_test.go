package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/text"
	"atelier/internal/dsul/expr/value"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parameters []any
		want       string
	}{
		"nothing":      {[]any{"content", ""}, `[]`},
		"short":        {[]any{"content", " a b\n"}, `[{"content":"a b","size":3}]`},
		"blank":        {[]any{"content", " \n\n \n"}, `[]`},
		"paragraphs":   {[]any{"content", "one one\n\ntwo two\n\nthree", "chunkSize", 10.0, "chunkOverlap", 0.0}, `[{"content":"one one","size":7},{"content":"two two","size":7},{"content":"three","size":5}]`},
		"put together": {[]any{"content", "a b c d e f", "chunkSize", 5.0, "chunkOverlap", 0.0}, `[{"content":"a b c","size":5},{"content":"d e f","size":5}]`},
		"overlap":      {[]any{"content", "a b c d e f", "chunkSize", 5.0, "chunkOverlap", 2.0}, `[{"content":"a b c","size":5},{"content":"b c d","size":5},{"content":"c d e","size":5},{"content":"d e f","size":5}]`},
		// The example that this way of splitting is known by.
		"recursion": {[]any{"content", "Hi.\n\nI'm Harrison.\n\nHow? Are? You?\nOkay then f f f f.\nThis is a weird text to write, but gotta test the splittingggg some how.\n\nBye!\n\n-H.", "chunkSize", 10.0, "chunkOverlap", 1.0}, `[` +
			`{"content":"Hi.","size":3},{"content":"I'm","size":3},{"content":"Harrison.","size":9},{"content":"How? Are?","size":9},{"content":"You?","size":4},` +
			`{"content":"Okay then","size":9},{"content":"f f f f.","size":8},{"content":"This is a","size":9},{"content":"a weird","size":7},{"content":"text to","size":7},` +
			`{"content":"write, but","size":10},{"content":"gotta test","size":10},{"content":"the","size":3},{"content":"splittingg","size":10},{"content":"ggg","size":3},` +
			`{"content":"some how.","size":9},{"content":"Bye!\n\n-H.","size":9}]`},
		"characters":      {[]any{"content", "abcdefg", "chunkSize", 3.0, "chunkOverlap", 1.0}, `[{"content":"abc","size":3},{"content":"cde","size":3},{"content":"efg","size":3}]`},
		"one character":   {[]any{"content", "abc", "chunkSize", 1.0}, `[{"content":"a","size":1},{"content":"b","size":1},{"content":"c","size":1}]`},
		"emoji":           {[]any{"content", "😀😀😀", "chunkSize", 4.0, "chunkOverlap", 0.0}, `[{"content":"😀😀","size":4},{"content":"😀","size":2}]`},
		"separator kept":  {[]any{"content", "a|b|c", "chunkSize", 3.0, "chunkOverlap", 0.0, "separators", []any{"|"}, "keepSeparator", true}, `[{"content":"a|b","size":3},{"content":"|c","size":2}]`},
		"overlapping":     {[]any{"content", "a;;;b", "chunkSize", 2.0, "chunkOverlap", 0.0, "separators", []any{";;"}, "keepSeparator", true}, `[{"content":"a;","size":2},{"content":";;b","size":3}]`},
		"cannot be cut":   {[]any{"content", "aaaa|b", "chunkSize", 2.0, "chunkOverlap", 0.0, "separators", []any{"|"}}, `[{"content":"aaaa","size":4},{"content":"b","size":1}]`},
		"none fits":       {[]any{"content", "aaaa", "chunkSize", 2.0, "chunkOverlap", 0.0, "separators", []any{"|", ";"}}, `[{"content":"aaaa","size":4}]`},
		"usual numbers":   {[]any{"content", strings.Repeat("word ", 250)}, ""},
		"small, no share": {[]any{"content", "aa bb cc", "chunkSize", 4.0}, `[{"content":"aa","size":2},{"content":"bb","size":2},{"content":"cc","size":2}]`},
	} {
		got, err := text.Split(machine.Payload(c.parameters...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "usual numbers" {
			if list := got.([]any); len(list) != 2 || value.Get(list[0], "size") != 999.0 || value.Get(list[1], "size") != 499.0 {
				t.Errorf("%s: %d, %v", name, len(list), value.Get(list[0], "size"))
			}
			continue
		}
		if compact(t, got) != c.want {
			t.Errorf("%s: %s", name, compact(t, got))
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	refused(t, "no content", text.Split, machine.InvalidArguments, "content is missing")
	refused(t, "much", text.Split, machine.InvalidArguments, "content is longer", "content", strings.Repeat("x", 10<<20+1))
	refused(t, "no size", text.Split, machine.InvalidArguments, "chunkSize must be", "content", "a", "chunkSize", 0.0)
	refused(t, "all shared", text.Split, machine.InvalidArguments, "chunkOverlap must be smaller", "content", "a", "chunkSize", 5.0, "chunkOverlap", 5.0)
	refused(t, "separators", text.Split, machine.InvalidArguments, "separators must be", "content", "a", "separators", []any{1.0})
	refused(t, "no separators", text.Split, machine.InvalidArguments, "separators must be", "content", "a", "separators", []any{})
	// Chunks that share nearly everything make a small text a huge list.
	refused(t, "bomb", text.Split, machine.QuotaExceeded, "too large", "content", strings.Repeat("x", 1<<20), "chunkSize", 10_000.0, "chunkOverlap", 9_999.0)
	refused(t, "many", text.Split, machine.QuotaExceeded, "too large", "content", strings.Repeat("x ", 1<<20), "chunkSize", 1.0)
}

// Whatever a text holds, no chunk is longer than asked for, and nothing but blanks and separators is lost.
func TestSplitHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringOf(rapid.SampledFrom([]rune("ab \n.é😀"))).Draw(t, "content")
		size := rapid.IntRange(2, 20).Draw(t, "size")
		overlap := rapid.IntRange(0, size-1).Draw(t, "overlap")
		got, err := text.Split(machine.Payload("content", content, "chunkSize", float64(size), "chunkOverlap", float64(overlap)))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, chunk := range got.([]any) {
			piece := value.Get(chunk, "content").(string)
			if n := value.Length(piece); n > size || n == 0 || float64(n) != value.Get(chunk, "size") || !utf8.ValidString(piece) {
				t.Fatalf("%q has %d of %d", piece, n, size)
			}
			all.WriteString(piece)
		}
		if bare := strings.NewReplacer(" ", "", "\n", ""); overlap == 0 && bare.Replace(all.String()) != bare.Replace(content) {
			t.Fatalf("%q became %q", content, all.String())
		}
	})
}
