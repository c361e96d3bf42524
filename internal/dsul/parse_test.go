package dsul_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"atelier/internal/dsul"
)

func parse(t *testing.T, text string) *dsul.Document {
	t.Helper()
	d, problems := dsul.Parse(dsul.Automation, "a", []byte(text))
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, text)
	}
	return d
}

func asJSON(t *testing.T, d *dsul.Document) string {
	t.Helper()
	raw, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// bomb is a text that doubles itself a number of times.
func bomb(levels int) string {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1, i-1)
	}
	return text.String()
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, code   string
		line, column int
	}{
		"empty":                   {"", "empty", 1, 1},
		"only a comment":          {"# nothing\n", "empty", 1, 1},
		"null":                    {"---\n", "empty", 1, 1},
		"a list":                  {"- a\n- b\n", "wrong_type", 1, 1},
		"a text":                  {"hello", "wrong_type", 1, 1},
		"too large":               {"a: " + strings.Repeat("x", 1<<20), "too_large", 0, 0},
		"alias bomb":              {bomb(12), "too_many_values", 0, 0},
		"alias bomb, many levels": {bomb(5000), "", 0, 0},
		"a large text, aliased":   {"a: &a " + strings.Repeat("x", 1<<19) + "\nb: [" + strings.Repeat("*a, ", 100) + "]\n", "too_large", 0, 0},
		"a list inside itself":    {"a: &a [x, *a]\n", "self_reference", 1, 11},
		"a map inside itself":     {"a: &a\n  b: *a\n", "self_reference", 2, 6},
		"merged into itself":      {"a: &a\n  <<: *a\n", "self_reference", 2, 7},
		"unknown anchor":          {"a: *b\n", "bad_yaml", 1, 1},
		"deep flow":               {"a: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "too_deep", 1, 1},
		"deeper than a hundred":   {"a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "too_deep", 1, 103},
		"deep block":              {strings.Repeat("- ", 20_000) + "a", "too_deep", 1, 1},
		"deep through aliases":    {deepAliases(120), "too_deep", 0, 0},
		"two documents":           {"a: 1\n---\nb: 2\n", "several_documents", 2, 1},
		"a second empty document": {"a: 1\n---\n", "several_documents", 2, 1},
		"broken second document":  {"a: 1\n---\nb: [\n", "bad_yaml", 0, 0},
		"python tag":              {"a: !!python/object:os.system x\n", "bad_tag", 1, 4},
		"binary tag":              {"a: !!binary aGVsbG8=\n", "bad_tag", 1, 4},
		"timestamp tag":           {"a: !!timestamp 2001-01-01\n", "bad_tag", 1, 4},
		"set tag":                 {"a: !!set {x, y}\n", "bad_tag", 1, 4},
		"own tag":                 {"a: !mine x\n", "bad_tag", 1, 4},
		"undefined handle":        {"a: !e!x y\n", "bad_yaml", 1, 1},
		"tag that lies":           {"a: !!int abc\n", "bad_tag", 1, 4},
		"map that is a list":      {"a: !!map [x]\n", "bad_tag", 1, 4},
		"key twice":               {"a: 1\nb: 2\na: 3\n", "duplicate_key", 3, 1},
		"key twice, quoted":       {"a: 1\n\"a\": 2\n", "duplicate_key", 2, 1},
		"key twice, tagged":       {"a: 1\n!!str a: 2\n", "duplicate_key", 2, 1},
		"key twice, number":       {"1: 1\n'1': 2\n", "duplicate_key", 2, 1},
		"key twice, aliased":      {"a: &k b\nb: 1\n*k : 2\n", "duplicate_key", 3, 1},
		"key twice, deep":         {"do:\n  - set: {name: a, name: b}\n", "duplicate_key", 2, 20},
		"key twice in JSON":       {`{"a": 1, "\u0061": 2}`, "duplicate_key", 1, 10},
		"merged twice":            {"x: &x {a: 1}\ny:\n  <<: *x\n  <<: *x\n", "duplicate_key", 4, 3},
		"merging a text":          {"x: &x text\ny:\n  <<: *x\n", "bad_merge", 3, 7},
		"merging a list of texts": {"y:\n  <<: [a]\n", "bad_merge", 2, 8},
		"a list as a key":         {"? [a, b]\n: c\n", "bad_key", 1, 3},
		"a map as a key":          {"{a: b}: c\n", "bad_key", 1, 1},
		"zero":                    {"a: x\x00y\n", "bad_character", 1, 5},
		"zero as an escape":       {"a: \"x\\0y\"\n", "bad_character", 1, 4},
		"control character":       {"a: 1\nb: x\x07y\n", "bad_character", 2, 5},
		"not UTF-8":               {"a: é\nb: é\xff\n", "bad_character", 2, 5},
		"UTF-16":                  {"\xff\xfea\x00:\x00", "bad_character", 1, 1},
		"a tab":                   {"a:\n\tb: 1\n", "bad_yaml", 2, 2},
		"bad indentation":         {"a: 1\n  b: 2\n", "bad_yaml", 2, 3},
		"open quote":              {"a: \"x\n", "bad_yaml", 0, 0},
		"open brace":              {"a: {b: 1\n", "bad_yaml", 0, 0},
		"a template unquoted":     {"a: {{b}} c\n", "", 0, 0},
		"a directive":             {"%FOO bar\n---\na: 1\n", "", 0, 0},
		"YAML 2":                  {"%YAML 2.0\n---\na: 1\n", "bad_yaml", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, problems := dsul.Parse(dsul.Automation, "a", []byte(test.text))
			if len(problems) == 0 || d.Root != nil || len(problems.Errors()) != len(problems) {
				if test.code == "" && d.Root != nil {
					return
				}
				t.Fatalf("%v, root %v", problems, d.Root)
			}
			first := problems[0]
			if test.code != "" && first.Code != test.code || first.Document != "automations/a" || first.Message == "" {
				t.Errorf("%+v", first)
			}
			if test.line > 0 && (first.Line != test.line || first.Column != test.column) {
				t.Errorf("at %d:%d instead of %d:%d: %s", first.Line, first.Column, test.line, test.column, first.Message)
			}
			if strings.Contains(first.Message, "yaml:") || len(first.Message) > 300 {
				t.Errorf("not plain words: %s", first.Message)
			}
		})
	}
}

