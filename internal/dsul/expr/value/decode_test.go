package value_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/dsul/expr/value"
)

// same tells whether a text is read as the standard library reads it.
func same(t interface{ Fatalf(string, ...any) }, text string) {
	got, end, err := value.DecodePrefix(text)
	want, wantEnd, wantErr := value.Explain(text)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("%q: %v, want %v", text, err, wantErr)
	}
	if err == nil && (end != wantEnd || compact(got) != compact(want)) {
		t.Fatalf("%q: %s up to %d, want %s up to %d", text, compact(got), end, compact(want), wantEnd)
	}
}

// The parser reads what the standard library reads, up to the same place, and refuses the rest in the same words.
func TestDecodeAgrees(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`0`, `-0`, `01`, `-01`, `1.50`, `1.`, `.5`, `1e5`, `1E-5`, `1e`, `1e+`, `-`, `+1`, `12abc`, `1.5.3`, `truex`, `nullnull`, `"a"b`, `{} {}`, `[1] `, " \t\r\n1",
		`"é"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\"", "\"a\x00\"", "\"\x7f\"", `"\q"`, `"\u12"`, `"a\"b\\"`, `"a`, `"a\`, "{\"a\xff\":1}", `{"a":1,"a":2}`,
		`{"":{"":[]}}`, `[[],{}]`, `[1,,2]`, `{"a":1 "b":2}`, "\x00", "[\x00]", `1e400`, `-1e400`, strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat(`{"a":`, 101),
		`["` + strings.Repeat("long ", 1000) + `","short"]`,
	} {
		same(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		same(t, rapid.StringOf(rapid.SampledFrom([]rune("{}[]\",:\\ntrufalse0123.-+eE \né😀\u2028"))).Draw(t, "text"))
	})
	rapid.Check(t, func(t *rapid.T) {
		text := compact(draw(t, 3))
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		same(t, text[:at]+rapid.SampledFrom([]string{"", " ", "\"", ",", "}", "]", "\xff", "\\", "1"}).Draw(t, "more")+text[at:])
	})
}

// What is appended is what is written, and the limit is of what is appended.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := draw(t, 3)
		want := compact(v)
		limit := rapid.IntRange(0, len(want)+3).Draw(t, "limit")
		got, ok := value.AppendJSON([]byte("before"), v, limit)
		if ok != (len(want) <= limit) || ok && string(got) != "before"+want {
			t.Fatalf("%s, %t with a limit of %d; want %s", got, ok, limit, want)
		}
	})
}

func TestAppendNumber(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]float64{
		"0": math.Copysign(0, -1), "1": 1, "-1.5": -1.5, "1e+21": 1e21, "1.5e+300": 1.5e300, "1e+100": 1e100, "1e-7": 1e-7, "-1.25e-10": -1.25e-10, "1e-100": 1e-100,
		"100000000000000000000": 1e20, "0.000001": 1e-6, "NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
	} {
		if got := string(value.AppendNumber([]byte("n"), n)); got != "n"+want || value.FormatNumber(n) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// BenchmarkDecode reads a small body, as most are.
func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := value.Decode(`{"name":"world","items":[1,2.5,{"id":"é"}],"ok":true}`); err != nil {
			b.Fatal(err)
		}
	}
}
