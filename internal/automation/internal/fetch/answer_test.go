package fetch_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/dsul/expr/value"
)

func TestAnswersByType(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	for name, test := range map[string]struct {
		status           int
		kind, body, want string
	}{
		"JSON":                       {200, "application/json; charset=utf-8", ` {"b":1,"a":[null]} `, `{"b":1,"a":[null]}`},
		"JSON of a kind":             {200, "application/problem+json", `{"a":1}`, `{"a":1}`},
		"JSON with a mark before it": {200, "application/json", "\uFEFF[1]", `[1]`},
		"an empty JSON":              {200, "application/json", "", ``},
		"JSON in another charset":    {200, "application/json; charset=iso-8859-1", "\"\xe9\"", `"é"`},
		"a text":                     {200, "text/html", "<p>", `"<p>"`},
		"a text in latin 1":          {200, "text/plain; charset=ISO-8859-1", "caf\xe9", `"café"`},
		"a wrong charset":            {200, "text/plain; charset=utf-8", "caf\xe9", `"caf�"`},
		"an unknown charset":         {200, "text/plain; charset=klingon", "caf\xe9", `"caf�"`},
		"bytes":                      {200, "application/octet-stream", "\x00\xff", `"AP8="`},
		"a PDF":                      {200, "application/pdf", "%PDF", `"JVBERg=="`},
		"an image":                   {200, "image/png", "\x89P", `"iVA="`},
		"XML":                        {200, "application/xml", "<a/>", `"<a/>"`},
		"SVG is an image":            {200, "image/svg+xml", "<a/>", `"PGEvPg=="`},
		"no type":                    {200, "", "plain", `"plain"`},
		"a wrong type":               {200, "what is this", "plain", `"plain"`},
		"nothing":                    {204, "", "", `""`},
		"an error":                   {404, "application/json", `{"error":"x"}`, `{"error":"x"}`},
		"an error that is no JSON":   {500, "application/json", `<html>`, `"<html>"`},
		"numbers of JSON":            {200, "application/json", `[1e3,0.5,-0]`, `[1000,0.5,0]`},
	} {
		base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{test.kind}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		})
		got, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`"}`), nil)
		if err != nil || written(got) != test.want {
			t.Errorf("%s: %s %v, want %s", name, written(got), err, test.want)
		}
	}
}

func TestOutputModes(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "é")
	})
	for mode, want := range map[string]string{
		"body":              `"é"`,
		"base64":            `"w6k="`,
		"data_url":          `"data:text/plain;charset=utf-8;base64,w6k="`,
		"detailed_response": `{"status":418,"headers":{"content-length":"2","content-type":"text/plain; charset=utf-8","x-two":"a, b"},"body":"é","stream":false}`,
	} {
		got, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`","outputMode":"`+mode+`"}`), nil)
		if err != nil || written(got) != want {
			t.Errorf("%s: %s %v, want %s", mode, written(got), err, want)
		}
	}
}

func TestCompressedAnswer(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, "asked for "+r.Header.Get("Accept-Encoding"))
		_ = packed.Close()
	})
	got, err := client(t, nil).Try(t.Context(), parse(t, `{"url":"`+base+`","headers":{"accept-encoding":"gzip, deflate, br"}}`), nil)
	if err != nil || got != "asked for gzip" {
		t.Errorf("got %v %v", got, err)
	}
}

func TestWhatIsBearable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"a small text":             {`{"a":1}`, true},
		"many small objects":       {"[" + strings.Repeat("{},", 500_000) + "{}]", false},
		"many lists":               {"[" + strings.Repeat("[],", 500_000) + "[]]", false},
		"a long text":              {`"` + strings.Repeat("{},", 500_000) + `"`, true},
		"a long text with escapes": {`"` + strings.Repeat(`\"{},`, 500_000) + `"`, true},
		"many numbers":             {"[" + strings.Repeat("1,", 1_500_000) + "1]", true},
		"too many numbers":         {"[" + strings.Repeat("1,", 2_100_000) + "1]", false},
	} {
		if got := fetch.Bearable(test.text); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") })
	got, err := client(t, nil).Try(t.Context(), parse(t, `{"url":"`+base+`","method":"HEAD","outputMode":"detailed_response"}`), nil)
	if err != nil || value.Get(got, "status") != 200.0 || value.Get(got, "stream") != false {
		t.Errorf("got %s %v", written(got), err)
	}
}
