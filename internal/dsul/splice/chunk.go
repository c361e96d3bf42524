package splice

// chunk is the lines of an entry or item in a block collection: from the comments that belong to it to the beginning of
// the line behind it.
type chunk struct{ from, to int }

// chunks cuts a block collection into the lines of its entries. What stands between two chunks belongs to neither.
func (d *document) chunks(n *node) []chunk {
	chunks := make([]chunk, len(n.slots))
	for i := range n.slots {
		chunks[i] = d.chunk(n, i)
	}
	return chunks
}

// chunk is the lines of one entry or item.
func (d *document) chunk(n *node, slot int) chunk {
	floor := 0
	switch {
	case slot > 0:
		floor = d.trail(n, n.slots[slot-1])
	case n.parent == nil:
		floor = n.intro
	}
	return chunk{d.lead(n, n.slots[slot], floor), d.trail(n, n.slots[slot])}
}

// lead is where the comments begin that stand directly above an entry, at its column. Those at the very top of the text
// are about the text, not about its first entry.
func (d *document) lead(n *node, s slot, floor int) int {
	if !d.own(s.start) {
		return s.start
	}
	line := d.line(s.start)
	top := line
	for top > 0 && d.lines[top-1] >= floor {
		column, ok := d.comment(d.lines[top-1])
		if !ok || column != n.column {
			break
		}
		top--
	}
	if top == 0 && n.parent == nil {
		return d.lines[line]
	}
	return d.lines[top]
}

// trail is the line behind an entry. Comments that follow it and are indented further belong to it.
func (d *document) trail(n *node, s slot) int {
	end := d.nextLine(s.end)
	for line := end; line < len(d.raw); {
		column, ok := d.comment(line)
		next := d.nextLine(line)
		switch {
		case ok && column > n.column:
			end = next
		case ok || !d.rest(line):
			return end
		}
		if next == line {
			return end
		}
		line = next
	}
	return end
}

// shares tells whether an entry shares its line with what introduces the collection.
func (d *document) shares(s slot) bool { return !d.own(s.start) }
