package expr_test

import (
	"errors"
	"strings"
	"testing"

	"atelier/internal/dsul/expr"
)

func showTemplate(t *expr.Template) string {
	var out strings.Builder
	for _, part := range t.Parts {
		out.WriteString("<")
		if part.Node == nil {
			out.WriteString(part.Text)
		} else {
			out.WriteString("=" + show(part.Node))
		}
		out.WriteString(">")
	}
	return out.String()
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``: ``, `plain`: `<plain>`, `{{a}}`: `<={{a}}>`, `a {{b}} c`: `<a ><={{b}}>< c>`, `{{a}}{{b}}`: `<={{a}}><={{b}}>`, "{{a\nb}}": "<={{a\nb}}>",
		// paths are looser than in expressions
		`{{ s }}`: `<={{ s }}>`, `{{a-b}}`: `<={{a-b}}>`, `{{a b.c d}}`: `<={{a b/c d}}>`, `{{é}}`: `<={{é}}>`, `{{a["x.y"][0].z}}`: `<={{a/x.y/#0/z}}>`, `{{"b":1}}`: `<={{"b":1}}>`,
		`{{#each items}}`: `<={{#each items}}>`, `{{a[x.y]}}`: `<={{a/x.y}}>`, `{{a.007}}`: `<={{a/#7}}>`,
		// what does not open or close is text
		`{{`: `<{{>`, `}}`: `<}}>`, `{%`: `<{%>`, `%}`: `<%}>`, `{{ s`: `<{{ s>`, `a }} b {{ c`: `<a }} b {{ c>`, `{ {a} }`: `<{ {a} }>`, `{{a}b}}`: `<{{a}b}}>`, `{{a{b}}`: `<{{a{b}}>`,
		`{% 1 {{a}}`: `<{% 1 ><={{a}}>`, `1 %} {{a}}`: `<1 %} ><={{a}}>`, `{% {% 1 %}`: `<{% ><=1>`, `{{a}`: `<{{a}>`, `{a}}`: `<{a}}>`, `{%}`: `<{%}>`,
		// braces around
		`{{{a}}}`: `<{><={{a}}><}>`, `{"a":{{b}}}`: `<{"a":><={{b}}><}>`, `{"a":{"b":{{c}}}}`: `<{"a":{"b":><={{c}}><}}>`, `{{a}}}}`: `<={{a}}><}}>`, `{{{{a}}`: `<{{><={{a}}>`,
		`{ {{a}} }}`: `<{ ><={{a}}>< }}>`, `{{ { {{a}} }}`: `<{{ { ><={{a}}>< }}>`,
		// keys from data, from the inside out
		`{{a[{{b}}]}}`: `<={{a/{{b}}}}>`, `{{a.{{b}}}}`: `<={{a/~{{b}}}}>`, `{{a["{{b}}"]}}`: `<={{a/{{b}}}}>`, `{{a[x{{b}}y].c}}`: `<={{a/"x"+{{b}}+"y"/c}}>`, `{{{{a}}}}`: `<={{~{{a}}}}>`,
		`{{a[{{b[{{c}}]}}]}} d`: `<={{a/{{b/{{c}}}}}}>< d>`, `{{a[{% 1 + 1 %}]}}`: `<={{a/[1 + 1]}}>`, `{{ {{a}} {{b}} }}`: `<={{~" "+{{a}}+" "+{{b}}+" "}}>`,
		`{{{{{a}}}}}`: `<{><={{~{{a}}}}><}>`, `{{a.{{b}}.c}}`: `<={{a/~{{b}}/c}}>`,
		// expressions
		`{% 1 %}`: `<=1>`, `{% {{a}} %}`: `<={{a}}>`, `{%1%}{%2%}`: `<=1><=2>`, `v={% {% 1 %} == 1 %}!`: `<v=><=[1 == 1]><!>`, `{% '{{x}}' %}`: `<="{{x}}">`,
		`{{% 1 %}}`: `<{><=1><}>`, `{% 5 % 3 %}`: `<=[5 % 3]>`, `100% {{a}} %`: `<100% ><={{a}}>< %>`,
	} {
		template, err := expr.ParseTemplate(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := showTemplate(template); got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}

func TestVariablesAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{% 1 %} {{a}}`: `<{% 1 %} ><={{a}}>`, `{% not [valid] {{a}} %}`: `<{% not [valid] {{a}} %}>`, `{{a[{% 1 %}]}}`: `<{{a[{% 1 %}]}}>`, `{{a[{{b}}]}}`: `<={{a/{{b}}}}>`,
	} {
		template, err := expr.ParseVariables(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := showTemplate(template); got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}

func TestWholeAndLiteral(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text           string
		whole, literal bool
	}{{"", false, true}, {"a {{ b", false, true}, {"{{a}}", true, false}, {"{% 1 %}", true, false}, {" {{a}}", false, false}, {"{{a[{{b}}]}}", true, false}} {
		template, err := expr.ParseTemplate(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, whole := template.Whole(); whole != test.whole {
			t.Errorf("%q is whole: %v", test.text, whole)
		}
		if text, literal := template.Literal(); literal != test.literal || literal && text != test.text {
			t.Errorf("%q is literal: %q, %v", test.text, text, literal)
		}
	}
}

func TestVariablesOfATemplate(t *testing.T) {
	t.Parallel()
	template, err := expr.ParseTemplate(`{{secret.a}} {% {{secret.b.c}} == {{d}} %} {{secret[{{e}}]}} {{secret["f g"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, v := range template.Variables() {
		all = append(all, strings.Join(v.Static(), "/"))
	}
	if got := strings.Join(all, ","); got != "secret/a,secret/b/c,d,secret,e,secret/f g" {
		t.Error(got)
	}
}

// An error says where in the text the expression or variable starts.
func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, path, expression string
		start, offset          int
		message                string
	}{
		{text: `a {{}}`, start: 4, message: "empty"},
		{text: `a {{b.}}`, path: "b.", start: 4, message: "nothing follows the last dot"},
		{text: `{{.}}`, path: ".", start: 2, message: "must start with a name"},
		{text: `{{a..b}}`, path: "a..b", start: 2, message: "behind every dot"},
		{text: `{{[0]}}`, path: "[0]", start: 2, message: "must start with a name"},
		{text: `{{a[]}}`, path: "a[]", start: 2, message: "a key must stand in the brackets"},
		{text: `{{a[0}}`, path: "a[0", start: 2, message: "a [ has no ]"},
		{text: `{{a]}}`, path: "a]", start: 2, message: "a ] without a ["},
		{text: `{{a["b]}}`, path: `a["b]`, start: 2, message: `no closing "`},
		{text: `{{a["b"c]}}`, path: `a["b"c]`, start: 2, message: "a [ has no ]"},
		{text: `{{a[0]b}}`, path: "a[0]b", start: 2, message: "behind ] stands"},
		{text: `{{a[{{b}}]{{c}}}}`, path: "a[{{b}}]{{c}}", start: 2, message: "behind ] stands"},
		{text: `x {{a[{{b.}}]}}`, path: "b.", start: 8, message: "nothing follows"},
		{text: `é {% 1 = %}`, expression: ` 1 = `, start: 5, offset: 5, message: "expected a value"},
		{text: `{{a[{% 1 1 %}]}}`, expression: ` 1 1 `, start: 6, offset: 3, message: "several words"},
		{text: strings.Repeat("{{", 200) + "a" + strings.Repeat("}}", 200), start: 198 + 2, path: "", message: "100 levels deep"},
		{text: "{{" + strings.Repeat("a", 5000) + "}}", start: 2, path: "", message: "more than 4096 bytes"},
	} {
		_, err := expr.ParseTemplate(test.text)
		var path *expr.PathError
		var syntax *expr.SyntaxError
		switch {
		case errors.As(err, &path) && test.expression == "":
			if path.Start != test.start || test.path != "" && path.Path != test.path || !strings.Contains(path.Message, test.message) {
				t.Errorf("%.40q: %q at %d: %s", test.text, path.Path, path.Start, path.Message)
			}
		case errors.As(err, &syntax) && test.expression != "":
			if syntax.Start != test.start || syntax.Offset != test.offset || syntax.Source != test.expression || !strings.Contains(syntax.Message, test.message) {
				t.Errorf("%.40q: %q at %d+%d: %s", test.text, syntax.Source, syntax.Start, syntax.Offset, syntax.Message)
			}
		default:
			t.Errorf("%.40q: %v", test.text, err)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, steps string
		push        bool
	}{
		{"a", "a", false},
		{"a[]", "a", true},
		{"a.b[0][]", "a/b/#0", true},
		{"user.name", "user/name", false},
		{"$http", "$http", false},
		{"a['x y']", "a/x y", false},
		{"", "", false},
		{"[]", "", true},
		{"a[][]", "", true},
		{"a[].b", "", false},
		{"a.[]", "", true},
		{"a.", "", false},
	} {
		steps, push, err := expr.ParseTarget(test.path)
		if (err != nil) != (test.steps == "") || showSteps(steps) != test.steps || push != test.push {
			t.Errorf("%q gives %s, %v, %v", test.path, showSteps(steps), push, err)
		}
	}
}

// A document may be large; its braces must not make it slow.
func hostileTemplates() map[string]string {
	const size = 1 << 16
	repeat := func(text string) string { return strings.Repeat(text, size/len(text)) }
	return map[string]string{
		"open": repeat("{{"), "closed": repeat("}}"), "nested": repeat("{{")[:size/2] + repeat("}}")[:size/2], "half": repeat("{{a "), "single": repeat("{ "), "blocks": repeat("{%"),
		"nested blocks": repeat("{%")[:size/2] + repeat("%}")[:size/2], "variables": repeat("{{a}}"), "keys": repeat("{{a[{{b}}]}}"), "texts": repeat("{{a}} {"), "expressions": repeat("{% 1 %}"),
		"three": repeat("{{{a}}} "), "mixed": repeat("{{ {% }} %}"), "closing": "{{" + repeat("a}") + "}}",
	}
}

func TestHostileTemplates(t *testing.T) {
	t.Parallel()
	for name, text := range hostileTemplates() {
		template, err := expr.ParseTemplate(text)
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		covered(t, template)
	}
}

// covered says that the parts of a template are the whole of it, in order.
func covered(t *testing.T, template *expr.Template) {
	t.Helper()
	at := 0
	for i, part := range template.Parts {
		if part.Start != at || part.End <= at {
			t.Fatalf("part %d covers %d to %d, want from %d", i, part.Start, part.End, at)
		}
		if part.Node == nil && part.Text != template.Source[part.Start:part.End] {
			t.Fatalf("part %d is %q", i, part.Text)
		}
		at = part.End
	}
	if at != len(template.Source) {
		t.Fatalf("the parts end at %d of %d", at, len(template.Source))
	}
}

func FuzzTemplate(f *testing.F) {
	for _, v := range load(f).Interpolate {
		f.Add(v.Template)
	}
	for _, text := range hostileTemplates() {
		f.Add(text[:200])
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := expr.ParseTemplate(text)
		if err != nil {
			if name := className(err); name != "InvalidExpressionSyntax" && name != "InvalidVariableNameError" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		covered(t, template)
		for _, part := range template.Parts {
			if part.Node != nil {
				check(t, part.Node, len(text))
			}
		}
		if _, err := expr.ParseVariables(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func BenchmarkTemplate(b *testing.B) {
	const text = `Hello {{user.name}}, you have {% {{user.orders.length}} + 1 %} orders; the next one is {{orders[{{index}}].title}}.`
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := expr.ParseTemplate(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHostileTemplates(b *testing.B) {
	for name, text := range hostileTemplates() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = expr.ParseTemplate(text)
			}
		})
	}
}
