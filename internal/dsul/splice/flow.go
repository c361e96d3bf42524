package splice

import "strings"

// reshapeFlow takes out and adds entries of a flow collection that keeps at least one.
func (e *editor) reshapeFlow(n *node, r *reshape) {
	between, prefix := e.style.comma(), ""
	if first := n.slots[0].start; e.own(first) {
		prefix = string(e.raw[e.lineStart(first):first])
		between = "," + e.style.nl + prefix
	}
	for i := range n.slots {
		if adds := r.add[i]; len(adds) > 0 {
			e.appendFlow(n, i, e.flowTexts(adds, prefix), between)
		}
	}
	if adds := r.add[-1]; len(adds) > 0 {
		first := n.slots[r.first(0)].start
		e.put(edit{from: first, to: first, with: strings.Join(e.flowTexts(adds, prefix), between) + between, owner: n})
	}
	for i := 0; i < len(n.slots); i++ {
		if r.drop[i] {
			end := r.first(i)
			e.dropFlow(n, i, end)
			i = end
		}
	}
}

// flowTexts writes new entries of a flow collection.
func (e *editor) flowTexts(adds []addition, prefix string) []string {
	texts := make([]string, len(adds))
	for i, one := range adds {
		if one.entry.Key != nil {
			texts[i] = e.style.flowKey(one.entry)
		}
		texts[i] += e.style.spreadFlow(one.entry.Value, prefix)
	}
	return texts
}

// appendFlow adds entries behind a slot. Behind the last of several lines, the comment of that line stays where it is.
func (e *editor) appendFlow(n *node, i int, texts []string, between string) {
	s := n.slots[i]
	end := max(s.end, s.comma+1)
	next := e.blanks(end)
	if i < len(n.slots)-1 || len(between) <= len(", ") || e.at(next) != '#' {
		e.put(edit{from: s.end, to: s.end, with: between + strings.Join(texts, between), owner: n})
		return
	}
	line := e.lineEnd(next)
	added := strings.TrimPrefix(between, ",") + strings.Join(texts, between)
	if s.comma < 0 {
		e.put(edit{from: s.end, to: s.end, with: ",", owner: n})
	} else {
		added += ","
	}
	e.put(edit{from: line, to: line, with: added, owner: n})
}

// dropFlow takes out the slots from one to another, with a comma. Comments between them stay.
func (e *editor) dropFlow(n *node, from, to int) {
	last := to == len(n.slots)
	commented := false
	for i := max(from-1, 0); i < to && i+1 < len(n.slots); i++ {
		if i >= from || last {
			commented = commented || e.commented(n.slots[i].end, n.slots[i+1].start)
		}
	}
	switch {
	case commented:
		for i := from; i < to; i++ {
			e.put(edit{from: n.slots[i].start, to: max(n.slots[i].end, n.slots[i].comma+1), owner: n})
		}
	case last:
		e.put(edit{from: n.slots[from-1].end, to: n.slots[to-1].end, owner: n})
	default:
		e.put(edit{from: n.slots[from].start, to: n.slots[to].start, owner: n})
	}
}

// replaceInFlow writes a node inside a flow collection anew.
func (e *editor) replaceInFlow(n *node, c change) {
	written := ""
	if n.yaml.Anchor != "" {
		written = "&" + n.yaml.Anchor + " "
	}
	if c.want.Collection() {
		line := e.lineStart(n.start)
		written += e.style.spreadFlow(c.want, string(e.raw[line:min(e.blanks(line), n.start)]))
	} else {
		written += e.style.inline(c.want, true, n.yaml.Style)
	}
	if n.start == n.end {
		written = " " + written
		if n.lone {
			written = ":" + written
		}
	}
	e.put(edit{from: n.start, to: n.end, with: written, owner: n})
}
