package text

import (
	"fmt"
	"strings"

	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
)

const (
	usualAround = 3
	maxAround   = 1000
	maxName     = 300
	noNewline   = "\\ No newline at end of file\n"
)

// Diff is {original, modified, name, context}: what must be done to the one text to get the other, in the unified form that diff -u
// writes and applyPatch reads. Of equal texts it is empty.
func Diff(parameters *value.Object) (any, error) {
	p := params.Read("text.diff", parameters)
	original, modified := p.Text("original", maxContent), p.Text("modified", maxContent)
	name, around := p.OptionalText("name", "", maxName), p.Int("context", usualAround, 0, maxAround)
	for key, text := range map[string]string{"original": original, "modified": modified} {
		if strings.Count(text, "\n") >= maxLines {
			p.Refuse(key, "has more than %d lines", maxLines)
		}
	}
	if strings.ContainsAny(name, "\r\n") {
		p.Refuse("name", "must be one line")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if original == modified {
		return "", nil
	}
	return unified(original, modified, name, around), nil
}

// unified writes the differences of two texts.
func unified(original, modified, name string, around int) string {
	from, to := "a/"+name, "b/"+name
	if name == "" {
		from, to = "original", "modified"
	}
	all := numbered{}
	w := differ{a: all.cut(original), b: all.cut(modified), lines: &all, around: around}
	fmt.Fprintf(&w.out, "--- %s\n+++ %s\n", from, to)
	a, b := 0, 0
	for _, same := range common(w.a, w.b) {
		if same.a > a || same.b > b {
			w.change(a, same.a, b, same.b)
		}
		a, b = same.a+same.length, same.b+same.length
	}
	w.flush()
	return w.out.String()
}

// differ writes hunks: changes that are near each other, with the lines around them.
type differ struct {
	a, b   []int
	lines  *numbered
	around int
	out    strings.Builder
	// changed are the changes of the hunk that is being made.
	changed []change
}

// change is lines of the one text that lines of the other replace.
type change struct{ a, endA, b, endB int }

// change adds a change, to the hunk before it when they are near.
func (w *differ) change(a, endA, b, endB int) {
	if n := len(w.changed); n > 0 && a-w.changed[n-1].endA > 2*w.around { // what is around both does not meet
		w.flush()
	}
	w.changed = append(w.changed, change{a, endA, b, endB})
}

// flush writes the hunk that is being made.
func (w *differ) flush() {
	if len(w.changed) == 0 {
		return
	}
	first, last := w.changed[0], w.changed[len(w.changed)-1]
	before := min(w.around, first.a)
	behind := min(w.around, len(w.a)-last.endA)
	a, b := first.a-before, first.b-before
	fmt.Fprintf(&w.out, "@@ -%s +%s @@\n", span(a, last.endA+behind), span(b, last.endB+behind))
	for _, c := range w.changed {
		w.write(' ', w.a[a:c.a])
		w.write('-', w.a[c.a:c.endA])
		w.write('+', w.b[c.b:c.endB])
		a = c.endA
	}
	w.write(' ', w.a[a:a+behind])
	w.changed = w.changed[:0]
}

// span writes the lines from one to another as a hunk names them: counted from 1, and without any the line before.
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, to-from)
	}
}

func (w *differ) write(sign byte, numbers []int) {
	for _, number := range numbers {
		line := w.lines.lines[number]
		w.out.WriteByte(sign)
		w.out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			w.out.WriteString("\n" + noNewline)
		}
	}
}