func deepAliases(levels int) string {
	var text strings.Builder
	text.WriteString("a0: &a0 [x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	return text.String()
}

// Whatever the text, reading it takes time in proportion: these take well below a second, and minutes for a reader that
// looks at everything again for every line, key or bracket.
func TestReadingIsLinear(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]func(n int) string{
		"flow":      func(n int) string { return "a: " + strings.Repeat("[", n) },
		"braces":    func(n int) string { return strings.Repeat("{a: ", n/4) },
		"keys":      func(n int) string { return strings.Repeat("? ", n/2) },
		"dashes":    func(n int) string { return strings.Repeat("- ", n/2) },
		"comments":  func(n int) string { return "a: 1\n" + strings.Repeat("#\n", n/2) },
		"comments2": func(n int) string { return strings.Repeat("- a #b\n#c\n\n", n/11) },
		"blank":     func(n int) string { return "a: |\n" + strings.Repeat("\n", n) + " b\n" },
		"spaces":    func(n int) string { return "a: " + strings.Repeat(" \n", n/2) },
		"quotes":    func(n int) string { return "a: '" + strings.Repeat("''", n/2) + "'" },
		"words":     func(n int) string { return "a: " + strings.Repeat("b ", n/2) },
		"lines":     func(n int) string { return "a: " + strings.Repeat("b\n ", n/3) },
		"colons":    func(n int) string { return strings.Repeat("a:\n", n/3) },
		"commas":    func(n int) string { return "a: [" + strings.Repeat("x,", n/2) + "]" },
		"aliases":   func(n int) string { return "a: &a x\nb: [" + strings.Repeat("*a,", n/3) + "]" },
		"anchors":   func(n int) string { return "b: [" + strings.Repeat("&a x,", n/5) + "]" },
		"merges":    func(n int) string { return "a: &a {x: 1}\nb: {<<: [" + strings.Repeat("*a,", n/3) + "]}" },
		"tags":      func(n int) string { return "a: !" + strings.Repeat("%41", n/3) + " x" },
		"json":      func(n int) string { return `{"a":[` + strings.Repeat("1,\n", n/3) + "1]}" },
		"open json": func(n int) string { return strings.Repeat(`{"a":`, n/5) },
	} {
		t.Run(name, func(t *testing.T) {
			hostile := text(1 << 18)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = dsul.Parse(dsul.Page, "p", []byte(hostile))
			}()
			select {
			case <-done:
			case <-time.After(30 * time.Second):
				t.Error("it takes too long")
			}
		})
	}
}

func TestScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "Off": `"Off"`, "y": `"y"`, "NO": `"NO"`,
		"true": "true", "True": "true", "FALSE": "false", "tRue": `"tRue"`,
		"null": "null", "~": "null", "": "null", "nuLL": `"nuLL"`,
		"012": `"012"`, "00": `"00"`, "-01": `"-01"`, "01.5": `"01.5"`, "0": "0", "-0": "-0", "+1": "1", "10": "10",
		"0x1F": "31", "0o17": "15", "0b11": `"0b11"`, "0xFFFFFFFFFFFFFFFFF": `"0xFFFFFFFFFFFFFFFFF"`, "0x": `"0x"`, "0x-1": `"0x-1"`, "-0x1": `"-0x1"`,
		"1_000": `"1_000"`, "1,000": `"1,000"`, "190:20:30": `"190:20:30"`, "12:30": `"12:30"`,
		"2001-01-01": `"2001-01-01"`, "2001-12-14t21:59:43.10-05:00": `"2001-12-14t21:59:43.10-05:00"`,
		"1.10": "1.10", "1.": "1", ".5": "0.5", "-.5": "-0.5", "1e3": "1e3", "1.5E+10": "1.5E+10", "1.e2": "1e2", "1e": `"1e"`, "e1": `"e1"`, ".": `"."`, "-": "",
		"123456789012345678901234567890.10": "123456789012345678901234567890.10", "1e999": "1e999",
		".inf": `".inf"`, "-.INF": `"-.INF"`, ".nan": `".nan"`, "<<": `"<<"`, "=": `"="`,
		"'12'": `"12"`, "\"true\"": `"true"`, "!!str 12": `"12"`, "!!int \"12\"": "12", "!!float 1": "1", "!!bool 'true'": "true", "!!null ''": "null", "!!str": `""`,
		"\"\\u2028<&>\"": "\"\u2028<&>\"", "\"\\x01\\b\\f\\\"\\\\\"": `"\u0001\b\f\"\\"`,
	} {
		if want == "" {
			continue
		}
		if got := asJSON(t, parse(t, "a: "+text+"\n")); got != `{"a":`+want+`}` {
			t.Errorf("%s: %s instead of %s", text, got, want)
		}
	}
}

func TestAliasesAndMergesAreResolved(t *testing.T) {
	t.Parallel()
	text := `base: &base {a: 1, b: 2}
other: &other {b: 3, c: 4}
list: &list [x, *base]
one: *base
first:
  <<: *base
  b: mine
many:
  z: 0
  <<: [*base, *other]
  a: own
chain: &chain
  <<: *base
  d: 5
deep:
  <<: *chain
quoted:
  "<<": *base
again: *list
`
	d := parse(t, text)
	want := `{"base":{"a":1,"b":2},"other":{"b":3,"c":4},"list":["x",{"a":1,"b":2}],"one":{"a":1,"b":2},"first":{"a":1,"b":"mine"},` +
		`"many":{"z":0,"b":2,"c":4,"a":"own"},"chain":{"a":1,"b":2,"d":5},"deep":{"a":1,"b":2,"d":5},"quoted":{"<<":{"a":1,"b":2}},"again":["x",{"a":1,"b":2}]}`
	if got := asJSON(t, d); got != want {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
	if string(d.Text) != text {
		t.Error("the text changed")
	}
	for path, want := range map[string]string{
		"one.b": "2", "first.b": "mine", "first.a": "1", "many.c": "4", "deep.a": "1", "again.1.b": "2", "again.0": "x", "again.2": "", "again.-1": "", "again.x": "", "one.b.c": "", "nothing": "",
	} {
		got := ""
		if n := d.Get(strings.Split(path, ".")...); n != nil {
			got = n.Value
		}
		if got != want {
			t.Errorf("%s: %q instead of %q", path, got, want)
		}
	}
}

func TestTextsAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"line ends of Windows": {"a: 1\r\nb: |\r\n  x\r\n  y\r\n", `{"a":1,"b":"x\ny\n"}`},
		"byte order mark":      {"\uFEFFa: 1\n", `{"a":1}`},
		"mark before JSON":     {"\uFEFF{\"a\": 1}", `{"a":1}`},
		"comments":             {"# head\na: 1 # line\n\n# foot\n", `{"a":1}`},
		"document markers":     {"%YAML 1.1\n---\na: 1\n...\n", `{"a":1}`},
		"no end of line":       {"a: 1", `{"a":1}`},
		"tabs in JSON":         {"{\n\t\"a\":\t[1,\t\"\\ud83d\\ude00\"]\n}\n", `{"a":[1,"😀"]}`},
		"JSON that YAML minds": {`{"a":"\/","` + strings.Repeat("k", 2000) + `":1}`, `{"a":"/","` + strings.Repeat("k", 2000) + `":1}`},
		"order":                {"z: 1\na: 2\nm: 3\n", `{"z":1,"a":2,"m":3}`},
		"a template unquoted":  {"a: '{{b}}'\n", `{"a":"{{b}}"}`},
	} {
		d, problems := dsul.Parse(dsul.Page, "p", []byte(test.text))
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if string(d.Text) != test.text || asJSON(t, d) != test.want {
			t.Errorf("%s: %q, %s", name, d.Text, asJSON(t, d))
		}
	}
}

