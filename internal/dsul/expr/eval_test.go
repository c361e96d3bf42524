package expr_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

// world gives expressions some variables, a time that stands still, and random numbers that count.
func world(t testing.TB, variables string) *environment {
	t.Helper()
	v, err := value.Decode(variables)
	if err != nil {
		t.Fatal(err)
	}
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	var drawn uint64
	return &environment{Env: expr.Env{
		Lookup: func(name string) any { return value.Get(v, name) },
		Now:    func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		Random: func() uint64 { drawn++; return drawn },
		Locale: "en", Zone: paris, Zones: time.LoadLocation,
	}}
}

type environment struct{ expr.Env }

// eval returns the value of an expression as the vectors write it.
func (e *environment) eval(source string) (string, error) {
	v, err := evaluate(source, &e.Env)
	if err != nil {
		return "", err
	}
	return encode(v), nil
}

// text returns the value of a template as the vectors write it.
func (e *environment) text(source string) (string, error) {
	template, err := expr.ParseTemplate(source)
	if err != nil {
		return "", err
	}
	v, err := interpolate(template, false, &e.Env)
	if err != nil {
		return "", err
	}
	return encode(v), nil
}

// encode writes a value as the vectors do.
func encode(v any) string {
	switch v := v.(type) {
	case value.Undefined:
		return `{"$undefined":true}`
	case float64:
		if math.IsNaN(v) {
			return `{"$nan":true}`
		}
		if math.IsInf(v, 1) {
			return `{"$inf":true}`
		}
		if math.IsInf(v, -1) {
			return `{"$neginf":true}`
		}
	}
	text, _ := value.JSON(v, "", 1<<20)
	return text
}

func compact(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	v, err := value.Decode(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := value.JSON(v, "", 1<<20)
	return text
}

func evaluate(source string, env *expr.Env) (any, error) {
	node, err := expr.Parse(source)
	if err != nil {
		return nil, err
	}
	program, err := expr.Compile(node)
	if err != nil {
		return nil, err
	}
	return program.Eval(env)
}

func interpolate(template *expr.Template, known bool, env *expr.Env) (any, error) {
	compile := expr.CompileTemplate
	if known {
		compile = expr.CompileKnown
	}
	program, err := compile(template)
	if err != nil {
		return nil, err
	}
	return program.Eval(env)
}

func (v vector) run(t testing.TB) (any, error) {
	env := world(t, string(v.Context))
	if v.Expr != "" {
		return evaluate(v.Expr, &env.Env)
	}
	template, err := v.parse()
	if err != nil {
		return nil, err
	}
	return interpolate(template, v.Options.UndefinedVars == "leave", &env.Env)
}

func TestVectors(t *testing.T) {
	t.Parallel()
	all := load(t)
	differing := 0
	for _, v := range append(all.Evaluate, all.Interpolate...) {
		want, throws := "", v.Throws
		if throws == "" {
			want = compact(t, v.Expected)
		}
		if other, ok := otherwise()[v.source()]; ok {
			want, throws = other.expected, ""
			differing++
		}
		got, err := v.run(t)
		switch {
		case className(err) != throws:
			t.Errorf("%s: %s gives %v, want %q", v.Group, v.source(), err, throws)
		case err == nil && encode(got) != want:
			t.Errorf("%s: %s is %s, want %s", v.Group, v.source(), encode(got), want)
		}
	}
	if differing != len(otherwise()) {
		t.Errorf("%d vectors are decided differently, %d are listed", differing, len(otherwise()))
	}
}
