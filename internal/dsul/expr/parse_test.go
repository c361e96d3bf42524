package expr_test

import (
	"errors"
	"strings"
	"testing"

	"atelier/internal/dsul/expr"
)

func TestGrammar(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		// values
		`-1.5e-3`: `-0.0015`, `0`: `0`, `-0`: `-0`, `007`: `"007"`, `1a`: `"1a"`, `1e`: `"1e"`, `1e5x`: `"1e5x"`, `1_000`: `"1_000"`,
		`1e999`: `+Inf`, `UNDEFINED`: `undefined`, `Null`: `null`, `False`: `false`, `'say "hi"'`: `"say \"hi\""`, "'a\nb'": `"a\nb"`,
		`"{{s}}"`: `"{{s}}"`, `"{% 1 %}"`: `"{% 1 %}"`, `trueish`: `"trueish"`, `nothing`: `"nothing"`, `order`: `"order"`, `"é"`: `"é"`,
		// variables
		`{{a}}`: `{{a}}`, `{{$index}}`: `{{$index}}`, `{{a.b[0]["x y"]['z']}}`: `{{a/b/#0/x y/z}}`, `{{a[01]}}`: `{{a/#1}}`, `{{a["01"]}}`: `{{a/01}}`,
		`{{a["1"].2}}`: `{{a/#1/#2}}`, `{{a[b]}}`: `{{a/b}}`, `{{a[{{b[{{c}}]}}].d}}`: `{{a/{{b/{{c}}}}/d}}`, `{{a["{{b}}"]}}`: `{{a/{{b}}}}`, `{{a[""]}}`: `{{a/}}`,
		`{{a[99999999999999999999]}}`: `{{a/99999999999999999999}}`,
		// arithmetic
		`1+1`: `[1 + 1]`, `1 + 2 * 3 - 4`: `[1 + [2 * 3] - 4]`, `1-1`: `[1 - 1]`, `1 -1`: `[1 - 1]`, `1--1`: `[1 - -1]`, `1 - - 1`: ``,
		`{{a}}*{{b}}/2%3`: `[{{a}} * {{b}} / 2 % 3]`, `(1+2)*(3)`: `[[1 + 2] * 3]`, `(({{a}})) + 1`: `[{{a}} + 1]`, `round(1)+1`: `[round(1) + 1]`,
		`-{{a}}`: ``, `"a" + 1`: ``, `1 + "a"`: ``, `1 + abc`: ``, `abc - 1`: ``, `1 + true`: ``, `true + 1`: ``, `(1 == 1) + 1`: ``, `1 + (1 == 1)`: ``,
		`1 + !1`: ``, `{% 1 %} * 2`: ``, `2 * {% 1 %}`: ``, `({% 1 %}) + 1`: ``, `("a") + 1`: ``, `1 +`: ``, `1 + + 1`: ``, `* 2`: ``, `({{a}} exists) + 1`: ``,
		// comparisons
		`1 < 2 < 3`: `[1 < 2 < 3]`, `1 + 1 >= 2`: `[[1 + 1] >= 2]`, `1 < 2 == true`: `[[1 < 2] == true]`, `1 = 1 and 2 = 2`: `[[1 == 1] and [2 == 2]]`,
		`a equals b`: `["a" == "b"]`, `a NOT  Equals b`: `["a" not equals "b"]`, `1 != 2`: `[1 !== 2]`, `1 !== 2`: `[1 !== 2]`, `1 === 2`: `[1 === 2]`,
		"1\t==\t1": `[1 == 1]`, `1<2`: ``, `1 <2`: ``, `1< 2`: ``, `1 =< 2`: ``, `1 <> 2`: ``, `1 ==== 2`: ``, `1 == `: ``, `== 1`: ``, `1 == == 2`: ``,
		`{{a}} in {{b}}`: `[{{a}} in {{b}}]`, `{{a}} not in "x,y"`: `[{{a}} not in "x,y"]`, `{{a}} in`: ``, `{{a}} not {{b}}`: ``, `{{a}} notin {{b}}`: ``,
		// exists
		`{{a}} exists`: `exists({{a}})`, `{{a}} not exists`: `missing({{a}})`, `{{a}} EXISTS or {{b}} Exists`: `[exists({{a}}) or exists({{b}})]`,
		`1 == {{a}} exists`: `[1 == exists({{a}})]`, `({{a}} exists) == true`: `[exists({{a}}) == true]`, `{{a}} exists == true`: ``, `exists`: ``, `{{a}}exists`: ``,
		`({{a}} exists)`: `exists({{a}})`, `{{a}} existsnot`: ``,
		// logic
		`a and b or c && d || e`: `["a" and "b" or "c" and "d" or "e"]`, `(a and b) or c`: `[["a" and "b"] or "c"]`, `a and(b)`: ``, `a &&b`: ``, `a & b`: ``,
		`and`: ``, `a and`: ``, `a and and b`: ``, `or a`: ``, `a AND b`: `["a" and "b"]`,
		// negation
		`!{{a}} == 1`: `[!{{a}} == 1]`, `!!a`: `!!"a"`, `! 1 + 2`: `![1 + 2]`, `not {{a}}`: `!{{a}}`, `NOT ({{a}} == 1)`: `![{{a}} == 1]`, `not(a)`: `!"a"`, `not not a`: `!!"a"`,
		`not !a`: `!!"a"`, `!not a`: `!!"a"`, `a and not b`: `["a" and !"b"]`, `not {{a}} in {{b}}`: `[!{{a}} in {{b}}]`, `not`: ``, `a not b`: ``, `!`: ``, `not and`: ``,
		// groups
		` ( 1 ) `: `1`, `()`: ``, `(1`: ``, `1)`: ``, `((1)`: ``, `{% {% 1 %} == 1 %}`: `[1 == 1]`, `{%1%}`: `1`, `{% 1`: ``, `{% 1 }`: ``, `{% 5 % 3 %}`: `[5 % 3]`, `(1 %}`: ``,
		// calls
		`date()`: `date()`, `date( )`: `date()`, `rand(1,2)`: `rand(1, 2)`, `rand( 1 , 2 )`: `rand(1, 2)`, `date({{d}}).year`: `date({{d}}).year`, `json({{a}}.b)`: ``,
		`round({{n}}/2, 1)`: `round([{{n}} / 2], 1)`, `isArray(!a)`: `isArray(!"a")`, `isArray(1 == 1)`: ``, `isArray((1 == 1))`: `isArray([1 == 1])`, `rand(1 2)`: ``,
		`rand(1,)`: ``, `rand(,1)`: ``, `rand(1`: ``, `rand(`: ``, `date(1).`: ``, `date(1). year`: ``, `date(1).a.b`: ``, `Date(1)`: ``, `now()`: ``, `md5("a")`: ``, `round (1)`: ``,
		`date({% 1 %})`: `date(1)`, `date(1).year+1`: `[date(1).year + 1]`, `true(1)`: ``, `in(1)`: ``,
		// regular expressions
		`{{s}} matches "a.c"`: `[{{s}} matches /a.c/]`, `{{s}} matches word`: `[{{s}} matches /word/]`, `{{s}} matches {{r}}`: `[{{s}} matches {{r}}]`, `a matches 1`: `["a" matches 1]`,
		`{{s}} matches regex(^a(b|c)$)`: `[{{s}} matches /^a(b|c)$/]`, `a matches REGEX(x) `: `["a" matches /x/]`, `a not matches regex('x y')`: `["a" not matches /x y/]`,
		`a matches regex(/x/i)`: `["a" matches /(?i)x/]`, `a matches regex("/x/gi")`: `["a" matches /(?i)x/]`, `a matches regex(^{{p}}$)`: `["a" matches /text("^" {{p}} "$")/]`,
		`a matches regex(\(x)`: `["a" matches /\(x/]`, `a matches regex(/usr/bin)`: `["a" matches //usr/bin/]`, `a matches regex(/x/q)`: `["a" matches //x/q/]`, `a matches "b" == true`: `["a" matches "b" == true]`,
		`1 == a matches regex(x)`: `[1 == "a" matches /x/]`, `b and a matches regex(x)`: `["b" and ["a" matches /x/]]`, `a matches regex(\u00e9[^])`: `["a" matches /\x{00e9}[\s\S]/]`,
		`a matches regex()`: ``, `a matches regex(x`: ``, `a matches regex(x) and b`: ``, `(a matches regex(x))`: ``, `a matches regex((x)`: ``, `a matches regex(x))`: ``,
		`a matches regex({{p})`: ``, `a matches "("`: ``, `a matches "(?=x)"`: ``, `a matches "(a)\1"`: ``, `regex(x)`: ``, `a == regex(x)`: ``,
		`date(regex(x))`: ``, `a matches "x{2000}"`: ``, `a matches "(x{100}){100}"`: ``,
		`replace({{s}}, regex(/(a)\)/g), "b")`: `replace({{s}}, /(a)\)/, "b")`, `replace(a, regex("x"), b) == c`: `[replace("a", /x/, "b") == "c"]`, `replace(a, regex(x`: ``,
		`replace(a, regex({{p}}+), b)`: `replace("a", /text({{p}} "+")/, "b")`,
		// nothing else
		``: ``, "  \t": ``, "1\n": ``, "\n1": ``, "1 ==\n1": ``, `1;2`: ``, `a = b ? c : d`: ``, `a | b`: ``, "`a`": ``, `// a`: ``, `a.b`: ``, `.5`: ``, `1.`: ``, `1.e5`: ``,
		`1.5.2`: ``, `1.5abc`: ``, `-a`: ``, `"a`: ``, `'a"`: ``, `"a""b"`: ``, `1 2`: ``, `{{a}}{{b}}`: ``, `{{a}} {{b}}`: ``, `{{}}`: ``, `{{a`: ``, `{{a}`: ``, `{{a.}}`: ``, `{{a..b}}`: ``,
		`{{.a}}`: ``, `{{[0]}}`: ``, `{{a[]}}`: ``, `{{a[-1]}}`: ``, `{{a[0}}`: ``, `{{a["b]}}`: ``, `{{a-b}}`: ``, `{{é}}`: ``, `{{a[{{b}}x]}}`: ``, `{{a.{{b}}}}`: ``, `{{a[ 0 ]}}`: ``,
		"\x00": ``, "\xff": ``, `é`: ``, `[1]`: ``, `{a: 1}`: ``, `json({"a":1})`: ``, `a$`: ``,
	} {
		node, err := expr.Parse(source)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is read as %s, want an error", source, show(node))
		case want != "" && err != nil:
			t.Errorf("%q: %v", source, err)
		case want != "" && show(node) != want:
			t.Errorf("%q is read as %s, want %s", source, show(node), want)
		case want == "" && className(err) != "InvalidExpressionSyntax":
			t.Errorf("%q: %v is not a syntax error", source, err)
		}
	}
}

