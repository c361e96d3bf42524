package text

import (
	"fmt"
	"strconv"
	"strings"
)

// hunk is one change of a patch: where it begins, the lines that it expects and those that it puts there.
type hunk struct {
	at            int
	before, after []int
}

// parsePatch reads the hunks of a patch of one file, or tells what is wrong with it.
func parsePatch(all *numbered, patch string) (hunks []hunk, problem string) {
	r := patchReader{all: all, lines: strings.SplitAfter(patch, "\n")}
	files := 0
	for r.more() {
		line := r.lines[0]
		switch {
		case strings.HasPrefix(line, "@@"):
			h, problem := r.hunk()
			if problem != "" {
				return nil, problem
			}
			hunks = append(hunks, h)
			continue
		case strings.HasPrefix(line, "--- "):
			files++
		}
		r.skip()
	}
	switch {
	case files > 1:
		return nil, "is about several files; give that of one"
	case len(hunks) == 0 && strings.TrimSpace(patch) != "":
		return nil, "has no hunk; give it in the unified form, as diff -u writes it"
	default:
		return hunks, ""
	}
}

type patchReader struct {
	all   *numbered
	lines []string
	at    int
}

func (r *patchReader) more() bool { return len(r.lines) > 0 && r.lines[0] != "" }

func (r *patchReader) skip() { r.lines, r.at = r.lines[1:], r.at+1 }

// hunk reads one: its head, and as many lines as that says.
func (r *patchReader) hunk() (h hunk, problem string) {
	number := r.at + 1
	from, before, after, ok := parseHead(r.lines[0])
	if !ok {
		return h, fmt.Sprintf("has a line %d that is no head of a hunk, such as @@ -1,3 +1,4 @@", number)
	}
	h.at = from - 1
	if before == 0 {
		h.at = from // without lines the head names the one before
	}
	h.at = max(h.at, 0)
	for r.skip(); before > 0 || after > 0; r.skip() {
		if !r.more() {
			return h, fmt.Sprintf("ends in the middle of the hunk of line %d", number)
		}
		sign, line := r.line()
		if sign == ' ' || sign == '-' {
			h.before = append(h.before, line)
			before--
		}
		if sign == ' ' || sign == '+' {
			h.after = append(h.after, line)
			after--
		}
		if sign == 0 || before < 0 || after < 0 {
			return h, fmt.Sprintf("has a line %d that does not belong to its hunk", r.at+1)
		}
	}
	return h, ""
}

// line reads a line of a hunk: its sign, 0 for none, and its number. One that a backslash follows has no end.
func (r *patchReader) line() (sign byte, number int) {
	raw := r.lines[0]
	text := raw[1:]
	switch raw[0] {
	case ' ', '-', '+':
		sign = raw[0]
	case '\n', '\r': // editors take the blank of an empty line away
		sign, text = ' ', raw
	default:
		return 0, 0
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n" // the patch was cut off behind its last line
	}
	if len(r.lines) > 1 && strings.HasPrefix(r.lines[1], `\`) {
		text = strings.TrimSuffix(text, "\n")
		r.skip() // the line itself; the backslash is skipped instead of it
	}
	return sign, r.all.number(text)
}

// parseHead reads @@ -from,before +to,after @@; a count that is missing is 1. Where it ends up follows from the hunks before it.
func parseHead(line string) (from, before, after int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" {
		return 0, 0, 0, false
	}
	from, before, okBefore := parseSpan(fields[1], "-")
	_, after, okAfter := parseSpan(fields[2], "+")
	return from, before, after, okBefore && okAfter
}

func parseSpan(text, sign string) (from, count int, ok bool) {
	text, signed := strings.CutPrefix(text, sign)
	first, second, counted := strings.Cut(text, ",")
	from, err := strconv.Atoi(first)
	if !signed || err != nil || from < 0 || from > maxLines {
		return 0, 0, false
	}
	if !counted {
		return from, 1, true
	}
	count, err = strconv.Atoi(second)
	return from, count, err == nil && count >= 0 && count <= maxLines
}
