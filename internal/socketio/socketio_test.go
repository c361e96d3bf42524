package socketio_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A client that only polls joins, is answered, gets messages and leaves.
func TestPolling(t *testing.T) {
	t.Parallel()
	c := newHouse(t).open()
	c.post("40/room,")
	c.poll(`40/room,{"sid":"id-of/room"}`)
	c.post(`42/room,["hello",1,{"a":"\u00e9"}]`, `42/room,17["asked","x"]`)
	c.hears(`42/room,["echo hello",1,{"a":"\u00e9"}]`, `43/room,17[{"got":["x"]}]`)
	c.post("40")
	c.poll(`40{"sid":"id-of/"}`)
	c.post("41/room,", "42[\"still\"]")
	c.poll(`42["echo still"]`)
	c.post("1")
	c.gone()
	c.until("it has left", func() bool { return c.server.Stats().Left == 2 })
	if stats := c.server.Stats(); stats.Joined != 2 || stats.Connections != 0 || stats.Received != 3 || stats.BytesIn == 0 || stats.BytesOut == 0 {
		t.Errorf("%+v", stats)
	}
}

// hears polls until these packets have come.
func (c *client) hears(want ...string) {
	c.t.Helper()
	var got []string
	for len(got) < len(want) {
		_, text := c.send(http.MethodGet, c.query(), "")
		got = append(got, strings.Split(text, "\x1e")...)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.t.Fatalf("%q, want %q", got, want)
	}
}

// A client over a WebSocket is in several namespaces at the same time.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	w := newHouse(t).dial("")
	if first := w.read(); !strings.Contains(first, `"upgrades":[]`) || opened(t, first) == "" {
		t.Fatal(first)
	}
	w.say(`40/a,{"token":"x"}`)
	w.hear(`40/a,{"sid":"id-of/a"}`)
	w.say("40/refused,")
	w.hear(`44/refused,{"message":"Not you","data":{"error":"denied"}}`)
	w.say("40/away,")
	w.hear(`40/away,{"sid":"id-of/away"}`, "41/away,")
	w.say(`42/a,["hello"]`)
	w.hear(`42/a,["echo hello"]`)
	w.say("41/a,", "40/a,", "40/a,")
	w.hear(`40/a,{"sid":"id-of/a"}`)
	w.say(`42/a,["once"]`)
	w.hear(`42/a,["echo once"]`)
	w.say("40/again,")
	w.hear(`40/again,{"sid":"id-of/again"}`)
	w.closed(websocket.StatusTryAgainLater)
}

// A client begins by polling and moves to a WebSocket; what comes meanwhile is not lost.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	c := newHouse(t).open()
	c.post("40/room,")
	c.poll(`40/room,{"sid":"id-of/room"}`)
	polled := make(chan string, 1)
	go func() {
		_, text, _ := c.try(http.MethodGet, c.query(), "")
		polled <- text
	}()
	w := c.dial("&sid=" + c.id)
	w.say("2probe")
	w.hear("3probe")
	if got := <-polled; got != "6" {
		t.Fatalf("the poll ended with %q", got)
	}
	c.post(`42/room,["meanwhile"]`)
	w.say("5")
	w.hear(`42/room,["echo meanwhile"]`)
	w.say(`42/room,["after"]`)
	w.hear(`42/room,["echo after"]`)
	c.want(http.StatusBadRequest, `"code":3`, http.MethodGet, c.query(), "")
	_ = w.conn.Close(websocket.StatusNormalClosure, "")
	c.until("it has left", func() bool { return c.server.Stats().Connections == 0 })
}

