package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/internal/feed"
	"atelier/internal/events/internal/query"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
	"atelier/internal/socketio"
)

// Identify tells whose a credential is: the value of an Authorization header, or an API key.
type Identify func(ctx context.Context, authorization, apiKey string) (access.Principal, error)

// SocketIODeps is what clients of socket.io need besides a live feed.
type SocketIODeps struct {
	Live *Live
	// Cursors seal the ids of sockets, so that a client can prove which was its own.
	Cursors  *restapi.Cursors
	Identify Identify
	// PingInterval is how often clients are asked whether they are alive.
	PingInterval time.Duration
	// Cookie is what load balancers know the clients of one instance by.
	Cookie http.Cookie
	// Ended is told how long a client has listened; may be nil.
	Ended func(stayed time.Duration)
}

// SocketIO answers those who listen to events with a client of socket.io.
type SocketIO struct {
	SocketIODeps

	server   *socketio.Server
	watching watching

	filters  restapi.Form[query.Options]
	emitted  restapi.Form[EmitEvent]
	returned restapi.Form[returned]
}

// pingTimeout is how long a client may take to answer that it is alive.
const pingTimeout = 20 * time.Second

// RegisterSocketIO adds the address of socket.io.
func RegisterSocketIO(api *restapi.API, deps SocketIODeps) *SocketIO {
	s := &SocketIO{SocketIODeps: deps}
	s.server = socketio.New(socketio.Config{
		Clock: deps.Live.Clock, IDs: deps.Live.IDs, PingInterval: deps.PingInterval, PingTimeout: pingTimeout, Cookie: deps.Cookie,
		Caller: callerOf, Serve: s.serve, Ended: deps.Ended,
	})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.server.ServeHTTP(w, heard(r)) })
	for id, at := range map[string]struct{ method, path string }{
		"pollSocketIO": {http.MethodGet, "/socket.io/{$}"}, "postSocketIO": {http.MethodPost, "/socket.io/{$}"},
		"pollSocketIOBare": {http.MethodGet, "/socket.io"}, "postSocketIOBare": {http.MethodPost, "/socket.io"},
	} {
		api.Handle(restapi.Operation{ID: id, Method: at.method, Path: at.path, Tag: "Events", Policy: access.Public}, handler)
	}
	return s
}

// Close ends every connection and waits until nothing runs for them.
func (s *SocketIO) Close(ctx context.Context) error {
	if err := s.server.Close(ctx); err != nil {
		return err
	}
	s.watching.work.Wait()
	return nil
}

// Stats are the figures of the connections.
func (s *SocketIO) Stats() socketio.Stats { return s.server.Stats() }

// heard takes what the gateway of another process says of a credential that does not count.
func heard(r *http.Request) *http.Request {
	code := r.Header.Get(access.HeaderRefused)
	if code == "" {
		return r
	}
	refused := access.Principal{Refused: errs.New(errs.Code(code), "The credential that was sent is not valid.")}
	return r.WithContext(access.With(r.Context(), refused))
}

// callerOf names who sends a request, as the gateway knows it.
func callerOf(r *http.Request) string {
	p := access.From(r.Context())
	if p.Refused != nil {
		return "refused"
	}
	return p.Key() + " " + p.SessionID
}

// workspaceOf reads the name of a namespace.
func workspaceOf(namespace string) (ref string, ok bool) {
	const before, after = "/v2/workspaces/", "/events"
	ref, ok = strings.CutPrefix(namespace, before)
	if ok {
		ref, ok = strings.CutSuffix(ref, after)
	}
	return ref, ok && ref != "" && !strings.Contains(ref, "/")
}

