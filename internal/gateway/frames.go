package gateway

import (
	"encoding/binary"
	"encoding/json"
	"net"

	"atelier/internal/errs"
)

// What the frames of a WebSocket begin with, and the codes that a connection is closed with.
const (
	frameText, frameClose = 0x81, 0x88
	frameFinal            = 0x80
	frameKind             = 0x0f
	frameControl          = 0x08 // kinds from here on stand between the parts of a message
	frameMasked           = 0x80
	frameLength           = 0x7f
	lengthOfTwo           = 126
	lengthOfEight         = 127
	maskLength            = 4

	closeRestart, closeLater = 1012, 1013
	// closeRefused and a status of HTTP are the code when somebody is refused.
	closeRefused = 4000
)

// frames are what a service sends over a WebSocket.
type frames struct {
	socketIO bool
	header   []byte // what is known of the head of the next frame
	rest     uint64 // of the frame that is being sent
	parts    bool   // a message is sent in parts, and is not finished
	closed   bool   // the service has closed it
}

func (f *frames) whole() bool { return len(f.header) == 0 && f.rest == 0 }

func (f *frames) follow(sent []byte) {
	for len(sent) > 0 {
		if f.rest > 0 {
			n := min(f.rest, uint64(len(sent)))
			f.rest -= n
			sent = sent[n:]
			continue
		}
		f.header, sent = append(f.header, sent[0]), sent[1:]
		if need := f.need(); len(f.header) >= 2 && len(f.header) == need {
			f.begin()
		}
	}
}

// need is how long the head of the frame is.
func (f *frames) need() int {
	const head, two, eight = 2, 2, 8
	if len(f.header) < head {
		return head
	}
	need := head
	switch f.header[1] & frameLength {
	case lengthOfTwo:
		need += two
	case lengthOfEight:
		need += eight
	}
	if f.header[1]&frameMasked != 0 {
		need += maskLength
	}
	return need
}

// begin takes the head of a frame.
func (f *frames) begin() {
	h := f.header
	switch length := h[1] & frameLength; length {
	case lengthOfTwo:
		f.rest = uint64(binary.BigEndian.Uint16(h[2:]))
	case lengthOfEight:
		f.rest = binary.BigEndian.Uint64(h[2:])
	default:
		f.rest = uint64(length)
	}
	if h[0]&frameKind < frameControl {
		f.parts = h[0]&frameFinal == 0
	}
	f.closed = f.closed || h[0] == frameClose
	f.header = f.header[:0]
}

// last says what the service would: an error of the feed, which clients of socket.io would not understand, and the code.
func (f *frames) last(p parting) []byte {
	switch {
	case f.closed:
		return nil
	case p.stops:
		return closing(nil, closeRestart, "the server is stopping; connect again")
	case f.socketIO:
		return closing(nil, closeLater, "connect again")
	}
	var text []byte
	shown := p.reason.Show()
	said, err := json.Marshal(struct {
		Type    string         `json:"type"`
		Error   errs.Code      `json:"error"`
		Message string         `json:"message"`
		Details map[string]any `json:"details,omitempty"`
	}{"error", shown.Error, shown.Message, shown.Details})
	if err == nil && !f.parts {
		text = frame(nil, frameText, said)
	}
	return closing(text, uint16(closeRefused+p.reason.Status()), string(p.reason.Code)) //nolint:gosec // a status of HTTP
}

// frame adds a frame of up to 64 KiB.
func frame(to []byte, kind byte, content []byte) []byte {
	if len(content) < lengthOfTwo {
		to = append(to, kind, byte(len(content))) //nolint:gosec // it fits
	} else {
		to = binary.BigEndian.AppendUint16(append(to, kind, lengthOfTwo), uint16(len(content))) //nolint:gosec // errors are short
	}
	return append(to, content...)
}

func closing(to []byte, code uint16, why string) []byte {
	return frame(to, frameClose, append(binary.BigEndian.AppendUint16(nil, code), why...))
}

// plug is the connection of a WebSocket that a service in another process serves.
type plug struct {
	net.Conn

	farewell *farewell
}

// Write sends what the service says.
func (p *plug) Write(text []byte) (int, error) { return p.farewell.Write(text) }

// Read reads what the client says, and notes that it has heard the last word: it closes its side, or has gone.
func (p *plug) Read(into []byte) (int, error) {
	n, err := p.Conn.Read(into)
	if err != nil || n > 0 && into[0] == frameClose {
		p.farewell.leave()
	}
	return n, err
}

// CloseWrite tells the client that nothing more comes, where connections can.
func (p *plug) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return p.Close()
}