// A WebSocket that does not come so far leaves polling as it was.
func TestUpgradeFails(t *testing.T) {
	t.Parallel()
	c := newHouse(t).open()
	c.post("40/room,")
	c.poll(`40/room,{"sid":"id-of/room"}`)
	for _, said := range []string{"2wrong", "5", `42/room,["x"]`} {
		w := c.dial("&sid=" + c.id)
		w.say(said)
		if _, _, err := w.conn.Read(t.Context()); err == nil {
			t.Fatalf("%s passed", said)
		}
	}
	w := c.dial("&sid=" + c.id)
	w.say("2probe")
	w.hear("3probe")
	_, response, err := websocket.Dial(t.Context(), c.door.URL+"/socket.io/?EIO=4&transport=websocket&sid="+c.id, nil) //nolint:bodyclose // it is refused
	if err == nil || response.StatusCode != http.StatusBadRequest {
		t.Fatalf("two at the same time: %v %v", response, err)
	}
	_ = w.conn.CloseNow()
	c.post(`42/room,["still"]`)
	c.hearsAtLast(`42/room,["echo still"]`)
}

// hearsAtLast polls past the signs that there is nothing.
func (c *client) hearsAtLast(want string) {
	c.t.Helper()
	for {
		if _, text := c.send(http.MethodGet, c.query(), ""); text != "6" {
			if text != want {
				c.t.Fatalf("%q, want %q", text, want)
			}
			return
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.want(http.StatusBadRequest, `{"code":0,"message":"Transport unknown"}`, http.MethodGet, "EIO=4&transport=smoke", "")
	h.want(http.StatusBadRequest, `{"code":5,"message":"Unsupported protocol version"}`, http.MethodGet, "EIO=3&transport=polling", "")
	h.want(http.StatusBadRequest, `{"code":2,"message":"Bad handshake method"}`, http.MethodPost, "EIO=4&transport=polling", "40")
	h.want(http.StatusBadRequest, `{"code":1,"message":"Session ID unknown"}`, http.MethodGet, "EIO=4&transport=polling&sid=x", "")
	h.want(http.StatusBadRequest, `{"code":3,"message":"Bad request"}`, http.MethodGet, "EIO=4&transport=websocket", "")
	c := h.open()
	c.want(http.StatusBadRequest, `{"code":3`, http.MethodGet, c.query(), "", "Caller", "eve")
	c.post("40/room,")
	c.poll(`40/room,{"sid":"id-of/room"}`)
}

// What breaks the protocol ends the connection, and nothing else.
func TestHostile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for name, sent := range map[string]string{
		"nothing": "", "garbage": "hello", "no kind": "4", "unknown kind": "49", "binary": "bAAAA", "binary message": `451-["x",{"_placeholder":true,"num":0}]`,
		"binary answer": `461-3[]`, "a ping of the client": "2", "an upgrade": "5", "not in there": `42/nowhere,["x"]`, "no list": `42/room,{}`,
		"no name": `42/room,[1]`, "empty": `42/room,[]`, "no JSON": `42/room,["x"`, "auth is no object": `40/other,[1]`, "auth is no JSON": `40/other,{"a"`,
		"long name": "40/" + strings.Repeat("x", 300) + ",", "long number": `42/room,` + strings.Repeat("1", 30) + `["x"]`,
		"an error of the client": `44/room,{}`,
	} {
		c := h.open()
		c.post("40/room,")
		c.poll(`40/room,{"sid":"id-of/room"}`)
		c.want(http.StatusBadRequest, `{"code":3`, http.MethodPost, c.query(), sent)
		if status, _ := c.send(http.MethodGet, c.query(), ""); status != http.StatusBadRequest {
			t.Errorf("%s: the connection goes on", name)
		}
	}
	c := h.open()
	c.want(http.StatusRequestEntityTooLarge, "too large", http.MethodPost, c.query(), "4"+strings.Repeat("x", 1_000_001))
	c.gone()
	c = h.open()
	c.want(http.StatusBadRequest, `{"code":3`, http.MethodPost, c.query(), "x", "Content-Type", "application/octet-stream")
	c.gone()
	w := h.dial("")
	w.read()
	if err := w.conn.Write(t.Context(), websocket.MessageBinary, []byte{1}); err != nil {
		t.Fatal(err)
	}
	w.closed(websocket.StatusUnsupportedData)
	w = h.dial("")
	w.read()
	w.say("4" + strings.Repeat("x", 1_000_001))
	w.closed(websocket.StatusMessageTooBig)
}

// A connection is in so many namespaces at most, and may not ask for them all the time.
func TestManyNamespaces(t *testing.T) {
	t.Parallel()
	w := newHouse(t).dial("")
	w.read()
	for i := range 20 {
		w.say(fmt.Sprintf("40/%d,", i))
		w.hear(fmt.Sprintf(`40/%d,{"sid":"id-of/%d"}`, i, i))
	}
	w.say("40/more,")
	w.hear(`44/more,{"message":"Too many namespaces"}`)
	for range 100 {
		if w.conn.Write(t.Context(), websocket.MessageText, []byte("40/more,")) != nil {
			break
		}
	}
	w.closed(websocket.StatusProtocolError)
}

// Two polls at the same time are a mistake, and so is leaving one.
func TestOverlap(t *testing.T) {
	t.Parallel()
	c := newHouse(t).open()
	first := make(chan string, 1)
	go func() {
		_, text, _ := c.try(http.MethodGet, c.query(), "")
		first <- text
	}()
	c.until("a second poll is refused", func() bool {
		status, _ := c.send(http.MethodGet, c.query(), "")
		return status == http.StatusBadRequest
	})
	<-first
	c.gone()
}

// A client is asked whether it is alive, and let go when it does not say so.
func TestPings(t *testing.T) {
	t.Parallel()
	w := newHouse(t).dial("")
	w.read()
	w.say("40/room,")
	w.hear(`40/room,{"sid":"id-of/room"}`)
	for range 3 {
		w.pass(interval)
		w.hear("2")
		w.say("3", `42/room,["here"]`)
		w.hear(`42/room,["echo here"]`)
	}
	w.pass(interval + timeout)
	w.hear("2")
	if _, _, err := w.conn.Read(t.Context()); err == nil {
		t.Fatal("it goes on")
	}
	w.until("it is gone", func() bool { return w.server.Stats().Connections == 0 })
}

// A client that joins no namespace is let go.
func TestAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.dial("")
	w.read()
	for range 2 {
		w.pass(interval)
		w.hear("2")
		w.say("3", "6")
		w.until("it has answered", func() bool { return h.server.Stats().BytesIn >= 2 })
	}
	w.pass(interval)
	w.closed(websocket.StatusPolicyViolation)
}

