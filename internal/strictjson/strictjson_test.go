package strictjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"atelier/internal/strictjson"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	cases := map[string]struct {
		doc string
		ok  bool
	}{
		"object":                {`{"a":1,"b":[true,false,null,"x",-0.5e+10]}`, true},
		"spaces":                {" \t\r\n{ } \n", true},
		"scalar":                {`"x"`, true},
		"escapes":               {`"\"\\\/\b\f\n\r\té"`, true},
		"surrogate pair":        {`"\ud83d\ude00"`, true},
		"depth 64":              {deep(64), true},
		"depth 65":              {deep(65), false},
		"depth 100000":          {deep(100000), false},
		"empty":                 {``, false},
		"nul":                   {`nul`, false},
		"open brace":            {`{`, false},
		"trailing comma":        {`{"a":1,}`, false},
		"trailing comma array":  {`[1,]`, false},
		"single quotes":         {`{'a':1}`, false},
		"comment":               {`{/* */}`, false},
		"byte order mark":       {"\xef\xbb\xbf{}", false},
		"garbage after":         {`{"a":1} garbage`, false},
		"two documents":         {`{}{}`, false},
		"duplicate":             {`{"name":"a","name":"b"}`, false},
		"duplicate escaped":     {`{"name":"a","n\u0061me":"b"}`, false},
		"duplicate after eight": {`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"c":2}`, false},
		"same key elsewhere":    {`{"a":{"a":1},"b":{"a":1}}`, true},
		"invalid utf-8":         {"\"\xff\"", false},
		"overlong":              {"\"\xc0\x80\"", false},
		"raw surrogate":         {"\"\xed\xa0\x80\"", false},
		"lone high surrogate":   {`"\ud800"`, false},
		"lone low surrogate":    {`"\udc00"`, false},
		"high then letter":      {`"\ud800a1234567"`, false},
		"zero":                  {`"\u0000"`, false},
		"control":               {"\"\n\"", false},
		"bad escape":            {`"\x41"`, false},
		"leading zero":          {`01`, false},
		"bare minus":            {`-`, false},
		"bare point":            {`1.`, false},
		"NaN":                   {`NaN`, false},
		"many members":          {"[" + strings.Repeat("1,", 100000) + "1]", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := strictjson.Check([]byte(c.doc), strictjson.Default())
			if (err == nil) != c.ok {
				t.Errorf("Check: %v, want ok=%v", err, c.ok)
			}
		})
	}
}

// Whatever we accept the standard decoder accepts too, and nothing of it is lost: no key comes twice, no text is repaired, no
// zero is in it, and it is not nested too deeply.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e3,"\ud83d\ude00"]}`, `[]`, `"x"`, `{"a":1,"a":2}`, `-0`, `1e400`, `{"a":1,"\u0061":2}`, `"\u0000"`, "\"\xff\"", `{"":{"":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if strictjson.Check(doc, strictjson.Default()) != nil {
			return
		}
		if !json.Valid(doc) || !utf8.Valid(doc) {
			t.Fatalf("accepted what the standard decoder refuses: %q", doc)
		}
		decoder := json.NewDecoder(bytes.NewReader(doc))
		decoder.UseNumber()
		readUnique(t, decoder, 0)
	})
}

// readUnique reads a value and checks what was promised of it.
func readUnique(t *testing.T, decoder *json.Decoder, depth int) {
	t.Helper()
	token, err := decoder.Token()
	if err != nil || depth > strictjson.Default().Depth {
		t.Fatalf("at depth %d: %v", depth, err)
	}
	if text, ok := token.(string); ok && strings.Contains(text, "\x00") {
		t.Fatalf("%q has a zero", text)
	}
	opening, ok := token.(json.Delim)
	if !ok {
		return
	}
	keys := map[any]bool{}
	for decoder.More() {
		if opening == '{' {
			key, err := decoder.Token()
			if err != nil || keys[key] {
				t.Fatalf("key %q again: %v", key, err)
			}
			keys[key] = true
		}
		readUnique(t, decoder, depth+1)
	}
	_, _ = decoder.Token()
}
