package socketio

import "sync/atomic"

// stats count what happened since the start.
type stats struct{ joined, left, received, sent, bytesIn, bytesOut atomic.Int64 }

// Stats is what a server has done since its start.
type Stats struct {
	// Connections are those of this moment, Joined and Left count clients in namespaces.
	Connections  int
	Joined, Left int64
	// Received and Sent are messages of clients and to them, BytesIn and BytesOut the size of everything.
	Received, Sent, BytesIn, BytesOut int64
}

// Stats gives the figures of this moment.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Connections: len(s.conns), Joined: s.stats.joined.Load(), Left: s.stats.left.Load(),
		Received: s.stats.received.Load(), Sent: s.stats.sent.Load(), BytesIn: s.stats.bytesIn.Load(), BytesOut: s.stats.bytesOut.Load(),
	}
}
