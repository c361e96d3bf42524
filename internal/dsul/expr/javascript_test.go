package expr_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"atelier/internal/dsul/expr/value"
)

// javascript are results of a JavaScript engine: every operator between every two of some values, and what numbers and
// texts become.
type javascript struct {
	Values     []json.RawMessage
	Operations [][]json.RawMessage
	Numbers    [][]json.RawMessage
	Texts      [][]json.RawMessage
}

func loadJavaScript(t *testing.T) javascript {
	t.Helper()
	raw, err := os.ReadFile("testdata/javascript.json")
	if err != nil {
		t.Fatal(err)
	}
	var all javascript
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// decode reads a value as the files of results write it.
func decode(t testing.TB, raw json.RawMessage) any {
	t.Helper()
	switch string(raw) {
	case `{"$undefined":true}`:
		return value.Undefined{}
	case `{"$nan":true}`:
		return math.NaN()
	case `{"$inf":true}`:
		return math.Inf(1)
	case `{"$neginf":true}`:
		return math.Inf(-1)
	}
	v, err := value.Decode(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOperatorsAreThoseOfJavaScript(t *testing.T) {
	t.Parallel()
	all := loadJavaScript(t)
	env := world(t, "{}")
	var a, b any
	env.Lookup = func(name string) any {
		return map[string]any{"a": a, "b": b}[name]
	}
	comparisons := []string{"==", "===", "<", "<=", ">", ">="}
	for _, row := range all.Operations {
		var i, j int
		var bits string
		for k, into := range []any{&i, &j, &bits} {
			if err := json.Unmarshal(row[k], into); err != nil {
				t.Fatal(err)
			}
		}
		a, b = decode(t, all.Values[i]), decode(t, all.Values[j])
		if i == j {
			b = a // a list is itself
		}
		for k, op := range comparisons {
			got, err := evaluate("{{a}} "+op+" {{b}}", &env.Env)
			if err != nil || got != (bits[k] == '1') {
				t.Errorf("%s %s %s is %v, %v", all.Values[i], op, all.Values[j], got, err)
			}
			if opposite := map[string]string{"==": "not equals", "===": "!=="}[op]; opposite != "" {
				if got, err := evaluate("{{a}} "+opposite+" {{b}}", &env.Env); err != nil || got != (bits[k] == '0') {
					t.Errorf("%s %s %s is %v, %v", all.Values[i], opposite, all.Values[j], got, err)
				}
			}
		}
		for k, op := range strings.Split("+-*/%", "") {
			got, err := evaluate("{{a}} "+op+" {{b}}", &env.Env)
			want := decode(t, row[3+k])
			if err != nil || encode(got) != encode(want) {
				t.Errorf("%s %s %s is %v, %v, want %v", all.Values[i], op, all.Values[j], got, err, want)
			}
		}
	}
}

func TestNumbersAreThoseOfJavaScript(t *testing.T) {
	t.Parallel()
	all := loadJavaScript(t)
	for _, row := range all.Numbers {
		n, _ := decode(t, row[0]).(float64)
		if got := value.FormatNumber(n); got != decode(t, row[1]) {
			t.Errorf("%s is written %s, want %s", row[0], got, row[1])
		}
	}
	for _, row := range all.Texts {
		text, _ := decode(t, row[0]).(string)
		if got := encode(value.ParseNumber(text)); got != encode(decode(t, row[1])) {
			t.Errorf("%s is the number %s, want %s", row[0], got, row[1])
		}
	}
}
