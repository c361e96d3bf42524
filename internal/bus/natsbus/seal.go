package natsbus

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"atelier/internal/bus"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

// sealer proves that a message was made by an instance that can read the database. Whoever can write to the broker but
// not to the database can neither forge an event nor change one.
type sealer struct{ key []byte }

// loadSealer reads the key that all instances share and makes it on first use.
func loadSealer(ctx context.Context, db *sqldb.DB) (sealer, error) {
	var secret string
	err := db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO bus_keys (name, secret) VALUES ('nats', $1) ON CONFLICT (name) DO NOTHING`,
			ident.Source{}.Secret())
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT secret FROM bus_keys WHERE name = 'nats'`).Scan(&secret)
	})
	if err != nil {
		return sealer{}, fmt.Errorf("load the key of the event messages: %w", err)
	}
	return sealer{key: []byte(secret)}, nil
}

// message is an event on its way. Previous is the event before it in the partition: a reader that has not seen that one
// has missed something. A pointer says only that the event exists; it is too large to send.
type message struct {
	previous bus.Position
	event    bus.Event
	pointer  bool
}

const (
	kindEvent   = 1
	kindPointer = 2
)

var errSeal = errors.New("the message was not made by this installation")

// seal writes the message: its code, then kind, positions, texts with their lengths, and the body.
func (s sealer) seal(m message) []byte {
	out := make([]byte, sha256.Size, sha256.Size+len(m.event.Body)+len(m.event.WorkspaceID)+len(m.event.Type)+2*binary.MaxVarintLen64+8)
	kind := byte(kindEvent)
	if m.pointer {
		kind = kindPointer
	}
	out = append(out, kind)
	out = binary.AppendUvarint(out, uint64(m.previous))       //nolint:gosec // positions are never negative
	out = binary.AppendUvarint(out, uint64(m.event.Position)) //nolint:gosec // likewise
	if !m.pointer {
		out = appendText(out, m.event.WorkspaceID)
		out = appendText(out, m.event.Type)
		out = append(out, m.event.Body...)
	}
	copy(out, s.code(out[sha256.Size:]))
	return out
}

// open checks and reads a message.
func (s sealer) open(data []byte) (message, error) {
	if len(data) < sha256.Size || !hmac.Equal(data[:sha256.Size], s.code(data[sha256.Size:])) {
		return message{}, errSeal
	}
	r := reader{rest: data[sha256.Size:]}
	kind := r.byte()
	m := message{pointer: kind == kindPointer, previous: bus.Position(r.number())} //nolint:gosec // sealed by us
	m.event.Position = bus.Position(r.number())                                    //nolint:gosec // sealed by us
	if !m.pointer {
		m.event.WorkspaceID = r.text()
		m.event.Type = r.text()
		m.event.Body = r.rest
	}
	if r.broken || (kind != kindEvent && kind != kindPointer) {
		return message{}, errors.New("the message is of a newer kind")
	}
	return m, nil
}

func (s sealer) code(content []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write(content) // never fails
	return mac.Sum(nil)
}

func appendText(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

// reader takes a message apart; broken is set when there is less of it than it says.
type reader struct {
	rest   []byte
	broken bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.broken = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.broken = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.broken = true
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
