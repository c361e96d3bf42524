package expr_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"atelier/internal/dsul/expr"
)

// vectors are results observed on the reference engine.
type vectors struct {
	Evaluate    []vector
	Interpolate []vector
	Path        []struct {
		Path     string
		Expected []string
		Throws   string
	}
}

type vector struct {
	Group, Expr, Template, Throws string
	Context, Expected             json.RawMessage
	Options                       struct {
		UndefinedVars string
		EvalExpr      *bool
	}
}

func (v vector) source() string { return v.Expr + v.Template }

func (v vector) parse() (*expr.Template, error) {
	if v.Options.EvalExpr != nil && !*v.Options.EvalExpr {
		return expr.ParseVariables(v.Template)
	}
	return expr.ParseTemplate(v.Template)
}

// otherwise lists the vectors that the specification decides differently, with what is expected instead.
func otherwise() map[string]struct{ reason, expected string } {
	return map[string]struct{ reason, expected string }{
		`"x" matches regex("x|y")`: {"choice 4: matching outer quotes are not part of the pattern", `true`},
		`upper("a")`:               {"section 3.6 adds the function", `"A"`},
		`uuid()`:                   {"section 3.6 adds the function", `"00000000000040018000000000000002"`},
		"x {{tpl}}":                {"choice 6: data is never interpolated again", `"x {{s}}"`},
		"x {{tpl2}}":               {"choice 6: data is never interpolated again", `"x {% 1 + 1 %}"`},
	}
}

func load(t testing.TB) vectors {
	t.Helper()
	raw, err := os.ReadFile("testdata/expressions.json")
	if err != nil {
		t.Fatal(err)
	}
	var all vectors
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Evaluate) < 100 || len(all.Interpolate) < 30 || len(all.Path) < 10 {
		t.Fatal("the vectors are not complete")
	}
	return all
}

// className is what the language calls an error.
func className(err error) string {
	var syntax *expr.SyntaxError
	var path *expr.PathError
	var eval *expr.EvalError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &syntax), errors.As(err, &eval):
		return "InvalidExpressionSyntax"
	case errors.As(err, &path):
		return "InvalidVariableNameError"
	default:
		return err.Error()
	}
}

// Some errors show only when an expression runs: these vectors are read without one.
func TestVectorsAreRead(t *testing.T) {
	t.Parallel()
	onlyWhenRun := map[string]bool{`ceil({{s}})`: true, `split({{n}}, ",")`: true}
	all := load(t)
	for _, v := range all.Evaluate {
		want := v.Throws
		if _, ok := otherwise()[v.Expr]; ok || onlyWhenRun[v.Expr] {
			want = ""
		}
		if _, err := expr.Parse(v.Expr); className(err) != want {
			t.Errorf("%s: %q gives %v, want %q", v.Group, v.Expr, err, want)
		}
	}
	for _, v := range all.Interpolate {
		if _, err := v.parse(); className(err) != v.Throws {
			t.Errorf("%q gives %v, want %q", v.Template, err, v.Throws)
		}
	}
}

func TestVectorsOfPaths(t *testing.T) {
	t.Parallel()
	for _, v := range load(t).Path {
		steps, err := expr.ParsePath(v.Path)
		if className(err) != v.Throws {
			t.Errorf("%q gives %v, want %q", v.Path, err, v.Throws)
		}
		if len(steps) != len(v.Expected) {
			t.Errorf("%q has %d steps, want %d", v.Path, len(steps), len(v.Expected))
			continue
		}
		for i, step := range steps {
			if step.Key != v.Expected[i] {
				t.Errorf("step %d of %q is %q, want %q", i, v.Path, step.Key, v.Expected[i])
			}
		}
	}
}
