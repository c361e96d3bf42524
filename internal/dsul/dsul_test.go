package dsul_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/dsul"
	"atelier/internal/errs"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		kind dsul.Kind
		slug string
	}{
		"index": {dsul.Index, ""}, "security": {dsul.Security, ""}, "automations/hello": {dsul.Automation, "hello"},
		"pages/a/b c": {dsul.Page, "a/b c"}, "imports/My App": {dsul.Import, "My App"},
	} {
		kind, slug, ok := dsul.SplitPath(path)
		if !ok || kind != want.kind || slug != want.slug || dsul.Path(kind, slug) != path {
			t.Errorf("%s: %s %s %v", path, kind, slug, ok)
		}
	}
	for _, path := range []string{
		"", "/", "index/", "index/x", "security/x", "automations", "automations/", "automations//a", "automations/a/", "automations/../index", "automations/.git",
		"automations/a.yml", "runtime", "files/a", "Index", "automations/a\x00", "pages/a /b", "pages/ a", "pages/__index__", "pages/a/__index__", "pages/é", "pages/a\\b",
		"pages/" + strings.Repeat("a", 101),
	} {
		if kind, slug, ok := dsul.SplitPath(path); ok {
			t.Errorf("%q: %s %s", path, kind, slug)
		}
	}
}

func TestSlugs(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{"hello": true, "hello-1": true, "untitled": true}
	for name, want := range map[string]string{
		"Hello World": "Hello World", "hello": "hello-2", "Été à l'Œuvre": "Ete a luvre", "a/b.c": "abc", "  x  ": "x", "": "untitled-1", "日本語": "untitled-1", "<script>": "script",
		"A name that is much too long": "A name that is much", "_a-b": "_a-b",
	} {
		got := dsul.Slug(name, func(s string) bool { return taken[s] })
		if got != want || !dsul.ValidSlug(got) {
			t.Errorf("%q: %q instead of %q", name, got, want)
		}
	}
}

func TestProblemsBecomeAnError(t *testing.T) {
	t.Parallel()
	problems := dsul.Problems{
		{Path: "a", Line: 3, Severity: "error", Message: "no"}, {Path: "b", Severity: "warning", Message: "hm"}, {Path: "c", Severity: "error", Message: "no"},
	}
	if len(problems.Errors()) != 2 || len(problems.Warnings()) != 1 || problems.Warnings().Err() != nil || dsul.Problems(nil).Err() != nil {
		t.Error("severities are mixed up")
	}
	got := errs.From(problems.Err())
	want := []errs.Field{{Field: "a", Message: "line 3: no"}, {Field: "c", Message: "no"}}
	if diff := cmp.Diff(want, got.Fields); diff != "" || got.Code != errs.ValidationFailed {
		t.Error(diff, got)
	}
	many := make(dsul.Problems, 250)
	for i := range many {
		many[i].Severity = "error"
	}
	if got := errs.From(many.Err()); len(got.Fields) != 100 || got.Details["more"] != 150 {
		t.Errorf("%d fields, %v", len(got.Fields), got.Details)
	}
}

