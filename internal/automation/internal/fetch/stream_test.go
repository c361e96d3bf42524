package fetch_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

// pieces is a stream that comes in the pieces given.
type pieces struct {
	all []string
	end error
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.all) == 0 {
		return 0, p.end
	}
	n := copy(to, p.all[0])
	if p.all[0] = p.all[0][n:]; p.all[0] == "" {
		p.all = p.all[1:]
	}
	return n, nil
}

func TestChunks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pieces []string
		lines  bool
		want   string
	}{
		"one event":                 {[]string{"data: {\"a\":1}\n\n"}, false, `[{"data":[{"a":1}]}]`},
		"a text":                    {[]string{"data:  hello  \n\n"}, false, `[{"data":["hello"]}]`},
		"several together":          {[]string{"data: 1\n\ndata: [2]\n\ndata: [DONE]\n\n"}, false, `[{"data":["1",[2],"[DONE]"]}]`},
		"apart":                     {[]string{"data: a\n\n", "data: b\n\n"}, false, `[{"data":["a"]},{"data":["b"]}]`},
		"a line in pieces":          {[]string{"da", "ta: {\"a\"", ":1}", "\n\n"}, false, `[{"data":[{"a":1}]}]`},
		"all fields":                {[]string{"event: x\nid: 7\nretry: 50\n: hi\ndata: y\n\n"}, false, `[{"data":["y"],"event":"x","id":"7","retry":50,"comment":"hi"}]`},
		"a sign of life":            {[]string{": ping\n\n"}, false, `[{"data":[],"comment":"ping"}]`},
		"carriage returns":          {[]string{"data: a\r\ndata: b\rdata: c\r", "\ndata: d\r\n\r\n"}, false, `[{"data":["a","b","c"]},{"data":["d"]}]`},
		"no end of line":            {[]string{"data: a\n\ndata: b"}, false, `[{"data":["a"]},{"data":["b"]}]`},
		"raw JSON":                  {[]string{`{"a":`, "1}"}, false, `[{"data":[{"a":1}]}]`},
		"raw JSON of several lines": {[]string{"{\n\"a\": 1\n}"}, false, `[{"data":[{"a":1}]}]`},
		"raw JSON, one by one":      {[]string{`{"a":1}`, `[2]`}, false, `[{"data":[{"a":1}]},{"data":[[2]]}]`},
		"lines of JSON":             {[]string{"{\"a\":1}\n{\"a\":2}\n"}, true, `[{"data":[{"a":1},{"a":2}]}]`},
		"lines of text":             {[]string{"hello\nnote: x\n"}, true, `[{"data":["hello","note: x"]}]`},
		"what is no event":          {[]string{"hello\nfield: x\nretry: soon\n"}, false, `null`},
		"broken characters":         {[]string{"data: \xff\n\n"}, false, `[{"data":["�"]}]`},
		"an empty datum":            {[]string{"data:\n\n"}, false, `[{"data":[""]}]`},
	} {
		got, err := fetch.Chunks(&pieces{test.pieces, io.EOF}, !test.lines)
		have := "null"
		if got != nil {
			have = written(got)
		}
		if !errors.Is(err, io.EOF) || have != test.want {
			t.Errorf("%s: %s %v, want %s", name, have, err, test.want)
		}
	}
}

// However a stream is cut into pieces, the data in it are the same.
func TestChunksInEveryPiece(t *testing.T) {
	t.Parallel()
	const text = "data: {\"a\":1}\r\n\r\n: x\ndata: two\n\ndata: [3,\"é\"]\n\n"
	var data []any
	all, err := fetch.Chunks(iotest.OneByteReader(strings.NewReader(text)), true)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for _, c := range all {
		data = append(data, value.Get(c, "data").([]any)...)
	}
	if got := written(data); got != `[{"a":1},"two",[3,"é"]]` {
		t.Errorf("got %s", got)
	}
}

