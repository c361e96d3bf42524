package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"strings"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
)

// auth is the object that a client of socket.io joins a namespace with. What else is in it is the client's own business.
type auth struct {
	ExtraHeaders  map[string]string `json:"extraHeaders"`
	Authorization string            `json:"authorization"`
	Filters       json.RawMessage   `json:"filters"`
	ReuseSocketID string            `json:"reuseSocketId"`
	// PID and Offset are of the library: the private id of the connection that it lost, and the last event that it got.
	PID    string `json:"pid"`
	Offset string `json:"offset"`
}

func readAuth(text json.RawMessage) (said auth, err error) {
	if len(text) == 0 {
		return said, nil
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return said, errs.Invalid(errs.Field{
			Field: "auth", Message: "use texts for extraHeaders.*, authorization, reuseSocketId, pid and offset, and an object for filters",
		})
	}
	if bytes.Equal(said.Filters, []byte("null")) {
		said.Filters = nil
	}
	return said, nil
}

// credential is the one that a client sends inside its socket: browsers cannot send headers with a WebSocket.
func (a auth) credential() (authorization, apiKey string) {
	for name, value := range a.ExtraHeaders {
		switch strings.ToLower(name) {
		case "authorization":
			authorization = value
		case "x-svc-api-key":
			apiKey = value
		}
	}
	if authorization == "" {
		authorization = a.Authorization
	}
	if authorization != "" {
		apiKey = ""
	}
	return authorization, apiKey
}

// options reads filters. What says which part of a list is meant means nothing to those who listen.
func (s *SocketIO) options(text json.RawMessage) (query.Filter, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return query.Filter{}, errs.Invalid(errs.Field{Field: "filters", Message: "use an object"})
	}
	for _, name := range []string{"afterDate", "beforeDate", "beforeId", "page", "limit", "sort"} {
		if _, there := all[name]; there {
			delete(all, name)
			text = nil
		}
	}
	if text == nil {
		text, _ = json.Marshal(all)
	}
	options, err := s.filters.Read(text)
	if err != nil {
		return query.Filter{}, err
	}
	return options.Filter()
}

// cloned keeps the handshake as it is for other namespaces.
func cloned(values url.Values) url.Values { return maps.Clone(values) }

// The id of a socket is sealed for its session and workspace, so that every instance knows at any time whether somebody who
// names one had it. The private id also tells where the socket began, for clients that are cut off before their first event.
func (s *SocketIO) newID(ctx context.Context, workspaceID string) (string, error) {
	return s.Cursors.Seal(ctx, socketScope(ctx, workspaceID), s.Live.IDs.File())
}

func (s *SocketIO) own(ctx context.Context, workspaceID, id string) bool {
	var made string
	return id != "" && s.Cursors.Open(ctx, socketScope(ctx, workspaceID), id, &made) == nil
}

func socketScope(ctx context.Context, workspaceID string) string {
	return "socket.io " + workspaceID + " " + access.From(ctx).SessionID
}

// pidSeparator stands between the id of a socket and where it began. It occurs in neither.
const pidSeparator = "."

func pidOf(id string, begin bus.Position) string { return id + pidSeparator + begin.ID() }

// lost is what a client says of a connection that it lost: its socket, and after which event it wants to go on. The private
// id is empty when it says nothing that can be believed.
func (s *SocketIO) lost(ctx context.Context, workspaceID string, said auth) (id, pid string, after bus.Position) {
	id, begun, _ := strings.Cut(said.PID, pidSeparator)
	begin, err := bus.ParseID(begun)
	if err == nil && s.own(ctx, workspaceID, id) {
		after = begin
		if offset, err := bus.ParseID(said.Offset); err == nil {
			after = max(after, offset)
		}
		return id, said.PID, max(after, 1)
	}
	if s.own(ctx, workspaceID, said.ReuseSocketID) {
		return said.ReuseSocketID, "", 0
	}
	return "", "", 0
}
