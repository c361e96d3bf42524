package fetch_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/egress"
)

// speak answers every connection with raw bytes, after its request was read.
func speak(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, request.Body)
				answer(conn)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return "http://" + listener.Addr().String()
}

func raw(text string) func(net.Conn) {
	return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
}

const (
	notJSON  = "The answer says that it is JSON, but it is not, or it is nested too deeply; use outputMode base64 to get it as it is."
	tooBig   = "The answer is larger than allowed; ask for less at a time."
	tooSlow  = "The address did not answer in time."
	okJSON   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
	oneMega  = 1 << 20
	maxBytes = 4 * oneMega
)

func TestHostileServers(t *testing.T) {
	t.Parallel()
	patient := client(t, func(d *fetch.Deps) { d.Timeout, d.MaxBody, d.MaxRetries = time.Minute, maxBytes, 0 })
	hasty := client(t, func(d *fetch.Deps) { d.Timeout, d.MaxRetries = 300*time.Millisecond, 0 })
	endless := func(w http.ResponseWriter, write func(io.Writer)) {
		w.Header().Set("Content-Type", "text/plain")
		write(w)
	}
	block := strings.Repeat("a", oneMega)
	var bounce string
	bounce = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, bounce+"/x", http.StatusFound) })
	for name, test := range map[string]struct{ url, message string }{
		"hangs": {serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), tooSlow},
		"hangs in the body": {serve(t, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}), tooSlow},
		"trickles":            {speak(t, trickle), tooSlow},
		"never ends":          {serve(t, func(w http.ResponseWriter, _ *http.Request) { endless(w, func(w io.Writer) { forever(w, block) }) }), tooBig},
		"unfolds":             {serve(t, bomb(block)), tooBig},
		"redirects for ever":  {bounce, egress.Unreachable},
		"header bomb":         {speak(t, raw("HTTP/1.1 200 OK\r\nX: "+block+"\r\n\r\n")), egress.Unreachable},
		"many headers":        {speak(t, raw("HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 20_000)+"\r\n")), egress.Unreachable},
		"bad chunks":          {speak(t, raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc")), egress.Unreachable},
		"a short body":        {speak(t, raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")), egress.Unreachable},
		"not HTTP":            {speak(t, raw("SSH-2.0-OpenSSH_9.6\r\n")), egress.Unreachable},
		"nothing":             {speak(t, raw("")), egress.Unreachable},
		"invalid JSON":        {speak(t, raw(okJSON+"\r\n{\"a\":")), notJSON},
		"two JSON texts":      {speak(t, raw(okJSON+"\r\n{} {}")), notJSON},
		"deep JSON":           {speak(t, raw(okJSON+"\r\n"+strings.Repeat("[", 100_000))), notJSON},
		"a broken gzip":       {speak(t, raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\nxxxxxxxxxxxx")), egress.Unreachable},
		"nobody is there":     {"http://127.0.0.1:1", egress.Unreachable},
		"no such name":        {"http://nothing.invalid", egress.Unreachable},
		"a private address":   {"http://10.0.0.1", egress.Unreachable},
		"the metadata server": {"http://169.254.169.254/latest", egress.Unreachable},
		"a strange spelling":  {"http://0x7f000001/", egress.Unreachable},
		"not TLS":             {strings.Replace(serve(t, echo), "http:", "https:", 1), egress.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			c := patient
			if test.message == tooSlow {
				c = hasty
			}
			_, err := c.Try(t.Context(), parse(t, `{"url":"`+test.url+`"}`), nil)
			wantFailure(t, err, fetch.FetchError, test.message)
		})
	}
}

func trickle(conn net.Conn) {
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
	for {
		if _, err := io.WriteString(conn, "a"); err != nil {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

func forever(w io.Writer, block string) {
	for {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

func bomb(block string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		for range 100 {
			_, _ = io.WriteString(packed, block)
		}
		_ = packed.Close()
	}
}

// An answer of any size takes no more memory than it may have.
func TestMemoryIsBounded(t *testing.T) {
	c := client(t, func(d *fetch.Deps) { d.MaxBody = maxBytes })
	base := serve(t, bomb(strings.Repeat("\x00", oneMega)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`"}`), nil)
	runtime.ReadMemStats(&after)
	wantFailure(t, err, fetch.FetchError, tooBig)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 12*maxBytes {
		t.Errorf("an answer that unfolds to 100 MB took %d MB", taken>>20)
	}
}

func TestEndOfTheRunEndsTheFetch(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 10)
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) { arrived <- struct{}{}; <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := client(t, func(d *fetch.Deps) { d.Timeout = time.Minute }).Try(ctx, parse(t, `{"url":"`+base+`"}`), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(arrived) > 0 {
		t.Error("the request was repeated")
	}
}

// A workspace with slow servers fills its own places for large answers, not those of others.
func TestPlacesForLargeAnswers(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	var taken []func()
	for range 4 {
		release, err := fetch.Take(t.Context(), c, "slow")
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, release)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := fetch.Take(ctx, c, "slow"); err == nil {
		t.Error("one workspace has more than its share")
	}
	release, err := fetch.Take(t.Context(), c, "other")
	if err != nil {
		t.Fatalf("another workspace has to wait: %v", err)
	}
	for _, release := range append(taken, release) {
		release()
	}
	if n := fetch.Shares(c); n != 0 {
		t.Errorf("%d workspaces are remembered that hold nothing", n)
	}
}
