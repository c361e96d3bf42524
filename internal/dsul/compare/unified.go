package compare

import (
	"fmt"
	"strings"
)

// Stats counts the lines that a text view adds and takes out.
type Stats struct {
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
}

// maxContext bounds the lines around a change.
const maxContext = 1 << 20

// Unified gives the difference between two texts as a unified diff, which patch and git apply understand, with so many
// lines of context around each change. A nil text is an absent file. It is empty for equal texts. Texts that are very
// unlike are not compared to the last line: the diff is right, but may be longer than it could be.
func Unified(fromName, toName string, from, to []byte, context int) (string, Stats) {
	d := &diff{a: lines(string(from)), b: lines(string(to)), context: min(max(context, 0), maxContext)}
	if d.edits = Lines(d.a, d.b); len(d.edits) == 0 {
		return "", Stats{}
	}
	for _, e := range d.edits {
		d.stats.Deletions += e.FromEnd - e.From
		d.stats.Insertions += e.ToEnd - e.To
	}
	fmt.Fprintf(&d.out, "--- %s\n+++ %s\n", fileName("a/", fromName, from), fileName("b/", toName, to))
	d.write()
	return d.out.String(), d.stats
}

// fileName is the name of a file in the header of a diff, quoted as git does where it must be.
func fileName(side, name string, content []byte) string {
	switch {
	case content == nil:
		return "/dev/null"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7F }):
		return quotedName(side + name)
	case strings.Contains(name, " "):
		return side + name + "\t"
	default:
		return side + name
	}
}

func quotedName(name string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ' || c == 0x7F:
			fmt.Fprintf(&out, "\\%03o", c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// lines cuts a text into lines with their ends.
func lines(text string) []string {
	all := make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		all = append(all, line)
	}
	return all
}

type diff struct {
	a, b    []string
	context int
	edits   []Stretch
	stats   Stats
	out     strings.Builder
}

// write writes the edits in hunks: those whose contexts touch are in one.
func (d *diff) write() {
	for i := 0; i < len(d.edits); {
		end := i + 1
		for end < len(d.edits) && d.edits[end].From-d.edits[end-1].FromEnd <= 2*d.context {
			end++
		}
		d.hunk(d.edits[i:end])
		i = end
	}
}

func (d *diff) hunk(edits []Stretch) {
	first, last := edits[0], edits[len(edits)-1]
	before := min(d.context, first.From)
	if before == 0 && first.From > 0 && d.cutsEnd(last) {
		before = 1
	}
	after := min(d.context, len(d.a)-last.FromEnd)
	whole := Stretch{first.From - before, last.FromEnd + after, first.To - before, last.ToEnd + after}
	fmt.Fprintf(&d.out, "@@ -%s +%s @@\n", extent(whole.From, whole.FromEnd), extent(whole.To, whole.ToEnd))
	at := whole.From
	for _, e := range edits {
		d.lines(' ', d.a[at:e.From])
		d.lines('-', d.a[e.From:e.FromEnd])
		d.lines('+', d.b[e.To:e.ToEnd])
		at = e.FromEnd
	}
	d.lines(' ', d.a[at:whole.FromEnd])
}

// cutsEnd tells whether an edit takes away a last line that has no end, and leaves one before it that has: without that line beside it
// git takes the end from it as well.
func (d *diff) cutsEnd(e Stretch) bool {
	return e.FromEnd == len(d.a) && e.FromEnd > e.From && e.ToEnd == e.To && !strings.HasSuffix(d.a[len(d.a)-1], "\n")
}

// extent is the first line of a stretch and how many there are. One without lines is named by the line before it.
func extent(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, to-from)
	}
}

func (d *diff) lines(sign byte, some []string) {
	for _, line := range some {
		d.out.WriteByte(sign)
		d.out.WriteString(line)
		if line[len(line)-1] != '\n' {
			d.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