// A message says where, and what is allowed there.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		source  string
		offset  int
		message string
	}{
		{`1==1`, 1, `== needs a space on both sides`},
		{`(a)and (b)`, 3, `and needs a space on both sides`},
		{`abc def`, 4, `a text of several words stands in quotes`},
		{`round (1)`, 6, `no space between the name of a function and its (`},
		{"1\n+ 1", 1, `found a line break where this was expected: an expression on one line`},
		{`"é" + 1`, 5, `only numbers, variables, functions`},
		{`now()`, 0, `unknown function 'now': the functions are URL,`},
		{`{{a b}}`, 3, `put other keys into quotes, as in {{a["b c"]}}`},
		{`{{a`, 3, `expected }}, found the end`},
		{`1 == and`, 5, `and is an operator`},
		{`[1]`, 0, `lists and objects cannot be written`},
		{`(1`, 2, `expected ), found the end`},
		{`max(1 > 2)`, 6, `a comparison as an argument of max() stands in parentheses`},
		{`a matches regex(x) and b`, 10, `must be the last thing`},
		{`a matches "(?=x)"`, 10, `look-around`},
		{`a matches regex(x\))`, 10, `\x29`},
		{`"a`, 0, `the text has no closing "`},
		{``, 0, `the expression is empty`},
		{strings.Repeat("(", 200), 100, `100 levels deep at most`},
		{strings.Repeat(" ", expr.MaxSource+1), 0, `at most 16384 bytes`},
	} {
		_, err := expr.Parse(test.source)
		var found *expr.SyntaxError
		if !errors.As(err, &found) {
			t.Errorf("%q: %v", test.source, err)
			continue
		}
		if found.Offset != test.offset || !strings.Contains(found.Message, test.message) || found.Source != test.source {
			t.Errorf("%q: at %d %s; want at %d %s", test.source, found.Offset, found.Message, test.offset, test.message)
		}
	}
	if _, err := expr.Parse(`"é" + 1`); err == nil || !strings.HasPrefix(err.Error(), "the expression is not valid at character 5:") {
		t.Errorf("characters are counted, not bytes: %v", err)
	}
}

