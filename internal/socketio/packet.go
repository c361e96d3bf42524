package socketio

import (
	"encoding/json"
	"strings"
)

// The packets of socket.io. Those for binary messages, 5 and 6, are refused.
const (
	kindConnect    = '0'
	kindDisconnect = '1'
	kindEvent      = '2'
	kindAck        = '3'
	kindRefused    = '4'
	kindBinary     = '5'
	kindBinaryAck  = '6'
)

const (
	// maxName is the longest name of a namespace.
	maxName = 200
	// maxAck is how many digits the number of an acknowledgement has.
	maxAck = 15
	root   = "/"
)

// packet is one of socket.io: a kind, a namespace, and for messages the number that the client wants an answer by.
type packet struct {
	kind      byte
	namespace string
	ack       string
	data      string
}

// parse reads a packet.
func parse(text string) (p packet, err error) {
	if text == "" {
		return p, errProtocol
	}
	p.kind, p.namespace, text = text[0], root, text[1:]
	if p.kind == kindBinary || p.kind == kindBinaryAck {
		return p, errBinary
	}
	if strings.HasPrefix(text, "/") {
		p.namespace, text, _ = strings.Cut(text, ",")
	}
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	p.ack, p.data = text[:digits], text[digits:]
	if p.kind < kindConnect || p.kind > kindRefused || len(p.namespace) > maxName || digits > maxAck {
		return p, errProtocol
	}
	return p, nil
}

// String writes the packet as a message of engine.io.
func (p packet) String() string {
	var text strings.Builder
	text.Grow(len(p.namespace) + len(p.ack) + len(p.data) + len("42,"))
	text.WriteString(packetMessage)
	text.WriteByte(p.kind)
	if p.namespace != root {
		text.WriteString(p.namespace)
		text.WriteByte(',')
	}
	text.WriteString(p.ack)
	text.WriteString(p.data)
	return text.String()
}

// Message is what a client says: a name and arguments.
type Message struct {
	Name string
	Args []json.RawMessage

	socket *Socket
	ack    string
}

// message reads what a packet says.
func (p packet) message() (m Message, err error) {
	var all []json.RawMessage
	if json.Unmarshal([]byte(p.data), &all) != nil || len(all) == 0 || json.Unmarshal(all[0], &m.Name) != nil {
		return m, errProtocol
	}
	m.Args, m.ack = all[1:], p.ack
	return m, nil
}

// Asked tells whether the client waits for an answer.
func (m Message) Asked() bool { return m.ack != "" }

// Answer answers a message of which that is asked.
func (m Message) Answer(value any) error {
	text, err := json.Marshal([]any{value})
	if err != nil {
		return err
	}
	return m.socket.send(packet{kind: kindAck, namespace: m.socket.Namespace, ack: m.ack, data: string(text)})
}

// arguments writes a message to a client. Arguments are JSON.
func arguments(name string, args ...[]byte) string {
	var text strings.Builder
	quoted, _ := json.Marshal(name)
	size := len(quoted) + len("[]")
	for _, arg := range args {
		size += 1 + len(arg)
	}
	text.Grow(size)
	text.WriteByte('[')
	text.Write(quoted)
	for _, arg := range args {
		text.WriteByte(',')
		text.Write(arg)
	}
	text.WriteByte(']')
	return text.String()
}
