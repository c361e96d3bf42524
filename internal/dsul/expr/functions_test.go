package expr_test

import (
	"strings"
	"testing"
)

const sample = `{
	"s": "hello", "n": 3, "e": "", "nl": null, "t": true, "arr": ["a", "b", 3], "o": {"k": 1, "x-y": 2, "nested": {"z": [{"q": 9}]}}, "list": [3, "10", 2], "empty": [],
	"emoji": "a😀b", "html": "<b>é 😀</b>", "d": "2022-04-13T08:04:05.493Z", "ms": 1649837045493, "text": "the answer [see below] is {\"a\": [1, 2]} or so", "broken": "{\"a\":",
	"q": {"a": "1 & 2", "b": "é*~", "c": [1, 2], "d": null}, "path": "nested.z", "key": "k", "name": "o", "secretName": "secret", "secretPath": "secret.x", "secret": {"x": "hidden"}, "tpl": "{{s}} {% 1 %}",
	"a1": {"x": 1, "l": [1], "s": "a", "o": {"p": 1}}, "a2": {"y": 2, "l": [2], "s": "b", "o": {"q": 2}}, "concat": {"concatStrings": true}, "p": "l+", "flags": ["/HELLO/i"], "two": ["/HELLO/i", "x"],
	"people": {"age": 30, "name": "Ann", "tags": ["x", "y"], "pets": [{"kind": "cat", "age": 2}, {"kind": "dog", "age": 7}], "address": {"city": "Paris"}, "none": null, "__proto__": 5}
}`

