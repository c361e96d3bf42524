package httpx_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"atelier/internal/httpx"
)

func TestHeadGuard(t *testing.T) {
	t.Parallel()
	const get, post = "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nHost: x\r\n"
	long := strings.Repeat("a", 500)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"one":                         {get + "\r\n", true},
		"several":                     {get + "\r\n" + get + "\r\n" + get + "\r\n", true},
		"long lines":                  {"GET /" + long + " HTTP/1.1\r\nA: " + long + "\r\n\r\n", true},
		"empty lines between":         {get + "\r\n\r\n\r\n" + get + "\r\n", true},
		"body":                        {post + "Content-Length: 7\r\n\r\na\n b\r\rc" + get + "\r\n", true},
		"body of nothing":             {post + "Content-Length: 0\r\n\r\n" + get + "\r\n", true},
		"body that looks like a head": {post + "Content-Length: 40\r\n\r\nGET / HTTP/1.1\nA: b\n c\r\n\r\n............." + get + "\r\n", true},
		"chunked":                     {post + "Transfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n0\r\n\r\nanything\n goes", true},
		"colon in a value":            {get + "A: Content-Length: 5\r\n\r\n", true},
		"name that only begins so":    {get + "Content-Length-X: a\r\nTransfer-Encodings: b\r\n\r\n", true},
		"bare LF in the request line": {"GET / HTTP/1.1\nHost: x\r\n\r\n", false},
		"bare LF after a long line":   {get + "A: " + long + "\n\r\n", false},
		"bare LF at the end":          {get + "\n", false},
		"bare CR":                     {get + "A: b\rc\r\n\r\n", false},
		"CR CR LF":                    {get + "A: b\r\r\n\r\n", false},
		"folded":                      {get + "A: b\r\n c\r\n\r\n", false},
		"folded first":                {"GET / HTTP/1.1\r\n Host: x\r\n\r\n", false},
		"two lengths":                 {post + "Content-Length: 1\r\ncontent-length: 1\r\n\r\na", false},
		"length and encoding":         {post + "CONTENT-LENGTH: 1\r\nTransfer-encoding: chunked\r\n\r\na", false},
		"encoding and length":         {post + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\na", false},
		"two encodings":               {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		"encoding in HTTP/1.0":        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		"encoding in long HTTP/1.0":   {"POST /" + long + " HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		"encoding in long HTTP/1.1":   {"POST /" + long + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		"odd length":                  {post + "Content-Length: 1a\r\n\r\na", false},
		"empty length":                {post + "Content-Length:\r\n\r\n", false},
		"padded length":               {post + "Content-Length: " + strings.Repeat("0", 100) + "1\r\n\r\na", false},
		"second of two":               {get + "\r\n" + get + "A: b\r\n c\r\n\r\n", false},
		"behind a body":               {post + "Content-Length: 1\r\n\r\na" + get + "\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(c.text); size++ { // however the network cuts it up
				if accepts([]byte(c.text), size) != c.ok {
					t.Fatalf("in pieces of %d: accepted is %v", size, !c.ok)
				}
			}
		})
	}
}

// accepts feeds the stream in pieces and tells whether all of it was accepted.
func accepts(stream []byte, size int) bool {
	var guard httpx.Guard
	for piece := range slices.Chunk(stream, size) {
		if guard.Scan(piece) != len(piece) {
			return false
		}
	}
	return true
}

// What the guard accepts the standard parser reads the way we mean: by one length or one encoding, line by line.
func FuzzHeadGuard(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n",
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := accepts(stream, max(len(stream), 1))
		if whole != accepts(stream, 1) {
			t.Fatalf("%q is accepted in one way of cutting it only", stream)
		}
		if !whole {
			return
		}
		from := bufio.NewReader(bytes.NewReader(stream))
		for at := 0; ; {
			r, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			head := stream[at:]
			head, _, found := bytes.Cut(head, []byte("\r\n\r\n"))
			if !found {
				t.Fatalf("a request without an end was read from %q", stream)
			}
			if lengths := bytes.Count(bytes.ToLower(head), []byte("\r\ncontent-length:")); lengths > 1 || lengths == 1 && len(r.TransferEncoding) > 0 {
				t.Fatalf("%q has two lengths", head)
			}
			if len(r.TransferEncoding) > 0 {
				return // the last of its connection
			}
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				return
			}
			at += len(head) + len("\r\n\r\n") + int(n)
		}
	})
}
