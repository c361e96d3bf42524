package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// plug is a WebSocket of a client.
type plug struct {
	t    *testing.T
	conn *websocket.Conn
	id   int
}

// connect opens a WebSocket.
func (c *caller) connect() *plug {
	t := c.house.t
	t.Helper()
	conn, answer, err := websocket.Dial(t.Context(), c.serve().URL+events, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: narrow}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	const large = 8 << 20
	conn.SetReadLimit(large)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &plug{t: t, conn: conn}
}

// say sends a message as it is.
func (p *plug) say(text string) {
	p.t.Helper()
	if err := p.conn.Write(p.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

// hear takes the next message.
func (p *plug) hear() said {
	p.t.Helper()
	_, text, err := p.conn.Read(p.t.Context())
	if err != nil {
		p.t.Fatalf("the socket was closed: %v", err)
	}
	return said{text}
}

// ask sends a command and takes the answer.
func (p *plug) ask(command string) said {
	p.t.Helper()
	p.id++
	p.say(fmt.Sprintf(`{"id":%d,%s}`, p.id, command))
	got := p.hear()
	if got.at("id") != fmt.Sprint(p.id) {
		p.t.Fatalf("%s: %s", command, got.text)
	}
	return got
}

// closed waits for the end and gives its code.
func (p *plug) closed() websocket.StatusCode {
	p.t.Helper()
	for {
		if _, _, err := p.conn.Read(p.t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// said is a message of the server.
type said struct{ text []byte }

func (s said) at(path string) string {
	var value any
	_ = json.Unmarshal(s.text, &value)
	for part := range strings.SplitSeq(path, ".") {
		switch in := value.(type) {
		case map[string]any:
			value = in[part]
		case []any:
			value = in[0]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// want fails unless a message is an event of a type, for a subscription.
func (s said) want(t *testing.T, subscription, eventType string) said {
	t.Helper()
	if s.at("type") != "event" || s.at("subscription") != subscription || s.at("event.type") != eventType {
		t.Fatalf("want %s of %s, got %s", eventType, subscription, s.text)
	}
	return s
}

func TestSockets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		p := h.ann.connect()
		first := p.ask(`"type":"subscribe"`)
		if first.at("type") != "subscribed" || first.at("subscription") != "s1" || first.at("socketId") == "" {
			t.Fatalf("%s", first.text)
		}
		p.ask(`"type":"subscribe","filters":{"types":["order.paid"],"payloadQuery":{"payload.amount":12.5}}`)
		h.ann.emit(sent, paid, `{"type":"end","payload":{}}`).want(http.StatusOK)
		p.hear().want(t, "s1", "order.sent")
		got := map[string]string{}
		for range 3 {
			m := p.hear()
			got[m.at("subscription")] += m.at("event.type") + " "
		}
		if got["s1"] != "order.paid end " || got["s2"] != "order.paid " {
			t.Errorf("%v", got)
		}
		if m := p.ask(`"type":"unsubscribe","subscription":"s1"`); m.at("type") != "unsubscribed" {
			t.Errorf("%s", m.text)
		}
		if m := p.ask(`"type":"ping"`); m.at("type") != "pong" {
			t.Errorf("%s", m.text)
		}
		p.say(`{"id":"e","type":"emit","events":[` + paid + `]}`)
		stored, event := p.hear(), p.hear()
		if stored.at("type") != "emitted" { // the two may come in either order
			stored, event = event, stored
		}
		event.want(t, "s2", "order.paid")
		if stored.at("id") != "e" || stored.at("events.0.id") != event.at("event.id") || event.at("event.source.socketId") != first.at("socketId") {
			t.Errorf("%s\n%s", stored.text, event.text)
		}
		back := h.ann.connect()
		back.ask(`"type":"subscribe","filters":{"types":["order.paid","end"]},"after":"0-0"`)
		for _, eventType := range []string{"order.paid", "end", "order.paid"} {
			back.hear().want(t, "s1", eventType)
		}
	})
}

func TestSocketsRefuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		p := h.ann.connect()
		for command, code := range map[string]errs.Code{
			`"type":"dance"`: errs.ValidationFailed,
			`"type":"emit"`:  errs.ValidationFailed,
			`"type":"emit","events":[{"type":"workspaces.created","payload":{}}]`: errs.PermissionDenied,
			`"type":"emit","events":[{"type":"x","payload":{},"nonsense":1}]`:     errs.ValidationFailed,
			`"type":"emit","events":[{"type":"x","payload":1e99999}]`:             errs.ValidationFailed,
			`"type":"subscribe","after":"x"`:                                      errs.ValidationFailed,
			`"type":"subscribe","after":"4000000000000-0"`:                        errs.InvalidParameter,
			`"type":"subscribe","filters":{"payloadQuery":{"nonsense":1}}`:        errs.ValidationFailed,
			`"type":"subscribe","nonsense":1`:                                     errs.ValidationFailed,
			`"type":"unsubscribe","subscription":"s9"`:                            errs.ValidationFailed,
			`"type":"ping","type":"ping"`:                                         errs.InvalidRequest,
		} {
			if got := p.ask(command); got.at("type") != "error" || got.at("error") != string(code) || got.at("message") == "" {
				t.Errorf("%s: %s", command, got.text)
			}
		}
		p.say(`{`)
		if got := p.hear(); got.at("error") != string(errs.InvalidRequest) {
			t.Errorf("%s", got.text)
		}
		for range 50 {
			if got := p.ask(`"type":"subscribe"`); got.at("type") != "subscribed" {
				t.Fatalf("%s", got.text)
			}
		}
		if got := p.ask(`"type":"subscribe"`); got.at("error") != string(errs.QuotaExceeded) {
			t.Errorf("%s", got.text)
		}
		limited := false
		for range 100 {
			limited = limited || p.ask(`"type":"ping"`).at("error") == string(errs.RateLimitExceeded)
		}
		if !limited {
			t.Error("a client may say as much as it likes")
		}
		large := h.ann.connect()
		go func() { _ = large.conn.Write(t.Context(), websocket.MessageText, make([]byte, 6<<20)) }()
		if code := large.closed(); code != websocket.StatusMessageTooBig {
			t.Errorf("a large message: %d", code)
		}
		binary := h.ann.connect()
		_ = binary.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{}`))
		if code := binary.closed(); code != websocket.StatusUnsupportedData {
			t.Errorf("a binary message: %d", code)
		}
		h.ann.who.Scopes = []string{string(access.EventsRead)}
		if got := h.ann.connect().ask(`"type":"emit","events":[` + paid + `]`); got.at("error") != string(errs.InsufficientScope) {
			t.Errorf("%s", got.text)
		}
	})
}

// Who may not listen is refused before the protocol changes, in our words.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		for who, status := range map[*caller]int{h.eve: http.StatusForbidden, h.nobody: http.StatusUnauthorized} {
			_, answer, err := websocket.Dial(t.Context(), who.serve().URL+events, nil) //nolint:bodyclose // the library has
			if err == nil || answer == nil || answer.StatusCode != status || answer.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %v %v", who.who.Key(), answer, err)
			}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.ann.serve().URL+events, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "h2c")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusBadRequest {
			t.Errorf("another protocol: %v %v", answer, err)
		}
		_ = answer.Body.Close()
	})
}

// A socket that asks for its session gets of the events of sockets its own, unless they are meant for all.
func TestSocketsOfASession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		one, other := h.ann.connect(), h.ann.connect()
		const subscribe = `"type":"subscribe","filters":{"payloadQuery":{"source.sessionId":"session-ann"}}`
		one.ask(subscribe)
		other.ask(subscribe)
		for _, event := range []string{
			`{"type":"own","payload":{}}`, `{"type":"shared","payload":{},"target":{"currentSocket":false}}`, `{"type":"end","payload":{},"target":{"currentSocket":false}}`,
		} {
			one.say(`{"type":"emit","events":[` + event + `]}`)
		}
		h.ann.emit(`{"type":"rest","payload":{}}`).want(http.StatusOK)
		types := func(p *plug) (got string) {
			for !strings.Contains(got, "end") || !strings.Contains(got, "rest") {
				if m := p.hear(); m.at("type") == "event" {
					got += m.at("event.type") + " "
				}
			}
			return got
		}
		if got := types(one); !strings.Contains(got, "own") || !strings.Contains(got, "shared") {
			t.Errorf("the socket itself gets %s", got)
		}
		if got := types(other); strings.Contains(got, "own") || !strings.Contains(got, "shared") {
			t.Errorf("another one gets %s", got)
		}
	})
}

// A socket ends when its owner may not listen any more, when it does not answer, and when the server stops.
func TestSocketsEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		bob, ann := h.bob.connect(), h.ann.connect()
		bob.ask(`"type":"subscribe"`)
		ann.ask(`"type":"subscribe"`)
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM access_grants WHERE target = 'user:bob'`)
			return err
		})
		h.pass(5 * time.Second)
		const forbidden = 4403
		if code := bob.closed(); code != forbidden {
			t.Errorf("without a share: %d", code)
		}
		h.ann.emit(paid).want(http.StatusOK)
		ann.hear().want(t, "s1", "order.paid")
		ended := make(chan error, 1)
		go func() { ended <- h.whole.StopFeeds(context.WithoutCancel(t.Context())) }()
		if code := ann.closed(); code != websocket.StatusServiceRestart {
			t.Errorf("a server that stops: %d", code)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A socket that is too slow is told of each subscription where it goes on.
func TestSlowSockets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		slow, quick := h.ann.connect(), h.ann.listen("&types=end", "")
		slow.ask(`"type":"subscribe"`)
		const count = 500
		h.flood(count, 20_000)
		quick.next()
		got, m := 0, slow.hear()
		last := ""
		for ; m.at("type") == "event"; m = slow.hear() {
			got, last = got+1, m.at("event.id")
		}
		if m.at("type") != "gap" || m.at("subscription") != "s1" || m.at("after") != last {
			t.Fatalf("after %d: %s", got, m.text)
		}
		if code := slow.closed(); code != websocket.StatusTryAgainLater {
			t.Errorf("code %d", code)
		}
		back := h.ann.connect()
		back.ask(`"type":"subscribe","after":"` + last + `"`)
		for m = back.hear(); m.at("event.type") != "end"; m = back.hear() {
			got++
		}
		if got != count {
			t.Errorf("%d events in all", got)
		}
	})
}
