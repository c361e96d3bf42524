// Package marks keeps, beside the log, where events may be that have a value at a path. It is made in the background, after the
// events; what has no marks yet is read as if there were none anywhere. Marks only say where to look: whoever looks decides.
package marks

import (
	"encoding/binary"
	"slices"

	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

const (
	buckets     = 512
	bucketShift = 64 - 9 // the first bits of a mark are its bucket
	blockBits   = 10
	hashMask    = 1<<(32-blockBits) - 1
	entryBytes  = 4
	endBytes    = 8
	mostBlocks  = 1 << blockBits
)

// Sizes say how much belongs together. The zero value is right for every installation.
type Sizes struct {
	// Block is how many events are read to find one of them; Blocks is how many of those a group has, at most 1,024.
	Block, Blocks int
	// Least is how many events are worth making marks for.
	Least int
}

// Marks keeps the marks of the log in DB.
type Marks struct {
	DB    *sqldb.DB
	Sizes Sizes
}

// sizes are those that hold: 65,536 events to a group, and up to 1,024 that have no marks yet.
func (m Marks) sizes() Sizes {
	s := m.Sizes
	if s.Block <= 0 {
		s.Block = 64
	}
	if s.Blocks <= 0 || s.Blocks > mostBlocks {
		s.Blocks = mostBlocks
	}
	if s.Least <= 0 {
		s.Least = 512
	}
	return s
}

// least is how many events are worth adding to a group that has some: it is written as a whole.
func (s Sizes) least(events int) int {
	const part = 64
	return max(s.Least, events/part)
}

// group collects the marks of events that follow one another.
type group struct {
	block int
	count int
	ends  []byte
	lists [buckets][]uint32
	seen  map[uint64]struct{} // in the block
}

func newGroup(block int) *group { return &group{block: block, seen: map[uint64]struct{}{}} }

func (g *group) add(at bus.Position, workspaceID string, body []byte) {
	if g.count%g.block == 0 {
		clear(g.seen)
		g.ends = append(g.ends, make([]byte, endBytes)...)
	}
	number := uint32(len(g.ends)/endBytes - 1) //nolint:gosec // a group has at most 1,024 blocks
	g.count++
	binary.LittleEndian.PutUint64(g.ends[len(g.ends)-endBytes:], uint64(at)) //nolint:gosec // positions are positive
	query.Marks(workspaceID, body, func(mark uint64) {
		if _, again := g.seen[mark]; again {
			return
		}
		g.seen[mark] = struct{}{}
		bucket := mark >> bucketShift
		g.lists[bucket] = append(g.lists[bucket], entry(mark)|number)
	})
}

// entry is what is kept of a mark beside the number of its block.
func entry(mark uint64) uint32 { return uint32(mark&hashMask) << blockBits }

// encoded are the marks of a bucket; nil when it has none.
func (g *group) encoded(bucket int) []byte {
	slices.Sort(g.lists[bucket])
	list := slices.Compact(g.lists[bucket])
	text := make([]byte, 0, entryBytes*len(list))
	for _, e := range list {
		text = binary.LittleEndian.AppendUint32(text, e)
	}
	return text
}

// restore takes back what encoded gave. What the last block has already may be noted in it once more.
func (g *group) restore(bucket int64, marks []byte) {
	for ; len(marks) >= entryBytes; marks = marks[entryBytes:] {
		g.lists[bucket] = append(g.lists[bucket], binary.LittleEndian.Uint32(marks))
	}
}

// blocks is a set of blocks of a group.
type blocks []bool

// find adds the blocks where a mark is in the marks of its bucket.
func (b blocks) find(marks []byte, mark uint64) {
	first := entry(mark)
	at := func(i int) uint32 { return binary.LittleEndian.Uint32(marks[entryBytes*i:]) }
	low, high := 0, len(marks)/entryBytes
	for low < high {
		if middle := (low + high) / 2; at(middle) < first {
			low = middle + 1
		} else {
			high = middle
		}
	}
	for ; low < len(marks)/entryBytes && at(low)&^(mostBlocks-1) == first; low++ {
		b[at(low)&(mostBlocks-1)] = true
	}
}

// keep removes the blocks that are not in another set.
func (b blocks) keep(other blocks) {
	for i, there := range other {
		b[i] = b[i] && there
	}
}
