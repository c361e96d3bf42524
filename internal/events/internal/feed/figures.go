package feed

// Kind is what somebody listens with.
type Kind string

// The kinds.
const (
	SSE       Kind = "sse"
	WebSocket Kind = "websocket"
	SocketIO  Kind = "socket.io"
)

// Figures tell how many listen, and to what.
type Figures struct {
	// Sockets are the connections that listen, by kind.
	Sockets map[Kind]int `json:"sockets"`
	// Subscribers are the subscriptions of these connections.
	Subscribers int `json:"subscribers"`
	// Workspaces is how many different ones are listened to.
	Workspaces int `json:"workspaces"`
}

// Figures are those of this process at this moment.
func (h *Hub) Figures() Figures {
	counted := Figures{Sockets: map[Kind]int{SSE: 0, WebSocket: 0, SocketIO: 0}}
	workspaces := map[string]struct{}{}
	for _, r := range h.all() {
		counted.Sockets[r.kind]++
		counted.Subscribers += r.count()
		workspaces[r.workspaceID] = struct{}{}
	}
	counted.Workspaces = len(workspaces)
	return counted
}

// count is how many subscriptions the reader has.
func (r *Reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.subscriptions)
}
