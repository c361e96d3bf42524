package assembly_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atelier/internal/dsul"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
)

func document(t *testing.T, kind dsul.Kind, slug, text string) *dsul.Document {
	t.Helper()
	doc, problems := dsul.Parse(kind, slug, []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return doc
}

func shown(v any) string {
	text, _ := value.JSON(v, "", 1<<20)
	return text
}

func TestValue(t *testing.T) {
	t.Parallel()
	doc := document(t, dsul.Index, "", `
base: &base {a: 1, b: two}
merged: {<<: *base, b: 3}
alias: *base
list: [1, -2, 0x10, 1.5, 1e3, 007, yes, true, ~, "1", 2026-01-01, 12345678901234567890]
nothing:
text: |
  lines
`)
	const want = `{"base":{"a":1,"b":"two"},"merged":{"a":1,"b":3},"alias":{"a":1,"b":"two"},` +
		`"list":[1,-2,16,1.5,1000,"007","yes",true,null,"1","2026-01-01",12345678901234567000],"nothing":null,"text":"lines\n"}`
	if got := shown(assembly.Value(doc.Root)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if assembly.Value(doc.Get("none")) != any(value.Undefined{}) {
		t.Error("what is not there is something")
	}
}

// workspace is a workspace with an app instance, and another one inside of that.
func workspace(t *testing.T) *assembly.Place {
	t.Helper()
	inner := &assembly.Place{
		App: "Inner", Instance: "in", Index: document(t, dsul.Index, "", "name: I\nconfig:\n  value: {who: inner, own: 'inner {{config.who}}', nested: default}"),
		Import: document(t, dsul.Import, "in", "appSlug: Inner\nconfig: {who: '{{config.url}}', at: '{{secret.key}}'}"),
	}
	outer := &assembly.Place{
		App: "Outer App", Instance: "out", Instances: []*assembly.Place{inner},
		Index: document(t, dsul.Index, "", `
name: O
config:
  schema: {password: {type: string, secret: true}, deep: {type: object, properties: {list: {type: array, items: {secret: true}}}}}
  value: {url: 'https://default', key: '{{secret.key}}', both: '{{config.url}}/{{secret.key}}'}
`),
		Import:      document(t, dsul.Import, "out", "appSlug: Outer App\nconfig: {url: '{{config.base}}/x', mine: '{{secret.token}}', theirs: '{{secret.key}}', password: hush, deep: {list: [' one ', 2]}, in: {nested: over}}"),
		Environment: map[string]string{"fromEnv": "env", "url": "https://env"}, Secrets: assembly.Texts{"key": "app-key"},
	}
	return &assembly.Place{
		Index:       document(t, dsul.Index, "", "name: W\nconfig:\n  value: {base: 'https://w', token: 'Bearer {{secret.token}}', twice: '{{config.token}}', gone: '{{config.gone2}} {% 1 + 1 %}', whole: '{{config.map}}', map: {a: 1}}"),
		Environment: map[string]string{"base": "env", "extra": "{{secret.token}}"}, Secrets: assembly.Texts{"token": "t0k3n"}, Instances: []*assembly.Place{outer},
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	root := workspace(t)
	config := root.Root()
	const want = `{"base":"https://w","extra":"t0k3n","token":"Bearer t0k3n","twice":"Bearer {{secret.token}}","gone":"{{config.gone2}} {% 1 + 1 %}","whole":{"a":1},"map":{"a":1}}`
	if got := shown(config.Value); got != want {
		t.Errorf("workspace: got  %s\nwant %s", got, want)
	}
	outer := root.Instances[0]
	under := outer.Under(config)
	// the instance cannot have the secrets of the app, nor the app those of the workspace
	const wantOuter = `{"fromEnv":"env","url":"https://w/x","key":"app-key","both":"https://w/x/app-key","mine":"t0k3n","theirs":"{{secret.key}}",` +
		`"password":"hush","deep":{"list":[" one ",2]},"in":{"nested":"over"}}`
	if got := shown(under.Value); got != wantOuter {
		t.Errorf("app: got  %s\nwant %s", got, wantOuter)
	}
	inner := outer.Instances[0].Under(under)
	const wantInner = `{"who":"https://w/x","own":"inner https://w/x","nested":"over","at":"app-key"}`
	if got := shown(inner.Value); got != wantInner {
		t.Errorf("app in an app: got  %s\nwant %s", got, wantInner)
	}
	if got := outer.Hidden(under); !slices.Equal(got, []string{"2", "app-key", "hush", "one"}) {
		t.Errorf("hidden: %q", got)
	}
	if got := root.Hidden(config); !slices.Equal(got, []string{"t0k3n"}) {
		t.Errorf("hidden: %q", got)
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ own, before, after, want string }{
		{`{"a":"{{secret.x}}","b":1}`, `{"a":"hush","b":1}`, `{"a":"hush","b":2}`, `{"a":"{{secret.x}}","b":2}`},
		{`{"o":{"a":"{{secret.x}}"}}`, `{"o":{"a":"hush"}}`, `{"o":{"a":"hush","n":1}}`, `{"o":{"a":"{{secret.x}}","n":1}}`},
		{`{"l":["{{secret.x}}"]}`, `{"l":["hush"]}`, `{"l":["hush","new"]}`, `{"l":["{{secret.x}}","new"]}`},
		{`{}`, `{"env":1,"o":{"a":1,"b":2}}`, `{"env":1,"o":{"a":1,"b":3}}`, `{"o":{"a":1,"b":3}}`},
		{`{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"b":2}`, `{"b":2}`},
		{`{"a":"{{config.o}}"}`, `{"a":{"x":1}}`, `{"a":{"x":2}}`, `{"a":{"x":2}}`},
	} {
		decode := func(text string) any {
			v, err := value.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if got := shown(assembly.Rewrite(decode(test.own), decode(test.before), decode(test.after))); got != test.want {
			t.Errorf("%s: %s, want %s", test.after, got, test.want)
		}
	}
}

func TestTextsAreHidden(t *testing.T) {
	t.Parallel()
	texts := assembly.Texts{"name": "hush"}
	encoded, err := json.Marshal(map[string]any{"texts": texts})
	if all := fmt.Sprintf("%v %+v %#v %s %q %d", texts, texts, texts, texts, texts, texts) + string(encoded); strings.Contains(all, "hush") || err != nil {
		t.Errorf("%s %v", all, err)
	}
}
