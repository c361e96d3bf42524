package text

import (
	"fmt"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
)

// maxCompared is how many lines may be compared to find where hunks belong.
const maxCompared = 1 << 26

// ApplyPatch is {content, patch}: the text with a patch in the unified form applied. A hunk that is not where it says is looked for
// nearby; when what it expects is nowhere, nothing is applied and it is named.
func ApplyPatch(parameters *value.Object) (any, error) {
	p := params.Read("text.applyPatch", parameters)
	content, patch := p.Text("content", maxContent), p.Text("patch", maxContent)
	for key, text := range map[string]string{"content": content, "patch": patch} {
		if strings.Count(text, "\n") >= maxLines {
			p.Refuse(key, "has more than %d lines", maxLines)
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	all := numbered{}
	hunks, problem := parsePatch(&all, patch)
	if problem != "" {
		p.Refuse("patch", "%s", problem)
		return nil, p.Err()
	}
	open := content != "" && !strings.HasSuffix(content, "\n") && !strings.Contains(patch, "\n\\")
	if open { // many programs do not tell that the last line has no end: then it stays so
		content += "\n"
	}
	lines := all.cut(content)
	a := applier{lines: lines, budget: maxCompared}
	for i, h := range hunks {
		if err := a.apply(h); err != nil {
			return nil, err.With(machine.Payload("hunk", float64(i+1), "line", float64(h.at+1)))
		}
	}
	a.out = append(a.out, lines[a.next:]...)
	text, err := all.text(a.out)
	if err != nil {
		return nil, err
	}
	if open {
		text = strings.TrimSuffix(text, "\n")
	}
	return text, nil
}

// text puts lines together.
func (n *numbered) text(numbers []int) (string, error) {
	var out strings.Builder
	for i, number := range numbers {
		line := n.lines[number]
		if out.Len()+len(line) > maxResult {
			return "", tooMuch("applyPatch")
		}
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") && i+1 < len(numbers) {
			out.WriteByte('\n') // a line that was the last one, and is not any more
		}
	}
	return out.String(), nil
}

// applier puts hunks into a text, one after the other.
type applier struct {
	lines []int
	out   []int
	// next is the first line that no hunk has touched yet, and shift how far the last one was from where it said.
	next, shift int
	budget      int
}

func (a *applier) apply(h hunk) *machine.Failure {
	at, found := a.find(h)
	if a.budget < 0 {
		return machine.Fail(machine.QuotaExceeded, "The patch takes too long to be applied; make it smaller.")
	}
	if !found {
		return machine.Fail(machine.InvalidArguments, fmt.Sprintf("text.applyPatch: the text is not what the patch expects at line %d; make the patch anew.", h.at+1))
	}
	a.shift = at - h.at
	a.out = append(a.out, a.lines[a.next:at]...)
	a.out = append(a.out, h.after...)
	a.next = at + len(h.before)
	return nil
}

// find looks for what a hunk expects: where it says, and then further and further away.
func (a *applier) find(h hunk) (int, bool) {
	last := len(a.lines) - len(h.before)
	wanted := h.at + a.shift
	if len(h.before) == 0 { // nothing says where it belongs but its number
		at := min(max(wanted, a.next), len(a.lines))
		return at, at == wanted
	}
	wanted = max(min(wanted, last), a.next) // beyond there is nothing to look at
	for away := 0; wanted+away <= last || wanted-away >= a.next; away++ {
		for _, at := range [...]int{wanted + away, wanted - away} {
			if at >= a.next && at <= last && a.fits(h, at) {
				return at, true
			}
		}
		if a.budget < 0 {
			break
		}
	}
	return 0, false
}

func (a *applier) fits(h hunk, at int) bool {
	for i, line := range h.before {
		if a.budget--; a.lines[at+i] != line {
			return false
		}
	}
	return true
}
