package value

import "math"

// Pieces writes what JSON writes, and hands it over bit by bit: a piece is good until the next one. It ends early when it is told
// that there is enough.
func Pieces(v any, indent string, take func(piece []byte) (more bool)) {
	p := &pieces{take: take}
	w := writer{indent: indent, limit: math.MaxInt, pieces: p}
	if out := w.append(nil, v, 0); len(out) > 0 && !p.enough {
		take(out)
	}
}

type pieces struct {
	take   func(piece []byte) bool
	enough bool
}

// pass hands over what is written so far, when that is much.
func (w writer) pass(out []byte) []byte {
	const much = 64 << 10
	if w.pieces == nil || len(out) < much {
		return out
	}
	if !w.pieces.enough {
		w.pieces.enough = !w.pieces.take(out)
	}
	return out[:0]
}