// Each line is an expression and its value, or "error: " and a part of the message.
func TestFunctions(t *testing.T) {
	t.Parallel()
	env := world(t, sample)
	for source, want := range map[string]string{
		// numbers
		`round(-2.5)`: `-2`, `round(2.4999)`: `2`, `round(0.49999999999999994)`: `0`, `round(1.255,2)`: `1.25`, `round(1234,-2)`: `1200`, `floor(-1.5)`: `-2`, `floor(1.29,1)`: `1.2`, `ceil(1.21,1)`: `1.3`,
		`round("2")`: `error: round(): argument 1 must be a number, not a text`, `floor({{u}})`: `error: not undefined`, `ceil(1, "x")`: `error: argument 2`, `round(null)`: `error: not null`,
		`min(3, 1, 2)`: `1`, `max({{list}})`: `10`, `min({{list}}, 1)`: `1`, `max()`: `{"$undefined":true}`, `max({{empty}})`: `{"$undefined":true}`, `max(1, {{s}})`: `{"$nan":true}`,
		`number("12px")`: `12`, `number(" -7.9")`: `-7`, `number(3.7)`: `3`, `number("x")`: `{"$nan":true}`, `number({{u}})`: `{"$nan":true}`, `number("+-1")`: `{"$nan":true}`, `number("-+1")`: `{"$nan":true}`,
		`rand(5,6)`: `5`, `rand(5,5)`: `5`, `rand(1)`: `error: argument 2`, `isNumber(1)`: `true`, `isNumber("1")`: `false`, `isNumber(1/0)`: `true`,
		// texts
		`split("a,b,,c",",")`: `["a","b","","c"]`, `split("","")`: `[]`, `split("",",")`: `[""]`, `split({{emoji}},"")`: `["a","😀","b"]`, `split("a")`: `error: argument 2 must be a text, not undefined`,
		`join({{arr}}, "-")`: `"a-b-3"`, `join({{arr}})`: `"a,b,3"`, `join("a", ",")`: `error: argument 1 must be a list`, `join({{arr}}, 1)`: `error: argument 2`,
		`replace("aaa", "a", "b")`: `"baa"`, `replace("abc", "", "x")`: `"xabc"`, `replace("a.c", ".", "$&")`: `"a$&c"`, `replace({{n}}, 1, 2)`: `error: argument 1 must be a text`,
		`replace("abc", 1, 2)`: `error: a text or regex`, `replace("aXbX", regex(X), "-")`: `"a-bX"`, `replace("aXbX", regex(/x/gi), "-")`: `"a-b-"`, `replace("John Smith", regex((\w+) (\w+)), "$2 $1, $& $$ $3 $")`: `"Smith John, John Smith $ $3 $"`,
		`replace("abc", regex(/(x)?b/), "[$1]")`: `"a[]c"`, `replace("aaa", regex("a*?"), "b")`: `"baaa"`, `replace("aaa", regex(/{{p}}/g), 1)`: `"aaa"`, `replace({{s}}, regex(/{{p}}/g), 1)`: `"he1o"`,
		`slice("hello", 1, 3)`: `"el"`, `slice("hello", -3)`: `"llo"`, `slice("hello", 3, 1)`: `""`, `slice("hello", -99, 99)`: `"hello"`, `slice({{emoji}}, 1, 3)`: `"😀"`, `slice({{arr}}, 0, -1)`: `["a","b"]`,
		`slice({{arr}}, 1.9)`: `["b",3]`, `slice("a", "0")`: `error: argument 2`, `slice(1, 0)`: `error: a list or a text`, `slice({{arr}}, 0, null)`: `error: argument 3`, `slice({{arr}}, 0/0)`: `["a","b",3]`,
		`lower("ÀB")`: `"àb"`, `upper({{s}})`: `"HELLO"`, `upper(1)`: `"1"`, `upper({{u}})`: `{"$undefined":true}`, `lower({{o}})`: `error: argument 1 must be a text, not an object`,
		`truncate("hello world", 8)`: `"hello..."`, `truncate("hello", 8)`: `"hello"`, `truncate("hello world", 8, "…")`: `"hello w…"`, `truncate("hello", 2)`: `"..."`, `truncate("1234567890123456789012345678901")`: `"123456789012345678901234567..."`,
		`sanitize({{html}})`: `"&#60;b&#62;é &#60;/b&#62;"`, `isString("a")`: `true`, `isString({{n}})`: `false`, `isString(s)`: `true`,
		`base64("é")`: `"w6k="`, `base64({{o.nested}})`: `"eyJ6IjpbeyJxIjo5fV19"`, `base64({{u}})`: `{"$undefined":true}`,
		// JSON
		`json("[1, {\"a\": null}")`: `error: `, `json({{broken}})`: `error: json(): the text is not JSON: the JSON ends too early`, `json("1 2")`: `error: something follows`, `json('{"b":1,"a":[true,null]}')`: `{"b":1,"a":[true,null]}`,
		`json({{u}})`: `{"$undefined":true}`, `json({{nl}})`: `"null"`, `json(true)`: `"true"`, `json('[1,]')`: `error: not JSON`, `json("")`: `error: ends too early`, `json('{"a":1,"a":2}')`: `{"a":2}`, `json(1/0)`: `"null"`,
		`unsafejson({{text}})`: `{"a":[1,2]}`, `unsafejson("nothing")`: `{"$undefined":true}`, `unsafejson("[[")`: `{"$undefined":true}`, `unsafejson('"x"')`: `"x"`, `unsafejson({{o}})`: `{"k":1,"x-y":2,"nested":{"z":[{"q":9}]}}`,
		// kinds
		`isArray({{arr}})`: `true`, `isArray("arr")`: `true`, `isArray("o.nested.z")`: `true`, `isArray("o")`: `false`, `isArray({{s}})`: `false`, `isArray("a..b")`: `false`, `isObject("o")`: `true`, `isObject("s")`: `false`,
		`isObject({{arr}})`: `true`, `isObject({{u}})`: `false`, `isObject("nl")`: `true`,
		// merging
		`deepmerge({{a1}}, {{a2}})`: `{"x":1,"l":[1,2],"s":"b","o":{"p":1,"q":2},"y":2}`, `deepmerge({{a1}}, {{a2}}, {{concat}})`: `{"x":1,"l":[1,2],"s":"ab","o":{"p":1,"q":2},"y":2}`, `deepmerge({{a1}}, {{u}})`: `{"x":1,"l":[1],"s":"a","o":{"p":1}}`,
		`deepmerge({{u}}, {{a2}})`: `{"y":2,"l":[2],"s":"b","o":{"q":2}}`, `deepmerge({{a1}}, 5)`: `5`,
		// addresses
		`URLSearchParams({{q}})`: `"a=1+%26+2&b=%C3%A9*%7E&c=1%2C2&d=null"`, `URLSearchParams("?a=1&b=x+y%21&a=2&c&&%zz=%e9").asJSON`: `{"a":"2","b":"x y!","c":"","%zz":"�"}`, `URLSearchParams("a=b c").asString`: `"a=b+c"`,
		`URLSearchParams({{u}}).asString`: `{"$undefined":true}`, `URLSearchParams({{arr}}).asJSON`: `{"$undefined":true}`,
		`URL("HTTPS://user:p%40ss@Exämple.com:443/a b?x=1&y=2#top").href`: `"https://user:p%40ss@xn--exmple-cua.com/a%20b?x=1&y=2#top"`, `URL("http://a.com")`: `"http://a.com/"`, `URL("http://a.com:8080/x").host`: `"a.com:8080"`,
		`URL("http://a.com:8080/x").hostname`: `"a.com"`, `URL("http://a.com:8080/x").port`: `"8080"`, `URL("http://a.com:80/x").port`: `""`, `URL("https://a.com/x?y=1#z").origin`: `"https://a.com"`, `URL("https://a.com/x?y=1#z").protocol`: `"https:"`,
		`URL("https://u:p@a.com").username`: `"u"`, `URL("https://u:p@a.com").password`: `"p"`, `URL("https://a.com/x/y?y=1#z").pathname`: `"/x/y"`, `URL("https://a.com/x?y=1#z").search`: `"?y=1"`, `URL("https://a.com/x?y=1#z").hash`: `"#z"`,
		`URL("https://a.com/?y=1&z=a+b").searchParams`: `{"y":"1","z":"a b"}`, `URL("mailto:x@y.z").pathname`: `"x@y.z"`, `URL("mailto:x@y.z").origin`: `"null"`, `URL("/relative")`: `{"$undefined":true}`, `URL("https://")`: `{"$undefined":true}`,
		`URL("https://a.com").nothing`: `{"$undefined":true}`, `URL({{u}})`: `{"$undefined":true}`, `URL("http://[::1]:99/").hostname`: `"[::1]"`, `URL("http://[::1]:99/").host`: `"[::1]:99"`,
		// dates
		`date({{d}}).day`: `3`, `date({{d}}).date`: `13`, `date({{d}}).month`: `4`, `date({{d}}).year`: `2022`, `date({{d}}).hour`: `8`, `date({{d}}).minute`: `4`, `date({{d}}).second`: `5`, `date({{d}}).ts`: `1649837045493`,
		`date({{ms}}).iso`: `"2022-04-13T08:04:05.493Z"`, `date()`: `{"$nan":true}`, `date("x").year`: `{"$nan":true}`, `date(null)`: `0`, `date({{o}})`: `{"$nan":true}`, `date({{d}}, "LLLL")`: `"Wednesday, April 13, 2022 10:04 AM"`,
		`date({{d}}, "LLLL", "fr")`: `"mercredi 13 avril 2022 10:04"`, `date({{d}}, "LT", "fr-FR", "UTC")`: `"08:04"`, `date({{d}}, "L", "xx")`: `{"$undefined":true}`, `date({{d}}, "L", {{u}}, "Mars/Base")`: `error: argument 4`,
		`date({{d}}, "L", "en", "../../etc/passwd")`: `error: argument 4`, `date("x", "L")`: `"Invalid Date"`, `date({{d}}, "")`: `1649837045493`, `date({{d}}, "H", null, "Asia/Tokyo")`: `"17"`,
		`elapsed("2026-03-01T11:00:00Z", "hour", 1)`: `true`, `elapsed("2026-03-01T11:00:01Z", "hours", 1)`: `false`, `elapsed("2026-02-01T12:00:00Z", "month")`: `true`, `elapsed("2025-03-01T12:00:01Z", "years", 1)`: `false`, `elapsed("x", "day", 1)`: `false`,
		`elapsed({{d}}, "fortnight", 1)`: `error: argument 2 must be`, `elapsed({{d}}, "day", "1")`: `error: argument 3`,
		// other fields are not for other functions
		`round(1.5).x`: `2`, `split("a,b", ",").length`: `["a","b"]`,
	} {
		checkValue(t, env, source, want)
	}
}

