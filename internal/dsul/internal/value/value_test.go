package value_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"atelier/internal/dsul/internal/value"
)

func of(t *testing.T, text string) *value.Value {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	v, err := value.Of(&root)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"~": "null", "Null": "null", "": "null", "True": "true", "FALSE": "false", "tRue": `"tRue"`,
		"1": "1", "-0": "-0", "1.10": "1.10", "1e3": "1e3", "-1.5E-7": "-1.5E-7", "123456789012345678901234567890": "123456789012345678901234567890",
		"+1": "1", ".5": "0.5", "-.5": "-0.5", "5.": "5", "5.e1": "5e1", "0xfF": "255", "0o17": "15",
		"012": `"012"`, "-01": `"-01"`, "00": `"00"`, "1_000": `"1_000"`, "0b1": `"0b1"`, "0x": `"0x"`, "0x10000000000000000": `"0x10000000000000000"`, "0x_1": `"0x_1"`, "-0x1": `"-0x1"`, "1e": `"1e"`, "1.2.3": `"1.2.3"`, ".": `"."`,
		"+": `"+"`, "-": `[null]`, "+-1": `"+-1"`, ".inf": `".inf"`, ".nan": `".nan"`, "2001-01-01": `"2001-01-01"`, "12:30": `"12:30"`, "no": `"no"`, "<<": `"<<"`,
		"'1'": `"1"`, "!!str 1": `"1"`, "!!int '7'": "7", "!t 1": `"1"`, "|\n 1": `"1"`, "\"\\u2028<&>\\n\"": `"\u2028<&>\n"`,
	} {
		if got := string(of(t, text).AppendJSON(nil)); got != want {
			t.Errorf("%q is %s, not %s", text, got, want)
		}
	}
}

func TestCollections(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"b: 1\na: [x, {}]":                            `{"b":1,"a":["x",{}]}`,
		"a: &x {p: 1, q: 2}\nb: *x":                   `{"a":{"p":1,"q":2},"b":{"p":1,"q":2}}`,
		"a: &x {p: 1, q: 2}\nb: {r: 3, <<: *x, q: 4}": `{"a":{"p":1,"q":2},"b":{"r":3,"p":1,"q":4}}`,
		"a: &x {p: 1}\nb: {<<: [*x, {p: 5, s: 6}]}":   `{"a":{"p":1},"b":{"p":1,"s":6}}`,
		"\"<<\": {a: 1}":                              `{"<<":{"a":1}}`,
		"? [a, b]\n: c\n1: d\n~: e":                   `{"[\"a\",\"b\"]":"c","1":"d","~":"e"}`,
	} {
		if got := string(of(t, text).AppendJSON(nil)); got != want {
			t.Errorf("%q is %s, not %s", text, got, want)
		}
	}
}

func TestQuotedIsJSONAndYAML(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted := value.AppendQuoted(nil, text)
		var fromJSON, fromYAML string
		if err := errors.Join(json.Unmarshal(quoted, &fromJSON), yaml.Unmarshal(quoted, &fromYAML)); err != nil || fromJSON != text || fromYAML != text {
			t.Fatalf("%q became %s: %v", text, quoted, err)
		}
	})
}

func TestPathsBeyond(t *testing.T) {
	t.Parallel()
	v := of(t, "a: {b: [1, 2]}\nc: x\n")
	for path, want := range map[string]string{
		"a.b.0": `{"a":{"b":[2]},"c":"x"}`, "a.b": `{"a":{},"c":"x"}`, "c": `{"a":{"b":[1,2]}}`,
		"c.d": `{"a":{"b":[1,2]},"c":"x"}`, "a.b.2": `{"a":{"b":[1,2]},"c":"x"}`, "a.b.-": `{"a":{"b":[1,2]},"c":"x"}`, "z": `{"a":{"b":[1,2]},"c":"x"}`,
	} {
		if got := string(v.Without(strings.Split(path, ".")).AppendJSON(nil)); got != want {
			t.Errorf("without %s: %s, not %s", path, got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.Map(rapid.SampledFrom([]string{"a", "b", "c", "d"}), value.NewString), 0, 12)
		from, to := some.Draw(t, "from"), some.Draw(t, "to")
		last := value.Pair{From: -1, To: -1}
		paired := 0
		for _, pair := range value.Pairs(from, to) {
			if pair.From <= last.From || pair.To <= last.To || pair.From >= len(from) || pair.To >= len(to) {
				t.Fatalf("%v comes behind %v", pair, last)
			}
			last = pair
			paired++
		}
		if min(len(from), len(to)) > 0 && paired == 0 {
			t.Fatal("nothing is paired")
		}
	})
}