func TestFromJSONIsReadable(t *testing.T) {
	t.Parallel()
	d, problems := dsul.FromJSON(dsul.Automation, "a", []byte(`{"name":"Hello, world","version":"1.10","n":1.10,"do":[{"set":{"name":"a","value":"{{b}}"}},{"break":{}}],
		"text":"one\ntwo\n","keep":"a\n\n","strip":"a\nb","list":[[1,2],[],[{"a":{}}]],"no":"no","date":"2024-01-01","quote":"it's \"so\"","colon":"a: b","empty":"",
		"odd":"a\tb","null":null,"12":true,"yes":"~","cmt":"a #b","<<":{"x":1}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := `name: Hello, world
version: '1.10'
n: 1.10
do:
  - set:
      name: a
      value: '{{b}}'
  - break: {}
text: |
  one
  two
keep: |+
  a

strip: |-
  a
  b
list:
  - - 1
    - 2
  - []
  - - a: {}
'no': 'no'
date: '2024-01-01'
quote: it's "so"
colon: 'a: b'
empty: ''
odd: "a\tb"
'null': null
'12': true
'yes': '~'
cmt: 'a #b'
'<<':
  x: 1
`
	if diff := cmp.Diff(want, string(d.Text)); diff != "" {
		t.Error(diff)
	}
}

func TestJSONThatIsRefused(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{
		"":                                       "bad_json",
		"[]":                                     "wrong_type",
		"null":                                   "wrong_type",
		`{"a":1,"a":2}`:                          "bad_json",
		`{"a":1} x`:                              "bad_json",
		`{"a":"\ud800"}`:                         "bad_json",
		`{"a":"\u0000"}`:                         "bad_json",
		"{\"a\":\"\xff\"}":                       "bad_json",
		`{"a":` + strings.Repeat("[", 200) + "1": "bad_json",
		`{"a":"` + strings.Repeat("x", 1<<20) + `"}`:    "too_large",
		`{"a":"` + strings.Repeat("x", 3<<20) + `"}`:    "too_large",
		`{"a":[` + strings.Repeat("1,", 99_998) + `1]}`: "too_many_values",
	} {
		d, problems := dsul.FromJSON(dsul.Page, "p", []byte(text))
		if len(problems) != 1 || problems[0].Code != code || problems[0].Severity != "error" || problems[0].Document != "pages/p" || d.Root != nil {
			t.Errorf("%.40q: %v", text, problems)
		}
	}
	if _, problems := dsul.FromJSON(dsul.Page, "p", []byte("{\n  \"a\": 1,\n  \"a\": 2}")); problems[0].Line != 3 || problems[0].Column != 3 {
		t.Errorf("%+v", problems[0])
	}
}

func TestEncodeKeepsComments(t *testing.T) {
	t.Parallel()
	text := `# about the whole

# about a
a: 1 # one
# about b
b: # the list
  # first
  - x # ex
  # second, a map
  - k: v
    # about l
    l: &anchor
      deep: true # very
  -
    # inside
    m: *anchor
# about c
c: | # lines
  one
  two
d:
  <<: *anchor
  # last
  e: {} # nothing
`
	d := parse(t, text)
	first := dsul.Encode(d.Root)
	again := parse(t, string(first))
	if asJSON(t, d) != asJSON(t, again) {
		t.Errorf("%s\n%s", asJSON(t, d), asJSON(t, again))
	}
	for _, comment := range []string{"about a", "one", "about b", "the list", "first", "ex", "second, a map", "about l", "very", "inside", "about c", "lines", "last", "nothing"} {
		if strings.Count(string(first), "# "+comment+"\n") != 1 {
			t.Errorf("the comment %q is there %d times", comment, strings.Count(string(first), "# "+comment+"\n"))
		}
	}
	if t.Failed() {
		t.Logf("%s", first)
	}
	if second := dsul.Encode(again.Root); string(first) != string(second) {
		t.Errorf("not stable:\n%s\n%s", first, second)
	}
}

func TestEncodeOfParts(t *testing.T) {
	t.Parallel()
	d := parse(t, "a: 12\nb: text\nc: [1, {x: y}]\nd: {}\ne: |\n  x\n  y\nf: ~\ng: '12'\n")
	for path, want := range map[string]string{
		"a": "12\n", "b": "text\n", "c": "- 1\n- x: y\n", "d": "{}\n", "e": "|\n  x\n  y\n", "f": "null\n", "g": "'12'\n", "none": "null\n",
	} {
		if got := string(dsul.Encode(d.Get(path))); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func sample(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/automation.yml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSummaryOfAnAutomation(t *testing.T) {
	t.Parallel()
	d, problems := dsul.Parse(dsul.Automation, "file", sample(t))
	if len(problems) > 0 || len(d.Check(dsul.Strict)) > 0 {
		t.Fatal(problems, d.Check(dsul.Strict))
	}
	s := d.Summary()
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":{"en":"Orders / Answer","fr":"Questions / Réponse"},"slug":"orders/answer","description":"Finds an order and tells the customer about it.",` +
		`"labels":["orders","team:support"],` +
		`"arguments":{"body":{"type":"object","properties":{"orderId":{"type":"string","pattern":"^[0-9]+$"},"token":{"type":"string","secret":true}},"required":["orderId"]}},` +
		`"when":{"events":["orders.asked"],"endpoint":"orders/:id/*rest","schedules":["0 8 * * 1-5"]},` +
		`"events":{"emit":["orders.item","orders.failed"],"listen":["orders.asked","orders.confirmed"],` +
		`"autocomplete":[{"event":"orders.item"},{"event":"orders.{{item.kind}}","autocomplete":{"kind":{"from":"config","path":"kinds","template":"orders.${value}"}}}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if s.Title() != "Orders / Answer" {
		t.Error(s.Title())
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind       dsul.Kind
		text, want string
	}{
		"page": {
			dsul.Page, "name: P\nonInit: {event: a}\nupdateOn: [b, c]\nblocks:\n- {slug: L, onInit: d, head: [{slug: M, updateOn: e}], content: {blocks: [{slug: N}, {slug: M}]}}\n",
			`{"name":"P","slug":"x","events":{"emit":["a","d"],"listen":["b","c","e"],"autocomplete":[]},"blocks":["L","M","N"]}`,
		},
		"import":       {dsul.Import, "appSlug: A\nappName: B\nappVersion: 1.10\ndisabled: true\nlabels: [l1]\n", `{"slug":"x","labels":["l1"],"disabled":true,"appSlug":"A","appName":"B","appVersion":"1.10"}`},
		"private":      {dsul.Automation, "name: 1.10\nprivate: true\ndo: []\n", `{"name":"1.10","slug":"x","private":true,"events":{"emit":[],"listen":[],"autocomplete":[]}}`},
		"index":        {dsul.Index, "name: W\nslug: w\n", `{"name":"W","slug":"w"}`},
		"wrong shapes": {dsul.Automation, "name: [a]\nlabels: x\nwhen: y\ndo: {set: 1}\nprivate: 'true'\nslug: {}\n", `{"name":["a"],"slug":"x","when":"y","events":{"emit":[],"listen":[],"autocomplete":[]}}`},
		"wrong inside": {dsul.Automation, "do:\n- wait: {oneOf: [x, {event: {}}]}\n- emit: x\n- emit: {event: [a]}\n- fetch: {stream: {event: s}}\n- conditions: [x]\n- repeat: x\n- all: x\n- 3\n", `{"slug":"x","events":{"emit":["s"],"listen":[],"autocomplete":[]}}`},
	} {
		d, problems := dsul.Parse(test.kind, "x", []byte(test.text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		got, err := json.Marshal(d.Summary())
		if diff := cmp.Diff(test.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		_ = d.Check(dsul.Lenient)
	}
	for name, want := range map[string]string{"{fr: Bonjour, en: Hello}": "Hello", "{fr: Bonjour}": "Bonjour", "{}": "", "[a]": "", "x": "x", "2024": "2024", "{fr: , de: Tag}": "Tag"} {
		d := parse(t, "name: "+name+"\n")
		if got := d.Summary().Title(); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// large is an automation of about 30 KB.
func large(b *testing.B) []byte {
	b.Helper()
	head, body, _ := strings.Cut(string(sample(b)), "do:\n")
	body, tail, _ := strings.Cut(body, "output:\n")
	return fmt.Appendf(nil, "%sdo:\n%soutput:\n%s", head, strings.Repeat(body, 16), tail)
}

func BenchmarkAutomation(b *testing.B) {
	text := large(b)
	b.SetBytes(int64(len(text)))
	d, _ := dsul.Parse(dsul.Automation, "a", text)
	raw, _ := d.JSON()
	for name, run := range map[string]func(){
		"parse":   func() { dsul.Parse(dsul.Automation, "a", text) },
		"check":   func() { d.Check(dsul.Strict) },
		"summary": func() { d.Summary() },
		"json":    func() { _, _ = d.JSON() },
		"encode":  func() { dsul.Encode(d.Root) },
		"from":    func() { dsul.FromJSON(dsul.Automation, "a", raw) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