// What waits for a client that does not read is bounded: who has more for it waits.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	c := newHouse(t).open()
	c.post("40/flood,")
	var before int64
	const most = 256 << 10 / 10_000 // of these messages wait
	c.until("the queue is full", func() bool { return c.sent.Load() >= most-1 })
	for range 100 { // nobody takes any, whatever else happens
		c.want(http.StatusOK, "ok", http.MethodPost, c.query(), "6")
	}
	if before = c.sent.Load(); before > most {
		t.Errorf("%d messages wait", before)
	}
	c.send(http.MethodGet, c.query(), "")
	c.until("there is room again", func() bool { return c.sent.Load() > before })
}

// A server that stops tells those who poll and those who have a socket, and is left by nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, w := h.open(), h.dial("")
	w.read()
	c.post("40/room,")
	c.poll(`40/room,{"sid":"id-of/room"}`)
	polled := make(chan string, 1)
	go func() {
		_, text, _ := c.try(http.MethodGet, c.query(), "")
		polled <- text
	}()
	c.post(`42/room,["x"]`)
	if got := <-polled; got != `42/room,["echo x"]` {
		t.Fatal(got)
	}
	go func() {
		_, text, _ := c.try(http.MethodGet, c.query(), "")
		polled <- text
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- h.server.Close(ctx) }()
	w.closed(websocket.StatusServiceRestart)
	if got := <-polled; got != "1" && !strings.Contains(got, "Session ID unknown") {
		t.Errorf("the poll ended with %q", got)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	h.want(http.StatusServiceUnavailable, "Too many", http.MethodGet, "EIO=4&transport=polling", "")
}