// serve is a client in a namespace, from its coming to its going.
func (s *SocketIO) serve(ctx context.Context, sock *socketio.Socket) error {
	ref, ok := workspaceOf(sock.Namespace)
	if !ok {
		return &socketio.RefusedError{Message: "Invalid namespace"}
	}
	entry, err := s.knock(ctx, sock)
	if err != nil {
		return s.refuse(ctx, err)
	}
	ctx = access.With(ctx, entry.caller)
	l := &listener{io: s, sock: sock, ref: ref, said: rate{clock: s.Live.Clock}}
	if l.reader, err = s.Live.open(ctx, ref, feed.SocketIO); err != nil {
		return s.refuse(ctx, err)
	}
	defer l.reader.Close()
	resumed, err := l.subscribe(ctx, entry)
	if err != nil {
		return s.refuse(ctx, err)
	}
	defer s.watch(ctx, entry, l.reader.End)()
	return l.run(ctx, resumed)
}

// refuse makes of an error what a client is told. Faults of ours make it come back.
func (s *SocketIO) refuse(ctx context.Context, err error) error {
	if _, already := errors.AsType[*socketio.RefusedError](err); already {
		return err
	}
	problem := errs.From(err)
	if problem.Status() >= http.StatusInternalServerError {
		s.Live.report(ctx, err)
		return err
	}
	return &socketio.RefusedError{Message: problem.Show().Message, Data: problem.Show()}
}

// entry is what a client comes in with.
type entry struct {
	auth   auth
	caller access.Principal
	// authorization and apiKey are the credential that the client sent inside its socket. Those of its requests are the
	// gateway's business.
	authorization, apiKey string
	filter                query.Filter
}

// knock looks who a client is and what it wants.
func (s *SocketIO) knock(ctx context.Context, sock *socketio.Socket) (*entry, error) {
	said, err := readAuth(sock.Auth)
	if err != nil {
		return nil, err
	}
	e := &entry{auth: said}
	if err := s.identify(ctx, sock, e); err != nil {
		return nil, err
	}
	if err := access.ByRules.Check(e.caller); err != nil {
		return nil, err
	}
	if err := access.CheckScope(access.EventsRead, e.caller); err != nil {
		return nil, err
	}
	if len(said.Filters) > 0 {
		e.filter, err = s.options(said.Filters)
		return e, err
	}
	e.filter, err = query.FromParameters(listening(cloned(sock.Handshake().Query)), "limit", "page", "sort", "cursor", "sse", "lastEventId", "afterId",
		"EIO", "transport", "sid", "t", "b64", "j")
	return e, err
}

// identify finds the credential that counts: that of the requests when the client began with polling, what it says inside its
// socket, and then that of the request again.
func (s *SocketIO) identify(ctx context.Context, sock *socketio.Socket, e *entry) (err error) {
	outside := access.From(ctx)
	if sock.Handshake().Polling && outside.Kind != access.Nobody {
		e.caller = outside
		return nil
	}
	e.authorization, e.apiKey = e.auth.credential()
	switch {
	case e.authorization != "" || e.apiKey != "":
		e.caller, err = s.Identify(ctx, e.authorization, e.apiKey)
		return invalidCredentials(err)
	case outside.Kind != access.Nobody:
		e.caller = outside
		return nil
	case outside.Refused != nil:
		return invalidCredentials(outside.Refused)
	default:
		return &socketio.RefusedError{Message: "Missing authentication credentials", Data: access.MissingToken().Show()}
	}
}

// invalidCredentials words a refusal as clients of socket.io know it. Faults of ours stay what they are.
func invalidCredentials(err error) error {
	if err == nil || errs.From(err).Status() >= http.StatusInternalServerError {
		return err
	}
	return &socketio.RefusedError{Message: "AuthenticationError: Invalid authentication credentials", Data: errs.From(err).Show()}
}

// fresh gives a message of a client a correlation id of its own: each one begins something new.
func (s *SocketIO) fresh(ctx context.Context) context.Context {
	info := *httpx.InfoFrom(ctx)
	info.CorrelationID = s.Live.IDs.UUID()
	return httpx.WithInfo(ctx, &info)
}
