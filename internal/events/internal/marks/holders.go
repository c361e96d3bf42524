package marks

import (
	"slices"

	"atelier/internal/events/internal/query"
)

// How much is looked at to find out what is held; there is no end to the paths that events can have.
const (
	mostHolders = 4096  // workspaces
	mostPaths   = 512   // of a workspace
	mostHeld    = 65536 // of all
	lateBlocks  = mostBlocks / lackingPart
	lackingPart = 8 // of the blocks of a workspace may have an event without a path; with more of them looking is quick anyway
	eventsPart  = 4 // of a block is how many events of a workspace are worth it
)

// holders finds out, for blocks that follow one another, which paths nearly all events of a workspace have.
type holders struct {
	from, next uint16
	block      int
	workspaces map[string]*holder
	now        []*holder // who has events in the block
	one        *holder   // whose event it is; nil when nobody looks at it
	event      int
	paths      int
}

// holder is a workspace.
type holder struct {
	events, inBlock int
	blocks          []uint16 // in which it has events
	paths           map[uint64]*holding
}

// holding is a path of it.
type holding struct {
	path    string
	event   int // the last that had it
	inBlock int
	lacking []uint16 // blocks
	wrong   bool     // nothing is known
}

func newHolders(from uint16, block int) *holders {
	return &holders{from: from, next: from, block: block, workspaces: map[string]*holder{}}
}

// begin begins an event.
func (h *holders) begin(workspaceID string, block uint16) {
	h.next = block + 1
	h.event++
	if h.one = h.workspaces[workspaceID]; h.one == nil {
		if len(h.workspaces) == mostHolders {
			return
		}
		h.one = &holder{paths: map[uint64]*holding{}}
		h.workspaces[workspaceID] = h.one
	}
	if h.one.inBlock == 0 {
		h.now = append(h.now, h.one)
	}
	h.one.inBlock++
	h.one.events++
}

// path is a path that the event has. A path that comes late was lacking before.
func (h *holders) path(path []byte, hash uint64) {
	one := h.one
	if one == nil {
		return
	}
	p := one.paths[hash]
	if p == nil {
		if len(one.paths) == mostPaths || h.paths == mostHeld || len(one.blocks) > lateBlocks {
			return
		}
		h.paths++
		p = &holding{path: string(path), lacking: slices.Clone(one.blocks)}
		one.paths[hash] = p
	}
	switch {
	case p.path != string(path): // another one with the same hash
		p.wrong = true
	case p.event != h.event:
		p.event = h.event
		p.inBlock++
	}
}

// endBlock ends a block, if there is one.
func (h *holders) endBlock() {
	for _, one := range h.now {
		number := h.next - 1
		for _, p := range one.paths {
			if p.inBlock < one.inBlock && !p.wrong {
				p.lacking = append(p.lacking, number)
				p.wrong = len(p.lacking) > 1+lateBlocks
			}
			p.inBlock = 0
		}
		one.inBlock, one.blocks = 0, append(one.blocks, number)
	}
	h.now = h.now[:0]
}

// usual are the paths that nearly all events of their workspace have, and in which blocks all of them do. Where a workspace has
// no events, all of them do.
func (h *holders) usual() map[query.Path][]stretch {
	found := map[query.Path][]stretch{}
	for workspaceID, one := range h.workspaces {
		if one.events < h.block/eventsPart {
			continue
		}
		for _, p := range one.paths {
			if p.wrong || len(p.lacking) > 1+len(one.blocks)/lackingPart {
				continue
			}
			if stretches := h.between(p.lacking); len(stretches) > 0 {
				found[query.PathOf(workspaceID, p.path)] = stretches
			}
		}
	}
	return found
}

// between are the stretches between blocks.
func (h *holders) between(lacking []uint16) (stretches []stretch) {
	from := h.from
	for _, block := range lacking {
		if from < block {
			stretches = append(stretches, stretch{from, block})
		}
		from = block + 1
	}
	if from < h.next {
		stretches = append(stretches, stretch{from, h.next})
	}
	return stretches
}