func checkValue(t *testing.T, env *environment, source, want string) {
	t.Helper()
	got, err := env.eval(source)
	message, fails := strings.CutPrefix(want, "error: ")
	switch {
	case fails && (err == nil || !strings.Contains(err.Error(), message)):
		t.Errorf("%s gives %s, %v, want an error: %s", source, got, err, message)
	case !fails && err != nil:
		t.Errorf("%s: %v", source, err)
	case !fails && got != want:
		t.Errorf("%s is %s, want %s", source, got, want)
	}
}

func TestJSONMatch(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		`{}`: `true`, `{"age": 30}`: `true`, `{"age": "30"}`: `false`, `{"age": {"$eq": 30}, "name": "Ann"}`: `true`, `{"age": 30, "name": "Bob"}`: `false`, `{"age": {"$ne": 30}}`: `false`, `{"missing": {"$ne": 1}}`: `true`,
		`{"age": {"$gt": 29, "$lt": 31}}`: `true`, `{"age": {"$gte": 30, "$lte": 30}}`: `true`, `{"age": {"$gt": 30}}`: `false`, `{"age": {"$lt": "31"}}`: `false`, `{"missing": {"$lt": 5}}`: `false`, `{"name": {"$gt": "Al"}}`: `true`,
		`{"tags": "x"}`: `true`, `{"tags": ["x", "y"]}`: `true`, `{"tags": ["y", "x"]}`: `false`, `{"tags": {"$in": ["z", "y"]}}`: `true`, `{"tags": {"$nin": ["z"]}}`: `true`, `{"age": {"$in": [30]}}`: `true`, `{"age": {"$in": 30}}`: `error: need a list`,
		`{"tags": {"$all": ["x", "y"]}}`: `true`, `{"tags": {"$all": ["x", "z"]}}`: `false`, `{"tags": {"$size": 2}}`: `true`, `{"age": {"$size": 2}}`: `false`, `{"name": {"$all": ["Ann"]}}`: `false`,
		`{"name": {"$regex": "^a", "$options": "i"}}`: `true`, `{"name": {"$regex": "^a"}}`: `false`, `{"tags": {"$regex": "y"}}`: `true`, `{"name": {"$regex": "("}}`: `error: not valid`, `{"name": {"$regex": "a", "$options": "q"}}`: `error: not a flag`,
		`{"pets": {"$elemMatch": {"kind": "dog", "age": {"$gt": 5}}}}`: `true`, `{"pets": {"$elemMatch": {"kind": "cat", "age": {"$gt": 5}}}}`: `false`, `{"tags": {"$elemMatch": {"$eq": "y"}}}`: `true`,
		`{"pets": {"$elemMatch": {"$or": [{"kind": "bird"}, {"age": 7}]}}}`: `true`, `{"pets.kind": "dog"}`: `true`, `{"pets.0.kind": "cat"}`: `true`, `{"pets.1.kind": "cat"}`: `false`, `{"address.city": "Paris"}`: `true`, `{"address": {"city": "Paris"}}`: `true`,
		`{"address.city.x": {"$exists": false}}`: `true`, `{"age": {"$exists": true}}`: `true`, `{"missing": {"$exists": false}}`: `true`, `{"none": {"$exists": true}}`: `true`, `{"none": null}`: `true`, `{"missing": null}`: `true`, `{"age": null}`: `false`,
		`{"age": {"$mod": [7, 2]}}`: `true`, `{"age": {"$mod": [0, 0]}}`: `false`, `{"age": {"$mod": [7]}}`: `error: two numbers`, `{"age": {"$not": {"$gt": 31}}}`: `true`, `{"age": {"$not": {"$gt": 29}}}`: `false`,
		`{"$and": [{"age": 30}, {"name": "Ann"}]}`: `true`, `{"$or": [{"age": 1}, {"name": "Ann"}]}`: `true`, `{"$or": []}`: `false`, `{"$nor": [{"age": 1}, {"name": "Bob"}]}`: `true`, `{"$nor": [{"age": 30}]}`: `false`,
		`{"$and": {"age": 30}}`: `error: list of conditions`, `{"$or": [5]}`: `error: list of conditions`, `{"$where": "x"}`: `error: $where is not known`, `{"age": {"$foo": 1}}`: `error: $foo is not an operator`,
		`{"constructor": {"$exists": false}}`: `true`, `{"__proto__": 5}`: `true`, `{"tags.length": {"$exists": false}}`: `true`,
		`{"age":` + strings.Repeat(`{"$not":`, 60) + `1` + strings.Repeat(`}`, 60) + `}`: `error: 50 deep at most`,
	} {
		env := world(t, strings.TrimSuffix(sample, "}")+`, "c": `+condition+`}`)
		checkValue(t, env, `jsonmatch({{people}}, {{c}})`, want)
	}
	env := world(t, sample)
	for source, want := range map[string]string{`jsonmatch({{nl}}, {{o}})`: `false`, `jsonmatch({{arr}}, {{o}})`: `false`, `jsonmatch({{o}}, 5)`: `error: conditions`, `jsonmatch({{o}})`: `error: conditions`} {
		checkValue(t, env, source, want)
	}
}

// What is random comes from the environment, and nowhere else.
func TestRandom(t *testing.T) {
	t.Parallel()
	env := world(t, "{}")
	for _, want := range []string{`"00000000000040018000000000000002"`, `"00000000000040038000000000000004"`} {
		checkValue(t, env, `uuid()`, want)
	}
	for bits, want := range map[uint64]string{0: `[0,10]`, 1 << 63: `[0.5,15]`, ^uint64(0): `[0.9999999999999999,19]`} {
		env.Random = func() uint64 { return bits }
		low, err := env.eval(`rand()`)
		if err != nil {
			t.Fatal(err)
		}
		high, err := env.eval(`rand(10,20)`)
		if got := "[" + low + "," + high + "]"; err != nil || got != want {
			t.Errorf("%x gives %s, %v, want %s", bits, got, err, want)
		}
	}
}
