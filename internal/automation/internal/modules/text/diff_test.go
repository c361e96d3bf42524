package text_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/text"
)

func diff(t require, original, modified string, more ...any) string {
	t.Helper()
	patch, err := text.Diff(machine.Payload(append([]any{"original", original, "modified", modified}, more...)...))
	if err != nil {
		t.Fatal(err)
	}
	return patch.(string)
}

func patched(t require, content, patch string) string {
	t.Helper()
	out, err := text.ApplyPatch(machine.Payload("content", content, "patch", patch))
	if err != nil {
		t.Fatal(err)
	}
	return out.(string)
}

type require interface {
	Helper()
	Fatal(arguments ...any)
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		original, modified string
		parameters         []any
		want               string
	}{
		"same":    {"a\n", "a\n", nil, ""},
		"one":     {"a\nb\nc\n", "a\nx\nc\n", nil, "--- original\n+++ modified\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"named":   {"a\n", "b\n", []any{"name", "f.txt"}, "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-a\n+b\n"},
		"from 0":  {"", "a\nb\n", nil, "--- original\n+++ modified\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"to 0":    {"a\n", "", nil, "--- original\n+++ modified\n@@ -1 +0,0 @@\n-a\n"},
		"no end":  {"a\nb", "a\nb\n", nil, "--- original\n+++ modified\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		"far":     {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n", []any{"context", 1.0}, "--- original\n+++ modified\n@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -8,2 +8,2 @@\n 8\n-9\n+y\n"},
		"near":    {"1\n2\n3\n4\n", "x\n2\n3\ny\n", []any{"context", 1.0}, "--- original\n+++ modified\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n-4\n+y\n"},
		"bare":    {"1\n2\n3\n", "1\n3\n", []any{"context", 0.0}, "--- original\n+++ modified\n@@ -2 +1,0 @@\n-2\n"},
		"repeats": {"a\na\nb\na\n", "a\nb\na\na\n", nil, "--- original\n+++ modified\n@@ -1,4 +1,4 @@\n a\n-a\n b\n+a\n a\n"},
		"windows": {"a\r\nb\r\n", "a\r\nc\r\n", nil, "--- original\n+++ modified\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"},
	} {
		got := diff(t, c.original, c.modified, c.parameters...)
		if got != c.want {
			t.Errorf("%s:\n%s", name, got)
		}
		if back := patched(t, c.original, got); back != c.modified {
			t.Errorf("%s: applied it is %q", name, back)
		}
	}
	refused(t, "name", text.Diff, machine.InvalidArguments, "name must be one line", "original", "a", "modified", "b", "name", "a\n+++ b")
	refused(t, "missing", text.Diff, machine.InvalidArguments, "modified is missing", "original", "a")
	refused(t, "lines", text.Diff, machine.InvalidArguments, "more than 500000 lines", "original", strings.Repeat("\n", 500_000), "modified", "")
}

func TestApplyPatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, patch, want string }{
		"nothing":          {"a\n", "", "a\n"},
		"of git":           {"a\n", "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@ func main() {\n-a\n+b\n", "b\n"},
		"moved down":       {"0\n0\na\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "0\n0\na\nc\n"},
		"moved up":         {"a\nb\n", "@@ -11,2 +11,2 @@\n a\n-b\n+c\n", "a\nc\n"},
		"both moved":       {"0\na\n0\n0\nb\n", "@@ -1 +1 @@\n-a\n+x\n@@ -4 +4 @@\n-b\n+y\n", "0\nx\n0\n0\ny\n"},
		"the nearest":      {"a\n0\na\na\n", "@@ -3 +3 @@\n-a\n+b\n", "a\n0\nb\na\n"},
		"dashes":           {"-- a\n", "--- f\n+++ f\n@@ -1 +1 @@\n--- a\n+++ b\n", "++ b\n"},
		"blank was lost":   {"a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n"},
		"no end of line":   {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc"},
		"end is told":      {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"},
		"end is taken":     {"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"},
		"patch has no end": {"a\n", "@@ -1 +1 @@\n-a\n+b", "b\n"},
	} {
		if got := patched(t, c.content, c.patch); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, c := range map[string]struct{ content, patch, says string }{
		"other text":    {"x\n", "@@ -1 +1 @@\n-a\n+b\n", "is not what the patch expects at line 1"},
		"used already":  {"a\n", "@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n", "is not what the patch expects"},
		"no patch":      {"a\n", "hello\n", "has no hunk"},
		"cut off":       {"a\n", "@@ -1,2 +1,2 @@\n a\n", "ends in the middle of the hunk of line 1"},
		"bad head":      {"a\n", "@@ -x +1 @@\n a\n", "line 1 that is no head"},
		"huge head":     {"a\n", "@@ -1,99999999999999999999 +1 @@\n a\n", "line 1 that is no head"},
		"odd line":      {"a\n", "@@ -1,2 +1,2 @@\n a\n*b\n", "line 3 that does not belong"},
		"too many":      {"a\n", "@@ -1,1 +1,2 @@\n-a\n-b\n", "line 3 that does not belong"},
		"several files": {"a\n", "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- b\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", "several files"},
		"beyond":        {"a\n", "@@ -9,0 +10 @@\n+b\n", "is not what the patch expects"},
	} {
		refused(t, name, text.ApplyPatch, machine.InvalidArguments, c.says, "content", c.content, "patch", c.patch)
	}
}

// A diff always leads from the one text to the other, whatever is around its changes.
func TestDiffThenPatch(t *testing.T) {
	t.Parallel()
	lines := rapid.SliceOf(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "-\n", "+ x\n", "@@ -1 +1 @@\n", "\\ \n", "é\r\n"}))
	rapid.Check(t, func(t *rapid.T) {
		original, modified := strings.Join(lines.Draw(t, "original"), ""), strings.Join(lines.Draw(t, "modified"), "")
		if rapid.Bool().Draw(t, "cut") {
			original = strings.TrimSuffix(original, "\n")
		}
		if rapid.Bool().Draw(t, "cut too") {
			modified = strings.TrimSuffix(modified, "\n")
		}
		patch := diff(t, original, modified, "context", float64(rapid.IntRange(0, 4).Draw(t, "context")))
		if got := patched(t, original, patch); got != modified {
			t.Fatalf("%q to %q: %q by\n%s", original, modified, got, patch)
		}
	})
}

// Texts that have little unique, or all of it in another order, are too large to be compared line by line: what is found of them is
// not the least, but it leads from the one to the other. With the square of their lines this would not end.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const count = 100_000
	few, unique, shuffled := make([]string, count), make([]string, count), make([]string, count)
	for i := range count {
		few[i] = strconv.Itoa(random.IntN(3)) + "\n"
		unique[i] = strconv.Itoa(i) + "\n"
	}
	copy(shuffled, unique)
	random.Shuffle(count, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, pair := range [][2][]string{{few, few[count/3:]}, {unique, shuffled}, {few, unique}} {
		original, modified := strings.Join(pair[0], ""), strings.Join(pair[1], "")
		if patched(t, original, diff(t, original, modified)) != modified {
			t.Error("the patch leads elsewhere")
		}
	}
	hunk := "@@ -1,5001 +1,5000 @@\n" + strings.Repeat(" a\n", 5000) + "-b\n"
	refused(t, "many almost", text.ApplyPatch, machine.QuotaExceeded, "takes too long", "content", strings.Repeat("a\n", 400_000), "patch", hunk)
}