func TestADocumentThatCannotBeReadIsHarmless(t *testing.T) {
	t.Parallel()
	d, _ := dsul.Parse(dsul.Automation, "broken", []byte("a: ["))
	if _, err := d.JSON(); err == nil || d.Get("a") != nil || d.Check(dsul.Strict) != nil || d.Summary().Slug != "broken" || d.Summary().Title() != "" {
		t.Error("it says something")
	}
	if problems := (dsul.Workspace{Documents: []*dsul.Document{d}}).Lint(); len(problems) > 0 {
		t.Error(problems)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"?", "a: 1\n", "a: &a [x, *a]\n", bomb(3), "<<: {a: 1}\n", "? [a]\n: b\n", "a: |\n  x\n y\n", "{\"a\": [1, {}]}", "a: !!str 1\n", "- a\n# c\n- b\n", "a: 'x\n\n y'\n",
		"name: x\nwhen: {events: [a], endpoint: ':x/*y', schedules: ['* * * * *']}\ndo:\n  - set: {name: 'a[]', value: '{% {{b}} + 1 %}'}\n  - conditions:\n      '{{a}} == 1': []\n",
		"# head\n\nname: x # line\ndo:\n# c\n- a: &b\n    # d\n    c: *e\n# foot\n",
	} {
		f.Add([]byte(text))
	}
	if sample, err := os.ReadFile("testdata/automation.yml"); err == nil {
		f.Add(sample)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, problems := dsul.Parse(dsul.Automation, "a", text)
		if d.Root == nil {
			if len(problems.Errors()) == 0 {
				t.Fatal("nothing read, nothing said")
			}
			return
		}
		raw, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []dsul.Kind{dsul.Index, dsul.Automation, dsul.Page, dsul.Import} {
			d.Kind = kind
			_, _ = d.Check(dsul.Strict), d.Summary()
			dsul.Workspace{Documents: []*dsul.Document{d}, Secrets: map[string]bool{}}.Lint()
		}
		again, problems := dsul.FromJSON(dsul.Automation, "a", raw)
		if len(problems) > 0 {
			if problems[0].Code != "too_large" && problems[0].Code != "too_deep" {
				t.Fatalf("%v\n%s", problems, raw)
			}
			return
		}
		if got, _ := again.JSON(); string(got) != string(raw) {
			t.Fatalf("%s\n%s", raw, got)
		}
		read, problems := dsul.Parse(dsul.Automation, "a", again.Text)
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, again.Text)
		}
		if got, _ := read.JSON(); string(got) != string(raw) {
			t.Fatalf("%s\n%s\n%s", raw, got, again.Text)
		}
		encoded, problems := dsul.Parse(dsul.Automation, "a", dsul.Encode(d.Root))
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, dsul.Encode(d.Root))
		}
		if got, _ := encoded.JSON(); string(got) != string(raw) {
			t.Fatalf("%s\n%s\n%s", raw, got, dsul.Encode(d.Root))
		}
	})
}
