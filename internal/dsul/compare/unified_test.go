package compare_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atelier/internal/dsul/compare"
	"atelier/internal/gitcmd"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to string
		context  int
		want     string
	}{
		"same":         {"a\nb\n", "a\nb\n", 3, ""},
		"one line":     {"a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", 1, "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n b\n-c\n+X\n d\n"},
		"two hunks":    {"a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", 1, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -4,2 +4,2 @@\n d\n-e\n+E\n"},
		"one hunk":     {"a\nb\nc\n", "A\nb\nC\n", 1, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-a\n+A\n b\n-c\n+C\n"},
		"no context":   {"a\nb\nc\n", "a\nc\n", 0, "--- a/f\n+++ b/f\n@@ -2 +1,0 @@\n-b\n"},
		"an end goes":  {"a\nb", "a\n", 0, "--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n"},
		"less than no": {"a\n", "b\n", -5, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"},
		"no last line": {"a\nb", "a\nb\n", 3, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		"both without": {"a\nb", "x\nb", 3, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"},
		"from empty":   {"", "a\n", 3, "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"},
		"carriage":     {"a\r\nb\r\n", "a\nb\r\n", 0, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\r\n+a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, stats := compare.Unified("f", "f", []byte(test.from), []byte(test.to), test.context)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			body := strings.TrimPrefix(got, "--- a/f\n+++ b/f\n")
			if want := (compare.Stats{Insertions: strings.Count("\n"+body, "\n+"), Deletions: strings.Count("\n"+body, "\n-")}); stats != want {
				t.Errorf("%+v is not %+v", stats, want)
			}
		})
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"pages/home.yml": "--- a/pages/home.yml\n+++ /dev/null\n",
		"my page.yml":    "--- a/my page.yml\t\n+++ /dev/null\n",
		"a\"b\n\\.yml":   "--- \"a/a\\\"b\\012\\\\.yml\"\n+++ /dev/null\n",
	} {
		if got, _ := compare.Unified(name, name, []byte("x\n"), nil, 3); !strings.HasPrefix(got, want) {
			t.Errorf("%q does not begin with %q", got, want)
		}
	}
}

// apply gives a diff to the real git, in a folder whose name is part of the file names.
func apply(ctx context.Context, t rapid.TB, git *gitcmd.Git, diff string) {
	t.Helper()
	var out bytes.Buffer
	command := gitcmd.NewCommand("apply", "--unidiff-zero", "--whitespace=nowarn")
	if err := git.Run(ctx, "", command, strings.NewReader(diff), &out); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), diff)
	}
}

func TestGitAppliesIt(t *testing.T) {
	t.Parallel()
	git, err := gitcmd.Open(t.Context(), gitcmd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	some := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c: d", "", "- é", "+x", "\tt", "a\r", "\\", "@@ -1 +1 @@"}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) []byte {
			text := []byte(strings.Join(some.Draw(t, label), "\n"))
			if rapid.Bool().Draw(t, label+" ends") {
				text = append(text, '\n')
			}
			return text
		}
		from, to := text("from"), text("to")
		around := rapid.IntRange(0, 5).Draw(t, "context")
		path := filepath.Join(folder, rapid.SampledFrom([]string{"plain.yml", "with space.yml", "quo\"te.yml", "é.yml"}).Draw(t, "name"))
		if err := os.WriteFile(path, from, 0o600); err != nil {
			t.Fatal(err)
		}
		diff, _ := compare.Unified(strings.TrimPrefix(path, "/"), strings.TrimPrefix(path, "/"), from, to, around)
		if (diff == "") != bytes.Equal(from, to) {
			t.Fatalf("%q and %q give %q", from, to, diff)
		}
		if diff == "" {
			return
		}
		apply(ctx, t, git, diff)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, to) {
			t.Fatalf("git made %q, not %q (%v), of\n%s", got, to, err, diff)
		}
	})
}

func TestGitCreatesAndDeletes(t *testing.T) {
	t.Parallel()
	git, err := gitcmd.Open(t.Context(), gitcmd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "new.yml")
	name := strings.TrimPrefix(path, "/")
	there, _ := compare.Unified(name, name, nil, []byte("a: 1\nb: 2"), 3)
	apply(t.Context(), t, git, there)
	if got, err := os.ReadFile(path); err != nil || string(got) != "a: 1\nb: 2" {
		t.Fatalf("%q, %v", got, err)
	}
	gone, _ := compare.Unified(name, name, []byte("a: 1\nb: 2"), nil, 3)
	apply(t.Context(), t, git, gone)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("the file is still there: %v", err)
	}
}

// noise is a text of random lines, as different from another as can be while sharing every line.
func noise(seed uint64, size, words int) []byte {
	random := rand.New(rand.NewPCG(seed, seed))
	var out bytes.Buffer
	for out.Len() < size {
		fmt.Fprintf(&out, "line %d\n", random.IntN(words))
	}
	return out.Bytes()
}

func TestNoiseIsDoneWith(t *testing.T) {
	t.Parallel()
	for _, words := range []int{2, 1000, 1 << 30} {
		from, to := noise(1, 1<<20, words), noise(2, 1<<20, words)
		diff, stats := compare.Unified("f", "f", from, to, 3)
		if lost := bytes.Count(from, []byte("\n")) + stats.Insertions - stats.Deletions; lost != bytes.Count(to, []byte("\n")) || diff == "" {
			t.Errorf("%d words: %+v does not add up", words, stats)
		}
	}
}

func BenchmarkUnified(b *testing.B) {
	for name, words := range map[string]int{"two words": 2, "thousand words": 1000, "all different": 1 << 30} {
		from, to := noise(1, 1<<20, words), noise(2, 1<<20, words)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compare.Unified("f", "f", from, to, 3)
			}
		})
	}
	from := noise(1, 1<<20, 1<<30)
	to := bytes.Replace(from, from[len(from)/2:len(from)/2+20], []byte("changed\n"), 1)
	b.Run("one line", func(b *testing.B) {
		for b.Loop() {
			compare.Unified("f", "f", from, to, 3)
		}
	})
}
