package pattern_test

import (
	"strings"
	"testing"

	"atelier/internal/dsul/expr/internal/pattern"
)

func TestLiterals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		raw, text string
		want      bool
	}{
		{`a.c`, "xabcx", true},
		{`"a c"`, "a c", true},
		{`'x|y'`, "y", true},
		{`/A/i`, "a", true},
		{`"/A/i"`, "a", true},
		{`/a/`, "/", false},
		{`/`, "/", true},
		{`//`, "x", true},
		{`/usr/bin`, "/usr/bin", true},
		{`"`, `"`, true},
		{`"a'`, `"a'`, true},
		{`^a$`, "b\na", false},
		{`/^a$/m`, "b\na", true},
		{`/a.b/s`, "a\nb", true},
		{`/b/y`, "ab", false},
		{`/a|b/y`, "ab", true},
		{`/a/gu`, "a", true},
		{`\u00e9`, "é", true},
		{`\u{1F600}`, "😀", true},
		{`[\u00e0-\u00ff]`, "é", true},
		{`\/`, "/", true},
		{`\cJ`, "\n", true},
		{`[^]`, "\n", true},
		{`[^x]`, "x", false},
		{`(?<year>\d{4})`, "2022", true},
		{`\\u00e9`, `\u00e9`, true},
		{`\é`, "é", true},
	} {
		p, err := pattern.Literal(test.raw)
		if err != nil {
			if test.raw != `\é` { // RE2 has no such escape
				t.Errorf("%s: %v", test.raw, err)
			}
			continue
		}
		if got, err := p.Match(test.text); err != nil || got != test.want {
			t.Errorf("%s matches %q: %v, %v", test.raw, test.text, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for source, says := range map[string]string{
		`(`: "not valid", `a**`: "not valid", `[z-a]`: "not valid", `(?=a)`: "look-around", `(?!a)`: "look-around", `(?<=a)b`: "not available", `(a)\1`: "back-references", `\k<a>`: "back-references", `a{1001}`: "too large",
		`(a{1000}){1000}`: "too large", `((a{60}){60}){60}`: "too large", `(a{99}){99}`: "too large", `a{900}b{900}c{900}d{900}e{900}f{900}`: "smaller numbers", strings.Repeat("(", 1500): "at most 1024 bytes",
		strings.Repeat("a", pattern.MaxSource+1): "at most 1024 bytes", "\xff": "not valid", strings.Repeat("(", 500) + strings.Repeat(")", 500): "",
		strings.Repeat(`\pL`, 17): "at most 16 classes", `(?i)[\x{100}-\x{10ffff}]`: "too wide", `(?i)[\u0100-\uffff]`: "too wide", `(?i:[B-😀])`: "too wide", `(?s-i:x)(?i)[\101-\x{1ffff}]`: "too wide", `(?i)[é-\x{10ffff}]`: "too wide",
		`[\x{100}-\x{10ffff}]`: "", `(?i)[a-zà-ÿ0-9]-[\x41-\x5a]`: "", `(?i)[^\W\pL]`: "",
	} {
		_, err := pattern.Compile(source, "")
		if says == "" {
			if err != nil {
				t.Errorf("%.40s: %v", source, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 200 {
			t.Errorf("%.40s: %v, want %s", source, err, says)
		}
	}
	if _, err := pattern.Compile("a", "x"); err == nil {
		t.Error("x is a flag")
	}
}

// The estimate is never much less than what a pattern becomes.
func TestAffordable(t *testing.T) {
	t.Parallel()
	p, err := pattern.Compile(`(a+)+$`, "g")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Match(strings.Repeat("a", pattern.MaxSubject+1)); err == nil {
		t.Error("the text is too long")
	}
	large, err := pattern.Compile(`(\pL{1,200}) `, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := large.Match(strings.Repeat("a", 1<<19)); err == nil {
		t.Error("that costs too much")
	}
	if found, err := p.Find("aab aa", 10); err != nil || len(found) != 1 || found[0][0] != 4 {
		t.Error(found, err)
	}
	few, err := pattern.Compile(`a`, "g")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := few.Find("aaaa", 2); err != nil || len(found) != 2 {
		t.Error(found, err)
	}
}

func FuzzLiteral(f *testing.F) {
	for _, raw := range []string{`/a/i`, `"x|y"`, `\u00e9[^]`, `(a{10}){10}`, `(?=a)`, `\cA`, `[`} {
		f.Add(raw, "some text")
	}
	f.Fuzz(func(t *testing.T, raw, text string) {
		p, err := pattern.Literal(raw)
		if err != nil {
			return
		}
		if p.Size() < 1 || p.Size() > pattern.MaxSize {
			t.Fatalf("%q has size %d", raw, p.Size())
		}
		_, _ = p.Match(text)
	})
}