// hostile are texts that ask for more than they are long.
func hostile() map[string]string {
	repeat := func(text string) string { return strings.Repeat(text, expr.MaxSource/len(text)) }
	return map[string]string{
		"parentheses": repeat("("), "closed parentheses": repeat("(")[:8000] + "1" + strings.Repeat(")", 8000), "negations": repeat("!"), "words": repeat("not "),
		"and": repeat("1 and ") + "1", "equals": repeat("a = "), "less": repeat("1 < "), "sum": repeat("1+"),
		"products": repeat("1*2+"), "variables": repeat("{{a["), "expressions": repeat("{%"), "calls": repeat("max("), "arguments": "max(" + repeat("1,")[:16000] + "1)",
		"quotes": repeat(`"`), "braces": repeat("{"), "blanks": repeat(" "), "regexes": repeat(`a matches regex(`), "exists": repeat("a exists "),
		"patterns": repeat(`a matches "(a{70}){70}" and `), "keys": "{{a" + repeat(".b")[:16000] + "}}", "not": repeat("a not "), "closing": "a matches regex(" + repeat(")")[:16000],
	}
}

// What needs more than linear time shows here: a parser that tries again at every level would never come back.
func TestHostileExpressions(t *testing.T) {
	t.Parallel()
	fine := map[string]bool{"and": true, "arguments": true, "keys": true}
	for name, source := range hostile() {
		if _, err := expr.Parse(source); (err == nil) != fine[name] {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A long row is fine: it is one flat node.
func TestLongRows(t *testing.T) {
	t.Parallel()
	for _, row := range []string{" and ", " or ", " == ", " < ", "+", "*"} {
		source := strings.Repeat("1"+row, 2000) + "1"
		node, err := expr.Parse(source)
		if err != nil {
			t.Errorf("%s: %v", row, err)
			continue
		}
		if chain, ok := node.(*expr.Chain); !ok || len(chain.Operands) != 2001 {
			t.Errorf("%s is a %T", row, node)
		}
	}
}

func TestFunctionsAreSorted(t *testing.T) {
	t.Parallel()
	names := expr.Functions()
	for i, name := range names {
		if i > 0 && names[i-1] >= name {
			t.Errorf("%s stands before %s", names[i-1], name)
		}
		if _, err := expr.Parse(name + "()"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVariablesOfAnExpression(t *testing.T) {
	t.Parallel()
	node, err := expr.Parse(`{{a.b}} == 1 and !({{secret.key}} exists) or max({{c[{{d}}].e}}, 1) > 2 and isArray("f.g") or {{x}} matches regex({{y}}+)`)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, v := range expr.Variables(node) {
		all = append(all, strings.Join(v.Static(), "/"))
		if v.Dynamic() != (v.Steps[0].Key == "c") {
			t.Errorf("%s is dynamic: %v", show(v), v.Dynamic())
		}
	}
	if got := strings.Join(all, " "); got != "a/b secret/key c d f/g x y" {
		t.Error(got)
	}
}

func TestWalkStops(t *testing.T) {
	t.Parallel()
	node, err := expr.Parse(`max({{a}}, {{b}}) == {{c}}`)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	expr.Walk(node, func(n expr.Node) bool {
		seen = append(seen, show(n))
		_, call := n.(*expr.Call)
		return !call
	})
	if got := strings.Join(seen[1:], " "); got != "max({{a}}, {{b}}) {{c}}" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range load(f).Evaluate {
		f.Add(v.Expr)
	}
	for _, source := range hostile() {
		f.Add(source[:min(len(source), 300)])
	}
	f.Fuzz(func(t *testing.T, source string) {
		node, err := expr.Parse(source)
		if err == nil {
			check(t, node, len(source))
			return
		}
		var found *expr.SyntaxError
		if !errors.As(err, &found) || found.Offset < 0 || found.Offset > len(source) || err.Error() == "" {
			t.Fatalf("%q: %v", source, err)
		}
	})
}

// check walks a tree: every place is inside the text.
func check(t *testing.T, node expr.Node, length int) {
	t.Helper()
	expr.Walk(node, func(n expr.Node) bool {
		if n.Pos() < 0 || n.Pos() > length {
			t.Fatalf("%s stands at %d of %d", show(n), n.Pos(), length)
		}
		return true
	})
	expr.Variables(node)
}

func BenchmarkParse(b *testing.B) {
	const source = `{{user.age}} >= 18 and ("admin" in {{user.roles}}) and date({{run.date}}).year - {{user.since}} > 2 or {{s}} matches "^a.*z$"`
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := expr.Parse(source); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, source := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				_, _ = expr.Parse(source)
			}
		})
	}
}