func TestEndlessLine(t *testing.T) {
	t.Parallel()
	_, err := fetch.Chunks(iotest.TimeoutReader(endlessA{}), true)
	if err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Fatalf("the reader of the test: %v", err)
	}
	_, err = fetch.Chunks(endlessA{}, true)
	if err == nil || err.Error() != "A line of the stream is longer than 1 MB." {
		t.Errorf("got %v", err)
	}
}

type endlessA struct{}

func (endlessA) Read(to []byte) (int, error) {
	for i := range to {
		to[i] = 'a'
	}
	return len(to), nil
}

// events answers with server-sent events, each flushed when the test says so.
func events(t *testing.T, next <-chan string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case text, ok := <-next:
				if !ok {
					return
				}
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
}

func TestStreamForLoops(t *testing.T) {
	t.Parallel()
	next := make(chan string, 10)
	c := client(t, func(d *fetch.Deps) { d.Timeout = 300 * time.Millisecond })
	got, err := c.Try(t.Context(), parse(t, `{"url":"`+events(t, next)+`","stream":{"concatenate":{"path":"choices[0].delta.content"},"payload":{"p":1}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	source, ok := value.Get(got, "body").(machine.Source)
	if !ok || value.Get(got, "status") != 200.0 || value.Get(got, "stream") != source {
		t.Fatalf("got %#v", got)
	}
	<-time.After(400 * time.Millisecond) // the time for the beginning of the answer does not count for the rest
	for i, test := range []struct{ text, want string }{
		{`data: {"choices":[{"delta":{"content":"Hel"}}]}`, `{"index":0,"chunk":{"data":[{"choices":[{"delta":{"content":"Hel"}}]}]},"concatenated":{"value":"Hel"},"additionalPayload":{"p":1}}`},
		{`data: {"choices":[{"delta":{"content":"lo"}}]}`, `{"index":1,"chunk":{"data":[{"choices":[{"delta":{"content":"lo"}}]}]},"concatenated":{"value":"Hello"},"additionalPayload":{"p":1}}`},
		{`data: [DONE]`, `{"index":2,"chunk":{"data":["[DONE]"]},"concatenated":{"value":"Hello"},"additionalPayload":{"p":1}}`},
	} {
		next <- test.text + "\n\n"
		item, ok, err := source.Next(t.Context())
		if err != nil || !ok || written(item) != test.want {
			t.Fatalf("item %d: %s %v %v", i, written(item), ok, err)
		}
	}
	close(next)
	if item, ok, err := source.Next(t.Context()); ok || err != nil {
		t.Errorf("after the end: %v %v", item, err)
	}
	if _, ok, _ := source.Next(t.Context()); ok {
		t.Error("there is something after the end")
	}
}

func TestStreamThatIsGivenUp(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	open := func() machine.Source {
		got, err := c.Try(t.Context(), parse(t, `{"url":"`+events(t, make(chan string))+`"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return value.Get(got, "body").(machine.Source)
	}
	closed := open()
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	if _, ok, err := closed.Next(t.Context()); ok || err == nil {
		t.Error("a stream that is closed goes on")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, ok, err := open().Next(ctx); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a loop that ends: %v %v", ok, err)
	}
}

func TestStreamThatBreaks(t *testing.T) {
	t.Parallel()
	base := speak(t, func(conn net.Conn) {
		raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\nzz")(conn)
	})
	got, err := client(t, nil).Try(t.Context(), parse(t, `{"url":"`+base+`"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	source := value.Get(got, "body").(machine.Source)
	if item, ok, err := source.Next(t.Context()); err != nil || !ok || written(item) != `{"index":0,"chunk":{"data":["a"]}}` {
		t.Errorf("got %s %v", written(item), err)
	}
	_, _, err = source.Next(t.Context())
	wantFailure(t, err, fetch.FetchError, "The address ended the stream early.")
}

// collect emits the chunks of pieces and gives the events.
func collect(t *testing.T, said string, end error, texts ...string) (all []string, whole any, err error) {
	t.Helper()
	body := io.NopCloser(&pieces{texts, end})
	whole, err = fetch.Emit(t.Context(), clock.System{}, parse(t, said), body, func(payload *value.Object) error {
		all = append(all, written(payload))
		return nil
	})
	return all, whole, err
}

func TestStreamOfEvents(t *testing.T) {
	t.Parallel()
	all, whole, err := collect(t, `{"event":"x","payload":{"id":5},"endChunk":{"done":true},"concatenate":{"path":"list"}}`, io.EOF,
		"data: {\"list\":[1,2]}\n\n", "data: {\"list\":[3]}\n\ndata: {\"list\":[4]}\n\n")
	if err != nil || written(whole) != `[1,2,3,4]` {
		t.Errorf("got %s %v", written(whole), err)
	}
	want := []string{
		`{"index":0,"chunk":{"data":[{"list":[1,2]}]},"concatenated":{"value":[1,2]},"additionalPayload":{"id":5}}`,
		`{"index":1,"chunk":{"data":[{"list":[3]},{"list":[4]}]},"concatenated":{"value":[1,2,3,4]},"additionalPayload":{"id":5}}`,
		`{"index":2,"chunk":{"done":true},"concatenated":{"value":[1,2,3,4]},"additionalPayload":{"id":5}}`,
	}
	if strings.Join(all, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %s", strings.Join(all, "\n"))
	}
	_, whole, _ = collect(t, `{"event":"x","concatenate":{"path":"chunk.data[0].t"}}`, io.EOF, "data: {\"t\":\"a\"}\n\n", "data: {\"t\":\"b\"}\n\n")
	if whole != "ab" {
		t.Errorf("a path from the outside gives %v", whole)
	}
	all, _, err = collect(t, `{"event":"x","endChunk":{"done":true}}`, io.ErrUnexpectedEOF, "data: a\n\n")
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(all) != 1 {
		t.Errorf("a stream that breaks: %v %v", all, err)
	}
	_, _, err = collect(t, `{"event":"x","concatenate":{"path":"t"}}`, io.EOF, strings.Repeat("data: {\"t\":\""+strings.Repeat("a", 10_000)+"\"}\n", 200))
	if err == nil || !strings.Contains(err.Error(), "larger than allowed") {
		t.Errorf("what is put together has no end: %v", err)
	}
	refused := errors.New("refused")
	_, err = fetch.Emit(t.Context(), clock.System{}, parse(t, `{"event":"x"}`), io.NopCloser(&pieces{[]string{"data: a\n", "data: b\n"}, io.EOF}), func(*value.Object) error { return refused })
	if !errors.Is(err, refused) {
		t.Errorf("an event that is refused: %v", err)
	}
}

func TestThrottledStream(t *testing.T) {
	t.Parallel()
	manual := clock.NewManual(time.Unix(0, 0))
	read, write := io.Pipe()
	emitted := make(chan string, 10)
	done := make(chan error, 1)
	go func() {
		_, err := fetch.Emit(t.Context(), manual, parse(t, `{"event":"x","concatenate":{"path":"t","throttle":100}}`), read, func(payload *value.Object) error {
			emitted <- written(payload)
			return nil
		})
		done <- err
	}()
	say := func(text string) { _, _ = io.WriteString(write, "data: {\"t\":\""+text+"\"}\n\n") }
	say("a")
	if got := <-emitted; got != `{"index":0,"chunk":{"data":[{"t":"a"}]},"concatenated":{"value":"a"}}` {
		t.Errorf("the first: %s", got)
	}
	say("b")
	say("c")
	say("") // taken only when the one before it was: nothing of it is put together
	select {
	case got := <-emitted:
		t.Errorf("an event within the time: %s", got)
	default:
	}
	manual.Advance(100 * time.Millisecond)
	if got := <-emitted; !strings.HasPrefix(got, `{"index":1,"chunk":{"data":[{"t":"b"},{"t":"c"}`) || !strings.HasSuffix(got, `"concatenated":{"value":"abc"}}`) {
		t.Errorf("after the time, without another chunk: %s", got)
	}
	say("d")
	_ = write.Close()
	if got := <-emitted; !strings.HasSuffix(got, `"concatenated":{"value":"abcd"}}`) {
		t.Errorf("the last: %s", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
