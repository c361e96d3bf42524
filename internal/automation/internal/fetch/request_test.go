package fetch_test

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"line": r.Method + " " + r.RequestURI, "type": r.Header.Get("Content-Type"), "body": string(body), "one": r.Header.Values("X-One"),
		"host": r.Host, "encoding": r.Header.Get("Accept-Encoding"), "upgrade": r.Header.Get("Upgrade"),
	})
}

func TestRequests(t *testing.T) {
	t.Parallel()
	base := serve(t, echo)
	c := client(t, nil)
	for name, test := range map[string]struct{ parameters, path, key, want string }{
		"the default is GET":            {`{}`, "/a", "line", "GET /a"},
		"a method in small letters":     {`{"method":"post"}`, "/", "line", "POST /"},
		"query is appended":             {`{"query":{"b":[1,"x y",null],"c":true,"d":null,"e":{"f":1}}}`, "/?a=1", "line", "GET /?a=1&b=1&b=x+y&c=true&e=%7B%22f%22%3A1%7D"},
		"query alone":                   {`{"query":{"a":1}}`, "/p", "line", "GET /p?a=1"},
		"what texts put into a url":     {`{}`, "/ü b?q=a b|c#top", "line", "GET /%C3%BC%20b?q=a%20b%7Cc"},
		"JSON is the default":           {`{"method":"POST","body":{"a":[1,null]}}`, "/", "body", `{"a":[1,null]}`},
		"and its type":                  {`{"method":"POST","body":{"a":1}}`, "/", "type", "application/json"},
		"a type that is given stays":    {`{"method":"POST","headers":{"content-type":"application/vnd.x+json"},"body":{"a":1}}`, "/", "type", "application/vnd.x+json"},
		"a form":                        {`{"method":"POST","headers":{"Content-Type":"application/x-www-form-urlencoded; charset=utf-8"},"body":{"a":"x&y","b":[1,2]}}`, "/", "body", "a=x%26y&b=1&b=2"},
		"a text is sent as it is":       {`{"method":"PUT","body":"plain {text}"}`, "/", "body", "plain {text}"},
		"a number is JSON":              {`{"method":"POST","body":0}`, "/", "body", "0"},
		"no body, no type":              {`{"method":"POST"}`, "/", "type", ""},
		"GET has no body":               {`{"body":{"a":1}}`, "/", "body", ""},
		"the host may be repeated":      {`{"headers":{"upgrade":"h2c","connection":"upgrade"}}`, "/", "upgrade", ""},
		"compression is the client's":   {`{"headers":{"accept-encoding":"br, gzip"}}`, "/", "encoding", "gzip"},
		"unless there is none":          {`{"headers":{"accept-encoding":"identity"}}`, "/", "encoding", "identity"},
		"a fragment is not sent":        {`{}`, "/x#y", "line", "GET /x"},
		"empty parameters say nothing":  {`{"method":"","query":"","headers":null,"outputMode":""}`, "/", "line", "GET /"},
		"a body that is null is none":   {`{"method":"POST","body":null}`, "/", "type", ""},
		"a query of a url that has ?":   {`{"query":{"a":"é"}}`, "/?", "line", "GET /?a=%C3%A9"},
		"DELETE with a body":            {`{"method":"delete","body":{"id":1}}`, "/", "body", `{"id":1}`},
		"a body that is false is there": {`{"method":"POST","body":false}`, "/", "body", "false"},
	} {
		got, err := c.Try(t.Context(), with(parse(t, test.parameters), "url", base+test.path), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if have := value.Get(got, test.key); have != test.want {
			t.Errorf("%s: %s is %q, want %q", name, test.key, have, test.want)
		}
	}
	got, err := c.Try(t.Context(), with(parse(t, `{"headers":{"x-one":["a", 2, null], "x-none": null}}`), "url", base), nil)
	if err != nil || written(value.Get(got, "one")) != `["a","2"]` {
		t.Errorf("a header with a list: %s %v", written(got), err)
	}
}

func TestWrongParameters(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	for name, text := range map[string]string{
		"no url":                   `{}`,
		"an empty url":             `{"url":"  "}`,
		"a url that is no text":    `{"url":{"a":1}}`,
		"a relative url":           `{"url":"/a"}`,
		"a url without a host":     `{"url":"https:///a"}`,
		"another scheme":           `{"url":"file:///etc/passwd"}`,
		"gopher":                   `{"url":"gopher://example.com/_x"}`,
		"a line break in the url":  `{"url":"http://127.0.0.1/\r\nHost: x"}`,
		"a backslash in the url":   `{"url":"http://127.0.0.1\\@example.com/"}`,
		"a password in the url":    `{"url":"http://u:p@127.0.0.1/"}`,
		"a wrong escape":           `{"url":"http://127.0.0.1/%zz"}`,
		"a url that is too long":   `{"url":"http://127.0.0.1/` + strings.Repeat("a", 9000) + `"}`,
		"a made-up method":         `{"url":"http://127.0.0.1/","method":"GET / HTTP/1.1\r\nX: y"}`,
		"CONNECT":                  `{"url":"http://127.0.0.1/","method":"CONNECT"}`,
		"a method that is a list":  `{"url":"http://127.0.0.1/","method":["GET"]}`,
		"headers that are a list":  `{"url":"http://127.0.0.1/","headers":[1]}`,
		"a line break in a header": `{"url":"http://127.0.0.1/","headers":{"x":"a\r\nb: c"}}`,
		"a line feed in a header":  `{"url":"http://127.0.0.1/","headers":{"x":"a\nb"}}`,
		"a line break in a name":   `{"url":"http://127.0.0.1/","headers":{"x\r\ny":"a"}}`,
		"a space in a name":        `{"url":"http://127.0.0.1/","headers":{"x y":"a"}}`,
		"another host":             `{"url":"http://127.0.0.1/","headers":{"Host":"internal"}}`,
		"an unknown outputMode":    `{"url":"http://127.0.0.1/","outputMode":"xml"}`,
		"a query that is a list":   `{"url":"http://127.0.0.1/","query":[1]}`,
		"parts without a name":     `{"url":"http://127.0.0.1/","method":"POST","multipart":[{"value":"a"}]}`,
		"parts that are no list":   `{"url":"http://127.0.0.1/","method":"POST","multipart":{"a":1}}`,
		"a type with a line break": `{"url":"http://127.0.0.1/","method":"POST","multipart":[{"fieldname":"a","value":"a","contentType":"x\r\ny"}]}`,
		"bytes that are none":      `{"url":"http://127.0.0.1/","method":"POST","multipart":[{"fieldname":"a","value":[256]}]}`,
		"a path that is none":      `{"url":"http://127.0.0.1/","stream":{"event":"x","concatenate":{"path":"a[["}}}`,
		"headers without end":      `{"url":"http://127.0.0.1/","headers":{"x":"` + strings.Repeat("a", 70_000) + `"}}`,
	} {
		_, err := c.Try(t.Context(), parse(t, text), nil)
		if err == nil {
			t.Errorf("%s: the fetch was done", name)
			continue
		}
		t.Run(name, func(t *testing.T) { wantFailure(t, err, machine.InvalidInstruction, "") })
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	parts := parse(t, `{"parts":[
		{"fieldname":"text","value":"test"}, {"fieldname":"number","value":7}, {"fieldname":"object","value":{"a":1}},
		{"fieldname":"file","value":"aGVsbG8=","filename":"a.txt"}, {"fieldname":"typed","value":"aGVsbG8=","contentType":"text/plain"},
		{"fieldname":"plain","value":"not base64!","filename":"b.txt"}, {"fieldname":"true","value":"true","filename":"c"},
		{"fieldname":"bytes","value":[0,255,7],"filename":"d.bin","contentType":"application/x-d"},
		{"fieldname":"e\"\r\nX: y","value":"v","filename":"f\"\n.txt"}]}`)
	kind, body, err := fetch.Multipart(parts.Get("parts"))
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(kind)
	if err != nil {
		t.Fatal(err)
	}
	reader := multipart.NewReader(strings.NewReader(body), parameters["boundary"])
	for _, want := range []struct{ name, file, kind, content string }{
		{"text", "", "", "test"},
		{"number", "", "", "7"},
		{"object", "", "", `{"a":1}`},
		{"file", "a.txt", "application/octet-stream", "hello"},
		{"typed", "", "text/plain", "hello"},
		{"plain", "b.txt", "application/octet-stream", "not base64!"},
		{"true", "c", "application/octet-stream", "true"},
		{"bytes", "d.bin", "application/x-d", "\x00\xff\x07"},
		{"e%22%0D%0AX: y", "f%22%0A.txt", "application/octet-stream", "v"},
	} {
		part, err := reader.NextPart()
		if err != nil {
			t.Fatalf("%s: %v", want.name, err)
		}
		content, _ := io.ReadAll(part)
		if part.FormName() != want.name || part.FileName() != want.file || part.Header.Get("Content-Type") != want.kind || string(content) != want.content {
			t.Errorf("got %q %q %q %q, want %+v", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), content, want)
		}
	}
	if _, err := reader.NextPart(); err != io.EOF {
		t.Errorf("there is more: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"http://a/b c?d=e f#g", "https://[::1]:8/%41", "http://ü.example/ü", "http:\\\\x", "http://a?b", "http://a#\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := fetch.Parse(text)
		if err != nil {
			return
		}
		_, rest, _ := strings.Cut(got, "://")
		if slash := strings.IndexAny(rest, "/?"); slash >= 0 && strings.ContainsFunc(rest[slash:], func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("%q gives %q, which is no line of a request", text, got)
		}
	})
}
