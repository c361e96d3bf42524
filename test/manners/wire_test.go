package manners_test

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Requests that http.Client cannot send. None is answered in plain text, none with a 5xx.
func malformedHTTP(t *testing.T, d *door) {
	t.Helper()
	const get = "GET / HTTP/1.1\r\nHost: x\r\n"
	const post = "POST /v2/login/anonymous HTTP/1.1\r\nHost: x\r\n"
	bad := []int{http.StatusBadRequest}
	tooLarge := []int{http.StatusRequestHeaderFieldsTooLarge}
	method := []int{http.StatusMethodNotAllowed}
	for name, c := range map[string]struct {
		text     string
		statuses []int
	}{
		"B-HTP-01 NUL in a value":             {get + "X-A: a\x00b\r\n\r\n", bad},
		"B-HTP-01 NUL in a name":              {get + "X\x00A: b\r\n\r\n", bad},
		"B-HTP-01 DEL in a value":             {get + "X-A: a\x7fb\r\n\r\n", bad},
		"B-HTP-01 bare CR":                    {get + "X-A: b\rX-B: c\r\n\r\n", bad},
		"B-HTP-01 folded line":                {get + "X-A: b\r\n c\r\n\r\n", bad},
		"B-HTP-01 folded with a tab":          {get + "X-A: b\r\n\tc\r\n\r\n", bad},
		"B-HTP-01 folded first line":          {"GET / HTTP/1.1\r\n Host: x\r\n\r\n", bad},
		"B-HTP-01 space before colon":         {get + "X-A : b\r\n\r\n", bad},
		"B-HTP-01 no colon":                   {get + "nonsense\r\n\r\n", bad},
		"B-HTP-01 empty name":                 {get + ": b\r\n\r\n", bad},
		"B-HTP-01 space in a name":            {get + "X A: b\r\n\r\n", bad},
		"B-HTP-01 name of 8 KB":               {get + strings.Repeat("n", 8<<10) + ": b\r\n\r\n", []int{200}},
		"B-HTP-01 header of 1 MB":             {get + "X-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", tooLarge},
		"B-HTP-01 1000 headers":               {get + strings.Repeat("X-A: b\r\n", 1000) + "\r\n", tooLarge},
		"B-HTP-01 1000 different headers":     {get + manyHeaders(1000) + "\r\n", tooLarge},
		"B-HTP-02 length and encoding":        {post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", bad},
		"B-HTP-02 encoding and length":        {post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", bad},
		"B-HTP-02 chunked twice":              {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", bad},
		"B-HTP-02 chunked, identity":          {post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", bad},
		"B-HTP-02 xchunked":                   {post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", bad},
		"B-HTP-02 encoding in HTTP/1.0":       {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", bad},
		"B-HTP-02 length twice":               {post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n", bad},
		"B-HTP-02 two lengths":                {post + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n", bad},
		"B-HTP-02 lengths in one":             {post + "Content-Length: 0, 0\r\n\r\n", bad},
		"B-HTP-02 length with a sign":         {post + "Content-Length: +0\r\n\r\n", bad},
		"B-HTP-02 negative length":            {post + "Content-Length: -1\r\n\r\n", bad},
		"B-HTP-02 hexadecimal length":         {post + "Content-Length: 0x0\r\n\r\n", bad},
		"B-HTP-02 length beyond 64 bits":      {post + "Content-Length: 99999999999999999999\r\n\r\n", bad},
		"B-HTP-02 bare LF":                    {"GET / HTTP/1.1\nHost: x\n\n", bad},
		"B-HTP-02 bare LF after a header":     {get + "X-A: b\nX-B: c\r\n\r\n", bad},
		"B-HTP-02 bare LF after a long one":   {get + "X-A: " + strings.Repeat("b", 500) + "\nX-B: c\r\n\r\n", bad},
		"B-HTP-02 bare LF as the end":         {get + "\n", bad},
		"B-HTP-02 HTTP/0.9":                   {"GET /\r\n\r\n", bad},
		"B-HTP-02 HTTP/2 by request line":     {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", bad},
		"B-HTP-02 HTTP/9.9":                   {"GET / HTTP/9.9\r\nHost: x\r\n\r\n", bad},
		"B-HTP-02 HTTP/2 preface":             {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", method},
		"B-HTP-02 absolute address":           {"GET http://evil.test/v2/me HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		"B-HTP-02 garbage":                    {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", bad},
		"B-HTP-02 no host":                    {"GET / HTTP/1.1\r\n\r\n", bad},
		"B-HTP-06 two hosts":                  {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", bad},
		"B-HTP-06 malformed host":             {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", bad},
		"B-HTP-03 TRACE":                      {"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", method},
		"B-HTP-03 CONNECT":                    {"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", method},
		"B-HTP-03 lower case":                 {"get / HTTP/1.1\r\nHost: x\r\n\r\n", method},
		"B-HTP-03 method of 10 KB":            {strings.Repeat("G", 10<<10) + " / HTTP/1.1\r\nHost: x\r\n\r\n", method},
		"B-HTP-03 made-up method":             {"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", method},
		"B-HTP-03 OPTIONS *":                  {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		"B-HTP-04 invalid percent":            {"GET /v2/%zz HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		"B-HTP-04 NUL":                        {"GET /v2/\x00 HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		"B-HTP-04 space":                      {"GET /v2/a b HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		"B-HTP-04 no leading slash":           {"GET v2/me HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		"B-HTP-10 unknown expectation":        {post + "Expect: 200-ok\r\nContent-Length: 0\r\n\r\n", []int{417}},
		"B-HTP-10 unknown expectation in 1.0": {"POST / HTTP/1.0\r\nExpect: 200-ok\r\nContent-Length: 0\r\n\r\n", []int{417}},
		"B-JSN-10 chunk extension bomb": {post + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;" +
			strings.Repeat("a", 100_000) + "\r\n{}\r\n0\r\n\r\n", bad},
		"B-JSN-10 broken chunk": {post + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", bad},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := raw(t, d, c.text)
			if c.statuses[0] == http.StatusOK {
				mustBeNamed(t, got)
				return
			}
			mustRefuse(t, got, c.statuses...)
			if got.StatusCode == http.StatusMethodNotAllowed && got.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
		})
	}
}

func manyHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("X-" + strconv.Itoa(i) + ": b\r\n")
	}
	return b.String()
}

// B-HTP-02: whatever follows an ambiguous request on the connection is not a request.
func nothingIsSmuggled(t *testing.T, d *door) {
	t.Helper()
	t.Cleanup(func() {
		if strings.Contains(d.Logs.String(), "/smuggled") {
			t.Error("a smuggled request was served")
		}
	})
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	const post = "POST /v2/login/anonymous HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"length and encoding":   post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"hidden encoding":       post + "Content-Length: 4\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"folded encoding":       post + "Content-Length: 4\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"two lengths":           post + "Content-Length: 0\r\nContent-Length: " + strconv.Itoa(len(smuggled)) + "\r\n\r\n" + smuggled,
		"bare LF":               post + "Content-Length: 0\nX: y\r\n\r\n" + smuggled,
		"behind a chunked body": post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + smuggled,
		"h2c upgrade, then HTTP/1.1": "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n" +
			"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, d)
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			everything, _ := io.ReadAll(conn) // until the server closes
			if answers := strings.Count(string(everything), "HTTP/1.1 "); answers != 1 {
				t.Errorf("%d answers to one request:\n%s", answers, everything)
			}
		})
	}
}

// A refusal comes at its turn: the requests before it on the connection have their answers.
func refusalWaitsForItsTurn(t *testing.T, d *door) {
	t.Helper()
	conn := dial(t, d)
	const fine = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := io.WriteString(conn, fine+fine+"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n z\r\n\r\n"+fine); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(conn)
	for range 2 {
		if got := receive(t, from); got.StatusCode != http.StatusOK {
			t.Errorf("status %d: %s", got.StatusCode, got.Text)
		}
	}
	mustRefuse(t, receive(t, from), http.StatusBadRequest)
	if rest, _ := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("something follows the refusal: %s", rest)
	}
}

// A connection is used again after bodies with a length, and 100-continue works.
func connectionsAreKept(t *testing.T, d *door) {
	t.Helper()
	conn := dial(t, d)
	from := bufio.NewReader(conn)
	const post = "POST /v2/login/anonymous HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
	for range 3 {
		if _, err := io.WriteString(conn, post+"\r\n{}"); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, from); got.StatusCode != http.StatusOK || got.Close {
			t.Fatalf("status %d, close %v: %s", got.StatusCode, got.Close, got.Text)
		}
	}
	if _, err := io.WriteString(conn, post+"Expect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := from.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = from.ReadString('\n')
	if _, err := io.WriteString(conn, "{}"); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, from); got.StatusCode != http.StatusOK {
		t.Errorf("status %d: %s", got.StatusCode, got.Text)
	}
}
