package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"atelier/internal/errs"
	"atelier/internal/events/internal/feed"
)

const (
	// maxMessage is the largest message of a client: a batch of events, and what is around it.
	maxMessage = maxEmit + 1<<20
	// maxSubscriptions is how many one connection may have at the same time.
	maxSubscriptions = 50
	// socketWrite is how long a reader may take to take a message, socketPong how long to answer that it is alive.
	socketWrite, socketPong = 10 * time.Second, 10 * time.Second
	// refusedCode and a status of HTTP are the code that a connection is closed with when its owner is refused.
	refusedCode = 4000
)

// socket is a WebSocket. One goroutine reads what the client says and answers, another one sends events.
type socket struct {
	live    *Live
	conn    *websocket.Conn
	reader  *feed.Reader
	ref, id string
	said    rate
	next    int // the number of the last subscription; only the reading goroutine has it

	// mu keeps what is told of a subscription in order; nothing is told after a gap.
	mu            sync.Mutex
	subscriptions map[string]*feed.Subscription
	over          bool
}

// socket serves a WebSocket until one side ends it. The error is that of one which could not begin.
func (l *Live) socket(w http.ResponseWriter, r *http.Request, workspaceID string) error {
	if err := checkHandshake(r); err != nil {
		return err
	}
	ctx, done := endless(w, r)
	defer done()
	reader, err := l.open(ctx, workspaceID, feed.WebSocket)
	if err != nil {
		return err
	}
	defer reader.Close()
	// Where a page may come from that sends a cookie, the gateway has checked: only it knows how the caller proved itself.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // it has answered
	}
	conn.SetReadLimit(maxMessage)
	s := &socket{
		live: l, conn: conn, reader: reader, ref: workspaceID, id: l.IDs.UUID(), said: rate{clock: l.Clock}, subscriptions: map[string]*feed.Subscription{},
	}
	s.serve(ctx)
	return nil
}

// checkHandshake refuses in our own words what the library would refuse in its.
func checkHandshake(r *http.Request) error {
	upgrade := false
	for token := range strings.SplitSeq(strings.Join(r.Header.Values("Connection"), ","), ",") {
		upgrade = upgrade || strings.EqualFold(strings.TrimSpace(token), "upgrade")
	}
	switch {
	case !upgrade || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return errs.New(errs.InvalidRequest, "The only protocol to upgrade to is websocket, with Connection: Upgrade.")
	case r.Header.Get("Sec-Websocket-Version") != "13" || len(r.Header.Values("Sec-Websocket-Key")) != 1:
		return errs.New(errs.InvalidRequest, "Send Sec-WebSocket-Version: 13 and one Sec-WebSocket-Key.")
	default:
		return nil
	}
}

func (s *socket) serve(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	var sending sync.WaitGroup
	sending.Go(func() {
		s.close(why(ctx, s.send(ctx)))
		cancel(nil) // a command that is under way ends too
	})
	s.listen(ctx)
	cancel(context.Canceled)
	sending.Wait()
}

// send sends events, and asks whether the client is alive, until there is a reason to end.
func (s *socket) send(ctx context.Context) error {
	var asking sync.WaitGroup
	defer asking.Wait()
	for {
		items, err := s.reader.Next(ctx)
		if err != nil {
			return err
		}
		events := items[:0]
		for _, item := range items {
			if item.Subscription != nil {
				events = append(events, item)
				continue
			}
			asking.Go(func() { s.ask(ctx) })
		}
		if err := s.deliver(events); err != nil {
			return err
		}
	}
}

// ask cuts the connection of a client that does not answer.
func (s *socket) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, socketPong)
	defer cancel()
	if err := s.conn.Ping(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		_ = s.conn.CloseNow()
	}
}

// deliver sends events of subscriptions that are still there.
func (s *socket) deliver(items []feed.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range items {
		name := item.Subscription.Name
		if s.over {
			return feed.ErrGap
		}
		if s.subscriptions[name] != item.Subscription {
			continue
		}
		text := make([]byte, 0, len(item.Event)+len(name)+eventFrame)
		text = append(text, `{"type":"event","subscription":"`+name+`","event":`...)
		if err := s.write(append(append(text, item.Event...), '}')); err != nil {
			return err
		}
		item.Subscription.Delivered(item.Position)
	}
	return nil
}

// eventFrame is what a message has besides the event and the name of its subscription.
const eventFrame = 48

// write sends a message. A client that does not take it in time is cut off. What the connection is about may have ended: a
// message that is begun is finished.
func (s *socket) write(text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), socketWrite)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// tell sends a message of the server.
func (s *socket) tell(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.write(text)
}

// close ends the connection and says why.
func (s *socket) close(reason error) {
	refusal, refused := errors.AsType[*errs.Error](reason)
	switch {
	case errors.Is(reason, feed.ErrGap):
		s.gap()
		_ = s.conn.Close(websocket.StatusTryAgainLater, "too slow; subscribe again after the last event")
	case errors.Is(reason, feed.ErrClosed):
		_ = s.conn.Close(websocket.StatusServiceRestart, "the server is stopping; connect again")
	case refused && refusal.Status() < http.StatusInternalServerError:
		_ = s.tell(failure(nil, refusal))
		_ = s.conn.Close(websocket.StatusCode(refusedCode+refusal.Status()), string(refusal.Code))
	case errors.Is(reason, context.Canceled): // the client has left, or has broken the rules and was told
		_ = s.conn.CloseNow()
	default:
		_ = s.conn.Close(websocket.StatusInternalError, "something went wrong; connect again")
	}
}

// gap tells of every subscription where it has to go on.
func (s *socket) gap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for name, subscription := range s.subscriptions {
		message := map[string]string{"type": "gap", "subscription": name, "after": subscription.Last().ID()}
		if s.tell(message) != nil {
			return
		}
	}
}

// listen does what the client says until it leaves.
func (s *socket) listen(ctx context.Context) {
	for {
		kind, text, err := s.conn.Read(context.WithoutCancel(ctx)) // an end that the server wants is told to the client before it is cut
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = s.conn.Close(websocket.StatusUnsupportedData, "send text messages")
			return
		}
		if err := s.obey(ctx, text); err != nil {
			s.reader.End(err)
		}
	}
}

// name makes the name of the next subscription.
func (s *socket) name() string {
	s.next++
	return "s" + strconv.Itoa(s.next)
}
