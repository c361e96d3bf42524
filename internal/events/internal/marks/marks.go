// Package marks keeps, beside the log, where events may be that have a value at a path, or a word, and where none can be that have
// nothing at a path. It is made in the background, after the events; what has no marks yet is read as if there were none anywhere.
// Marks only say where to look: whoever looks decides.
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
	wordless    = buckets // the bucket of events that have not the marks of all their words
	heldBuckets = 32      // those of what is held
	allBuckets  = 1 + buckets + heldBuckets
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
	// Most is how many marks a group has, about: with as many it is full.
	Most int
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
	if s.Most <= 0 {
		s.Most = 4 << 20
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
	most  int // marks
	count int
	ends  []byte
	lists [buckets + 1][]uint32
	size  int                 // of all lists
	seen  map[uint64]struct{} // in the block
	held  held
	fresh *holders // of the blocks that were added
}

func newGroup(s Sizes) *group {
	return &group{block: s.Block, most: s.Most, seen: map[uint64]struct{}{}, held: held{}, fresh: newHolders(0, s.Block)}
}

// number is that of the block that events are added to.
func (g *group) number() uint16 { return uint16(len(g.ends)/endBytes - 1) } //nolint:gosec // a group has at most 1,024 blocks

func (g *group) add(e bus.Event) {
	if g.count%g.block == 0 {
		g.fresh.endBlock()
		clear(g.seen)
		g.ends = append(g.ends, make([]byte, endBytes)...)
	}
	g.count++
	binary.LittleEndian.PutUint64(g.ends[len(g.ends)-endBytes:], uint64(e.Position)) //nolint:gosec // positions are positive
	g.fresh.begin(e.WorkspaceID, g.number())
	// a group that is made anew may have more events than it would get today
	if !query.Marks(e, query.Found{Mark: g.mark, Path: g.fresh.path, NoWords: g.size > 2*g.most}) {
		g.note(wordless, query.Wordless(e.WorkspaceID))
	}
}

func (g *group) mark(mark uint64) {
	if _, again := g.seen[mark]; again {
		return
	}
	g.seen[mark] = struct{}{}
	g.note(mark>>bucketShift, mark)
}

func (g *group) note(bucket, mark uint64) {
	g.lists[bucket] = append(g.lists[bucket], entry(mark)|uint32(g.number()))
	g.size++
}

// finish makes what is stored of the group.
func (g *group) finish() (stored [allBuckets][]byte) {
	for bucket := range g.lists {
		stored[bucket] = g.encoded(bucket)
	}
	g.fresh.endBlock()
	g.held.add(g.fresh)
	g.size += g.held.encode(&stored) / entryBytes
	return stored
}

func bucketOf(mark uint64) int64 { return int64(mark >> bucketShift) }

// entry is what is kept of a mark beside the number of its block.
func entry(mark uint64) uint32 { return uint32(mark&hashMask) << blockBits }

// encoded are the marks of a bucket; empty when it has none.
func (g *group) encoded(bucket int) []byte {
	slices.Sort(g.lists[bucket])
	list := slices.Compact(g.lists[bucket])
	text := make([]byte, 0, entryBytes*len(list))
	for _, e := range list {
		text = binary.LittleEndian.AppendUint32(text, e)
	}
	return text
}

// restore takes back what finish gave. Marks of a block that was not whole are found once more, which does no harm.
func (g *group) restore(bucket int64, stored []byte) {
	if bucket > wordless {
		g.held.restore(stored, uint16(len(g.ends)/endBytes)) //nolint:gosec // a group has at most 1,024 blocks
		return
	}
	for ; len(stored) >= entryBytes; stored = stored[entryBytes:] {
		g.lists[bucket] = append(g.lists[bucket], binary.LittleEndian.Uint32(stored))
		g.size++
	}
}

// begin takes the whole blocks of a group as it was stored, to go on after them.
func (g *group) begin(ends []byte, events int) {
	whole := min(events/g.block, len(ends)/endBytes)
	g.count, g.ends = whole*g.block, slices.Clone(ends[:whole*endBytes])
	g.fresh = newHolders(uint16(whole), g.block) //nolint:gosec // a group has at most 1,024 blocks
}

// last is the position of the last event; zero when there is none.
func (g *group) last() bus.Position {
	if len(g.ends) == 0 {
		return 0
	}
	return bus.Position(binary.LittleEndian.Uint64(g.ends[len(g.ends)-endBytes:])) //nolint:gosec // it was a position
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
