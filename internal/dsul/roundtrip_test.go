package dsul_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"atelier/internal/dsul"
)

// texts draws strings that YAML readers are known to stumble over, alone and joined.
func texts() *rapid.Generator[string] {
	pieces := []string{
		"", " ", "  ", "\n", "\n\n", "\t", "\r", "\r\n", "a", "word", "two words", "yes", "No", "on", "~", "null", "true", "012", "0x1F", "0o17", "1_000",
		"1e3", ".5", "5.", "+1", "-", "--", "---", "...", ".inf", ".nan", "2001-01-01", "2001-12-14t21:59:43.10-05:00", "190:20:30", "<<", "=", ": ", ":",
		" #", "#", "'", "\"", "\\", "/", "{", "}", "[", "]", "{{a.b}}", "{% 1 + 1 %}", "- ", "? ", "*a", "&a", "!", "!!str", "%", "@", "`", "|", ">", ",",
		"\u0085", "\u2028", "\u2029", "\uFEFF", "\u0001", "\u007F", "\u009F", "\u00A0", "\uFFFE", "é", "日本", "😀", "\U000E0001", "key: value", "a\n b\n", "x #y",
		strings.Repeat("long ", 300),
	}
	piece := rapid.OneOf(rapid.SampledFrom(pieces), rapid.String())
	return rapid.Custom(func(t *rapid.T) string {
		joined := strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "pieces"), "")
		return strings.ReplaceAll(joined, "\x00", "")
	})
}

func numbers() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"0", "-0", "1.10", "1e5", "1E+05", "-1.50e-07", "123456789012345678901234567890", "1e999", "0.10"}),
		rapid.Map(rapid.Int(), func(i int) string { return fmt.Sprint(i) }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) string { text, _ := json.Marshal(f); return string(text) }),
	)
}

// values draws a JSON text.
func values(depth int) *rapid.Generator[string] {
	word := func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		return strings.TrimSpace(b.String())
	}
	scalar := rapid.OneOf(rapid.Map(texts(), word), numbers(), rapid.SampledFrom([]string{"true", "false", "null", "{}", "[]"}))
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar, rapid.Custom(func(t *rapid.T) string {
		return "[" + strings.Join(rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "items"), ",") + "]"
	}), objects(depth, word))
}

func objects(depth int, word func(string) string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		keys := rapid.SliceOfNDistinct(texts(), 0, 4, func(s string) string { return s }).Draw(t, "keys")
		pairs := make([]string, 0, len(keys))
		for _, key := range keys {
			pairs = append(pairs, word(key)+":"+values(depth-1).Draw(t, "value"))
		}
		return "{" + strings.Join(pairs, ",") + "}"
	})
}

func documents() *rapid.Generator[string] {
	return rapid.Map(values(4), func(v string) string { return `{"document":` + v + `}` })
}

// canonical rewrites strings in one spelling, keeping order and digits.
func canonical(t *rapid.T, raw []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out strings.Builder
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		fmt.Fprintf(&out, "%T %q\n", token, fmt.Sprint(token))
	}
	if out.Len() == 0 {
		t.Fatalf("no JSON: %s", raw)
	}
	return out.String()
}

func TestJSONSurvivesYAML(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := documents().Draw(t, "document")
		made, problems := dsul.FromJSON(dsul.Automation, "a", []byte(raw))
		if len(problems) > 0 {
			t.Fatalf("%v", problems)
		}
		same(t, raw, made)
		read, problems := dsul.Parse(dsul.Automation, "a", made.Text)
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, made.Text)
		}
		same(t, raw, read)
		if again := dsul.Encode(read.Root); !bytes.Equal(again, made.Text) {
			t.Fatalf("encoded twice:\n%s\n%s", made.Text, again)
		}
	})
}

// The library and we must agree about what is text: other programs read the same file.
func TestTextsAreTextsForTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		encoded := dsul.Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "k"}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: text},
		}})
		var read map[string]any
		if err := yaml.Unmarshal(encoded, &read); err != nil {
			t.Fatalf("%v\n%s", err, encoded)
		}
		if read["k"] != text {
			t.Fatalf("%q became %#v\n%s", text, read["k"], encoded)
		}
	})
}

// A JSON text is a document as it is.
func TestJSONIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := documents().Filter(readable).Draw(t, "document")
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(raw), "", rapid.SampledFrom([]string{"\t", "  "}).Draw(t, "indent")); err != nil {
			t.Fatal(err)
		}
		read, problems := dsul.Parse(dsul.Page, "p", indented.Bytes())
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, indented.Bytes())
		}
		same(t, raw, read)
	})
}

// readable tells whether a text holds no character that a YAML text may hold as an escape only.
func readable(raw string) bool {
	return !strings.ContainsAny(raw, "\u007F\u009F\uFFFE\u0001") && !strings.ContainsFunc(raw, unreadable)
}

func unreadable(r rune) bool {
	return r == 0x7F || r >= 0x80 && r < 0xA0 && r != 0x85 || r == 0xFFFE || r == 0xFFFF
}

func same(t *rapid.T, raw string, d *dsul.Document) {
	t.Helper()
	got, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(got) || canonical(t, got) != canonical(t, []byte(raw)) {
		t.Fatalf("\n in %s\nout %s\nyaml\n%s", raw, got, d.Text)
	}
}
