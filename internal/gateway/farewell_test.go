package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/gateway"
	"atelier/internal/httpx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// relay is a gateway in front of a service that a test plays. Each stream gives the function that severs it.
type relay struct {
	*httptest.Server

	severs chan func(error)
}

func newRelay(t *testing.T, service http.HandlerFunc) *relay {
	t.Helper()
	behind := httptest.NewServer(service)
	t.Cleanup(behind.Close)
	prover, err := access.NewProver("a key for tests", clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	remote, err := gateway.NewRemote(gateway.RemoteConfig{Service: gateway.Events, URL: behind.URL, Prover: prover, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remote.Close)
	r := &relay{severs: make(chan func(error), 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		severable, sever, done := httpx.Severable(request)
		defer done()
		r.severs <- sever
		remote.ServeHTTP(w, severable)
	}))
	t.Cleanup(r.Close)
	return r
}

func revoked() error { return errs.New(errs.InvalidToken, "The session has ended.") }

// A stream that is severed in the middle of a message tells why after it, and is whole.
func TestFarewellAfterHalfAMessage(t *testing.T) {
	t.Parallel()
	half, more := make(chan struct{}, 1), make(chan struct{})
	r := newRelay(t, func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{"id: 1\ndata: one\n\nid: 2\nda", "ta: two\n", "\n"} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			select {
			case half <- struct{}{}:
			default:
			}
			<-more
		}
		<-request.Context().Done()
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(r.URL + "/v2/workspaces/w/events?sse=true") //nolint:noctx // the test ends it
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	<-half
	(<-r.severs)(revoked())
	close(more)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	if said := string(text); !strings.HasPrefix(said, "id: 1\ndata: one\n\nid: 2\ndata: two\n\nevent: end\ndata: {\"error\":\"invalid_token\"") || !strings.HasSuffix(said, "}\n\n") {
		t.Errorf("%q", said)
	}
}

// Messages of every length, whole or in parts, come through a socket as they are, and what is said last stands between them.
func TestFarewellBetweenFrames(t *testing.T) {
	t.Parallel()
	const final, text, again, ping = 0x80, 1, 0, 9
	a, b, c := strings.Repeat("a", 126), strings.Repeat("b", 125), strings.Repeat("c", 70_000)
	for name, c := range map[string]struct {
		frames [][]byte
		heard  []string
		told   bool
	}{
		"nothing":         {nil, nil, true},
		"short":           {[][]byte{frame(final|text, "hello")}, []string{"hello"}, true},
		"longer":          {[][]byte{frame(final|text, a), frame(final|text, b)}, []string{a, b}, true},
		"long":            {[][]byte{frame(final|text, c)}, []string{c}, true},
		"in parts":        {[][]byte{frame(text, "one "), frame(final|ping, "?"), frame(again, "two "), frame(final|again, "three")}, []string{"one two three"}, true},
		"in parts, ended": {[][]byte{frame(final|text, "before"), frame(text, "never "), frame(again, "finished")}, []string{"before"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, func(w http.ResponseWriter, request *http.Request) {
				serveFrames(t, w, request, append(c.frames, frame(final|ping, "now")))
			})
			conn, _, err := websocket.Dial(t.Context(), r.URL+"/v2/workspaces/w/events", &websocket.DialOptions{ //nolint:bodyclose // the library has
				HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
				OnPingReceived: func(_ context.Context, content []byte) bool {
					if string(content) == "now" { // everything before it has come
						(<-r.severs)(revoked())
					}
					return true
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.CloseNow() }()
			conn.SetReadLimit(1 << 20)
			for _, want := range c.heard {
				if _, got, err := conn.Read(t.Context()); err != nil || string(got) != want {
					t.Fatalf("%d characters instead of %d: %v", len(got), len(want), err)
				}
			}
			_, got, err := conn.Read(t.Context())
			if c.told {
				if err != nil || !strings.HasPrefix(string(got), `{"type":"error","error":"invalid_token","message":"The session has ended."`) {
					t.Errorf("%s %v", got, err)
				}
				_, _, err = conn.Read(t.Context())
			}
			if code := websocket.CloseStatus(err); code != 4401 {
				t.Errorf("closed with %d: %v", code, err)
			}
		})
	}
}

// serveFrames accepts a socket, sends frames cut at odd places, and waits for the end.
func serveFrames(t *testing.T, w http.ResponseWriter, request *http.Request, frames [][]byte) {
	t.Helper()
	sum := sha1.Sum([]byte(request.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	all := bytes.Join(frames, nil)
	for size := 1; len(all) > 0; size = size*2 + 1 {
		n := min(size, len(all))
		_, _ = conn.Write(all[:n])
		all = all[n:]
	}
	_, _ = io.Copy(io.Discard, conn)
}

// frame is a frame as a server sends it.
func frame(head byte, content string) []byte {
	const two, eight = 126, 127
	made := []byte{head}
	switch {
	case len(content) < two:
		made = append(made, byte(len(content)))
	case len(content) < 1<<16:
		made = binary.BigEndian.AppendUint16(append(made, two), uint16(len(content)))
	default:
		made = binary.BigEndian.AppendUint64(append(made, eight), uint64(len(content)))
	}
	return append(made, content...)
}
