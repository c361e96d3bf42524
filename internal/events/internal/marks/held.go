package marks

import (
	"encoding/binary"
	"maps"
	"slices"

	"atelier/internal/events/internal/query"
)

// What is held is where every event of a workspace has something at a path: who looks for one that has nothing there may pass it
// over. That must be true, so paths are told apart by all that they are, and not by some bits of a hash.

// stretch is a row of blocks, without the last.
type stretch struct{ from, to uint16 }

// held has the stretches of paths, in order.
type held map[query.Path][]stretch

const heldBytes = len(query.Path{}) + 4

// add takes over what was found out about the blocks that follow.
func (h held) add(found *holders) {
	for path, stretches := range found.usual() {
		before := h[path]
		if last := len(before) - 1; last >= 0 && before[last].to == stretches[0].from {
			before[last].to = stretches[0].to
			stretches = stretches[1:]
		}
		h[path] = append(before, stretches...)
	}
}

func heldBucket(path query.Path) int { return wordless + 1 + int(path[0])%heldBuckets }

// encode adds what is stored of it, and tells how many bytes that are.
func (h held) encode(stored *[allBuckets][]byte) (size int) {
	for _, path := range slices.SortedFunc(maps.Keys(h), func(a, b query.Path) int { return slices.Compare(a[:], b[:]) }) {
		bucket := heldBucket(path)
		for _, s := range h[path] {
			stored[bucket] = append(stored[bucket], path[:]...)
			stored[bucket] = binary.LittleEndian.AppendUint16(stored[bucket], s.from)
			stored[bucket] = binary.LittleEndian.AppendUint16(stored[bucket], s.to)
			size += heldBytes
		}
	}
	return size
}

// eachHeld calls visit with everything that encode gave.
func eachHeld(stored []byte, visit func(path query.Path, s stretch)) {
	for ; len(stored) >= heldBytes; stored = stored[heldBytes:] {
		ends := stored[len(query.Path{}):]
		visit(query.Path(stored[:len(query.Path{})]), stretch{binary.LittleEndian.Uint16(ends), binary.LittleEndian.Uint16(ends[2:])})
	}
}

// restore takes back what encode gave, of the first blocks alone.
func (h held) restore(stored []byte, whole uint16) {
	eachHeld(stored, func(path query.Path, s stretch) {
		if s.to = min(s.to, whole); s.from < s.to {
			h[path] = append(h[path], s)
		}
	})
}

// lack adds the blocks where an event may have nothing at a path.
func (b blocks) lack(stored []byte, path query.Path) {
	missing := make(blocks, len(b))
	for i := range missing {
		missing[i] = true
	}
	eachHeld(stored, func(there query.Path, s stretch) {
		if there == path {
			clear(missing[s.from:s.to])
		}
	})
	for i, there := range missing {
		b[i] = b[i] || there
	}
}
