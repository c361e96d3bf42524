package expr_test

import (
	"errors"
	"strings"
	"testing"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

func TestOperators(t *testing.T) {
	t.Parallel()
	env := world(t, sample)
	for source, want := range map[string]string{
		// and, or: the same precedence, to the right, all sides computed, an operand as the result
		`{{u}} or "def"`: `"def"`, `{{s}} and {{n}}`: `3`, `{{e}} and {{n}}`: `""`, `true or false and false`: `true`, `true and json({{broken}})`: `error: not JSON`, `true or json({{broken}})`: `error: not JSON`,
		`1 < 2 < 3`: `false`, `3 > 2 > 1`: `true`, `10 - 2 - 3`: `5`, `100 / 10 / 2`: `5`, `7 % 4 % 2`: `1`, `2 + 3 * 4`: `14`, `-7 % 3`: `-1`, `1 / 0`: `{"$inf":true}`, `0 / 0`: `{"$nan":true}`, `{{u}} + 1`: `{"$nan":true}`,
		// conditions
		`!{{u}}`: `true`, `not {{s}}`: `false`, `not ({{n}} == 3)`: `false`, `{{u}} = ""`: `false`, `{{u}} == null`: `true`, `{{nl}} exists`: `false`, `{{e}} exists`: `true`, `{{u.a.b.c}} not exists`: `true`, `{{nl.a}}`: `{"$undefined":true}`,
		// in
		`5 in "un,5"`: `true`, `"5" in "un,5"`: `false`, `5 in "5.9"`: `true`, `"un" in "un,deux"`: `true`, `un in "un, deux"`: `true`, `deux in "un, deux"`: `false`, `"" in "a,,b"`: `true`, `k in {{o}}`: `true`, `z in {{o}}`: `false`,
		`toString in {{o}}`: `false`, `length in {{arr}}`: `false`, `{{u}} in {{arr}}`: `false`, `1 in {{u}}`: `false`, `1 in 1`: `false`, `a not in {{arr}}`: `false`, `{{n}} not in "1,2"`: `true`, `0x1f in "31"`: `false`, `31 in "0x1f"`: `true`,
		// matches
		`{{u}} matches "undefined"`: `true`, `{{nl}} matches "null"`: `true`, `{{n}} matches "^3$"`: `true`, `{{arr}} matches "a,b"`: `true`, `{{o}} matches "object"`: `true`, `{{s}} matches {{p}}`: `true`, `{{s}} matches {{empty}}`: `false`,
		`{{s}} matches {{flags}}`: `true`, `{{s}} matches {{two}}`: `false`, `{{s}} matches {{u}}`: `false`, `{{s}} not matches {{u}}`: `true`, `{{s}} matches regex(^{{p}})`: `false`, `{{s}} matches regex({{p}}o$)`: `true`, `{{s}} matches regex(/{{p}}O/i)`: `true`,
		`{{s}} matches regex(({{p}})`: `error: not valid`, `{{s}} matches "/hello/"`: `false`, `"é" matches regex(\u00e9)`: `true`, `"a\nb" matches "a.b"`: `false`, `{{s}} matches regex("h.l")`: `true`, `{{s}} not matches regex('xyz')`: `true`,
		`"x" matches regex(/^X$/i)`: `true`, `"ab" matches regex(/b/y)`: `false`, `{{s}} matches 1`: `false`,
		// variables
		`{{arr[0]}}`: `"a"`, `{{arr.length}}`: `3`, `{{arr[length]}}`: `3`, `{{arr[9]}}`: `{"$undefined":true}`, `{{emoji[1]}}`: `"😀"`, `{{emoji[2]}}`: `"😀"`, `{{emoji[3]}}`: `"b"`, `{{emoji[4]}}`: `{"$undefined":true}`, `{{emoji.length}}`: `4`, `{{n.length}}`: `{"$undefined":true}`,
		`{{o[{{key}}]}}`: `1`, `{{o[{{u}}]}}`: `{"$undefined":true}`, `{{arr[{{n}}]}}`: `{"$undefined":true}`, `{{o["nested"].z[0].q}}`: `9`, `{{o[{{path}}]}}`: `{"$undefined":true}`, `{{o.constructor}}`: `{"$undefined":true}`, `{{o.__proto__}}`: `{"$undefined":true}`,
		`{{s.toUpperCase}}`: `{"$undefined":true}`, `{{constructor}}`: `{"$undefined":true}`, `{{people.__proto__}}`: `5`, `{{arr["00"]}}`: `{"$undefined":true}`, `{{arr[00]}}`: `"a"`, `{{secret[x]}}`: `"hidden"`,
	} {
		checkValue(t, env, source, want)
	}
}

func TestTemplatesRun(t *testing.T) {
	t.Parallel()
	env := world(t, sample)
	for text, want := range map[string]string{
		`{{o}} x`: `"{\n  \"k\": 1,\n  \"x-y\": 2,\n  \"nested\": {\n    \"z\": [\n      {\n        \"q\": 9\n      }\n    ]\n  }\n} x"`, `{{empty}} x`: `"[] x"`, `{{nl}}|{{u}}|{{t}}|{{e}}`: `"||true|"`, `{% 1 / 0 %}!`: `"null!"`, `{% 0 / 0 %}`: `{"$nan":true}`,
		// data is data
		`{{tpl}} x`: `"{{s}} {% 1 %} x"`, `{{tpl}}`: `"{{s}} {% 1 %}"`, `{% {{tpl}} %}!`: `"{{s}} {% 1 %}!"`, `{% "{{s}}" %}`: `"{{s}}"`, `{{{s}}}`: `"{hello}"`,
		// keys from data
		`{{o[{{key}}]}}`: `1`, `{{o.{{key}}}}`: `1`, `{{o["{{key}}"]}}`: `1`, `{{o.{{path}}}}`: `[{"q":9}]`, `{{o.{{path}}[0].q}}`: `9`, `{{o[{{path}}]}}`: `{"$undefined":true}`, `{{{{name}}}}`: `{"k":1,"x-y":2,"nested":{"z":[{"q":9}]}}`, `{{{{name}}.k}}`: `1`, `{{arr[{{n}}]}}`: `{"$undefined":true}`,
		`{{arr[{% {{n}} - 1 %}]}}`: `3`, `{{o[{{u}}]}}`: `error: is empty`, `{{o.{{u}}}}`: `error: is empty`, `{{o[{{e}}]}}`: `error: is empty`, `x{{o.{{tpl}}}}`: `"x"`, `{{arr[0{{e}}]}}`: `"a"`, `{{o.n{{e}}ested.z}}`: `[{"q":9}]`,
		`{{{{secretName}}.x}}`: `error: a secret must be named in the text`, `{{{{secretPath}}}}`: `error: a secret must be named in the text`, `{{secret.x}}`: `"hidden"`, `{{secret.{{key}}}}`: `{"$undefined":true}`, `{{o.{{html}}}}`: `{"$undefined":true}`, `{{o.{{broken}}.}}`: `error: last dot`,
	} {
		got, err := env.text(text)
		message, fails := strings.CutPrefix(want, "error: ")
		switch {
		case fails && (err == nil || !strings.Contains(err.Error(), message)):
			t.Errorf("%s gives %s, %v, want an error: %s", text, got, err, message)
		case !fails && (err != nil || got != want):
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestUnknownVariablesAreLeft(t *testing.T) {
	t.Parallel()
	env := world(t, sample)
	for text, want := range map[string]string{
		`{{o[{{u}}]}}`: `"{{o[{{u}}]}}"`, `a {{o[{{key}}]}} {{o.{{u}}.x}}`: `"a 1 {{o.{{u}}.x}}"`, `{{nl}}`: `null`, `{{nl}} {{u}}`: `" {{u}}"`, `{% {{u}} %}`: `{"$undefined":true}`,
	} {
		template, err := expr.ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := interpolate(template, true, &env.Env); err != nil || encode(got) != want {
			t.Errorf("%s is %s, %v, want %s", text, encode(got), err, want)
		}
	}
}

// An expression says where it failed, and never shows what the data was.
func TestEvalErrors(t *testing.T) {
	t.Parallel()
	env := world(t, sample)
	_, err := evaluate(`1 == 1 and ceil({{s}}) > 2`, &env.Env)
	var found *expr.EvalError
	if !errors.As(err, &found) || found.At != 11 || strings.Contains(err.Error(), "hello") {
		t.Errorf("%v", err)
	}
	if _, err := expr.Compile(nil); err == nil {
		t.Error("nothing compiles")
	}
}

// Expressions that ask for more than they may.
func TestBudget(t *testing.T) {
	t.Parallel()
	env := world(t, "{}")
	long := strings.Repeat("a", 1<<20+1)
	list := make([]any, 1<<17)
	for i := range list {
		list[i] = "x"
	}
	var deep any = "x"
	for range 5_000 {
		deep = []any{deep}
	}
	variables := map[string]any{"long": long, "half": long[:1<<19], "list": list, "deep": deep, "bad": "(a|b|ab)*c(a?){20}", "wide": strings.Repeat("[", 1<<17)}
	env.Lookup = func(name string) any { return variables[name] }
	for name, source := range map[string]string{
		"sum": "{{long}}" + strings.Repeat("+{{long}}", 500), "join": "join({{list}}, {{long}})", "compare": "{{list}}" + strings.Repeat(" == {{list}} == 1", 800),
		"search": `{{long}} matches "a+b"`, "bad search": `{{half}} matches {{bad}}`, "searches": strings.Repeat(`{{half}} matches "(a|b)+c" and `, 300) + "1", "replace": `replace({{half}}, regex(/a/g), {{half}})`,
		"split": strings.Repeat(`split({{long}}, "") and `, 400) + "1", "json": strings.Repeat(`json({{list}}) and `, 400) + "1", "less": "{{long}}" + strings.Repeat(" < {{long}}", 500), "text": strings.Repeat("upper({{long}}) and ", 500) + "1",
	} {
		_, err := evaluate(source, &env.Env)
		if className(err) != "InvalidExpressionSyntax" || len(err.Error()) > 300 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, source := range []string{"json({{deep}})", "{{deep}} == 1", "base64({{deep}})", "deepmerge({{deep}}, {{deep}})", `unsafejson({{wide}})`, `{{deep}} in {{deep}}`} {
		if _, err := evaluate(source, &env.Env); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
	if _, err := env.text("{{long}}" + strings.Repeat(" {{long}}", 40)); err == nil {
		t.Error("a text may become very long")
	}
}

func FuzzEval(f *testing.F) {
	all := load(f)
	for _, v := range append(all.Evaluate, all.Interpolate...) {
		f.Add("{% " + v.Expr + " %}" + v.Template)
	}
	for _, name := range expr.Functions() {
		f.Add("{% " + name + "({{s}}, {{o}}, {{n}}).x == " + name + "({{arr}}, {{n}}) %}")
	}
	env := world(f, sample)
	f.Fuzz(func(t *testing.T, text string) {
		template, err := expr.ParseTemplate(text)
		if err != nil {
			return
		}
		v, err := interpolate(template, false, &env.Env)
		if className(err) != "" && className(err) != "InvalidExpressionSyntax" && className(err) != "InvalidVariableNameError" {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil && value.From(v) == nil && v != nil {
			t.Fatalf("%q is a %T", text, v)
		}
	})
}

func BenchmarkEval(b *testing.B) {
	env := world(b, sample)
	node, err := expr.Parse(`{{people.age}} >= 18 and ("x" in {{people.tags}}) and {{people.address.city}} == "Paris"`)
	if err != nil {
		b.Fatal(err)
	}
	program, err := expr.Compile(node)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := program.Eval(&env.Env); err != nil || v != true {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkInterpolate(b *testing.B) {
	env := world(b, sample)
	template, err := expr.ParseTemplate(`Hello {{people.name}}, you are {% {{people.age}} + 1 %} and live in {{people.address.city}}.`)
	if err != nil {
		b.Fatal(err)
	}
	program, err := expr.CompileTemplate(template)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := program.Eval(&env.Env); err != nil {
			b.Fatal(err)
		}
	}
}
