package text

import (
	"context"
	"regexp"
	"regexp/syntax"
	"time"
	"unicode/utf8"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/clock"
)

const (
	// maxPattern is the longest pattern, in bytes, and maxProgram the largest once its repetitions are written out.
	maxPattern = 1 << 10
	maxProgram = 5_000
	// maxSearch bounds the steps of one search: those of the pattern times the length of the text. It is about a second at the worst.
	maxSearch = 1 << 26
	// maxWork is how long a function may search in all. One search takes time that grows with the text, but a pattern that looks
	// far ahead may do so again after each thing it finds.
	maxWork = 2 * time.Second
)

// Watch stops work that takes too long.
type Watch struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one call
	clock clock.Clock
	until time.Time
}

// NewWatch begins to count the time.
func NewWatch(ctx context.Context, clk clock.Clock) *Watch {
	return &Watch{ctx: ctx, clock: clk, until: clk.Now().Add(maxWork)}
}

// check is asked between searches.
func (w *Watch) check() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.clock.Now().After(w.until) {
		return machine.Fail(machine.QuotaExceeded, "The pattern takes too long on this text; make the pattern simpler, or the text shorter.")
	}
	return nil
}

// pattern finds a regular expression. It takes time that grows with the text, never more.
type pattern struct {
	// first searches a text from its beginning, next one whose first character is only looked at: it is behind the place where
	// the search goes on, and ^ and \b depend on it.
	first, next *regexp.Regexp
	size        int
}

// readPattern reads {pattern, literal, ignoreCase, multiline}.
func readPattern(p *params.Reader) *pattern {
	source := p.Text("pattern", maxPattern)
	if source == "" {
		p.Refuse("pattern", "is empty; give a regular expression, or a text with literal: true")
	}
	if p.Bool("literal", false) {
		source = regexp.QuoteMeta(source)
	}
	flags := "(?"
	if p.Bool("ignoreCase", false) {
		flags += "i"
	}
	if p.Bool("multiline", false) {
		flags += "m"
	}
	if flags != "(?" {
		source = flags + ")" + source
	}
	if p.Err() != nil {
		return nil
	}
	compiled, problem := compile(source)
	if problem != "" {
		p.Refuse("pattern", "%s", problem)
	}
	return compiled
}

// compile makes a pattern, or tells what is wrong with it.
func compile(source string) (compiled *pattern, problem string) {
	const bad = "is not a valid regular expression; look-around and back-references are not available"
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, bad
	}
	compiled = &pattern{size: sizeOf(tree)}
	if compiled.size > maxProgram {
		return nil, "is too large; use smaller numbers in {}"
	}
	if compiled.first, err = regexp.Compile(source); err == nil {
		compiled.next, err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`) // not the source: \Q in it would quote the )
	}
	if err != nil {
		return nil, bad
	}
	return compiled, ""
}

// sizeOf counts the instructions of a compiled pattern, roughly and never far beyond maxProgram: before anything large is made.
func sizeOf(tree *syntax.Regexp) int {
	size := 1
	switch tree.Op {
	case syntax.OpLiteral:
		size = len(tree.Rune)
	case syntax.OpCapture:
		size = 2 // where it begins and where it ends
	case syntax.OpAlternate:
		size = len(tree.Sub)
	default:
	}
	for _, sub := range tree.Sub {
		size = min(size+sizeOf(sub), maxProgram+1)
	}
	if tree.Op == syntax.OpRepeat {
		size = min(size*max(tree.Max, tree.Min+1), maxProgram+1)
	}
	return size
}

// find gives where the pattern and its groups occur first, from a place on; nil when it does not.
func (p *pattern) find(w *Watch, text string, from int) ([]int, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if p.size*(len(text)-from+1) > maxSearch {
		return nil, machine.Fail(machine.QuotaExceeded, "The pattern costs too much on a text this long; shorten one of them.")
	}
	if from == 0 {
		return p.first.FindStringSubmatchIndex(text), nil
	}
	_, width := utf8.DecodeLastRuneInString(text[:from])
	start := from - width
	found := p.next.FindStringSubmatchIndex(text[start:])
	if found == nil {
		return nil, nil
	}
	found = found[2:] // the whole is more than what the pattern found
	for i := range found {
		if found[i] >= 0 {
			found[i] += start
		}
	}
	return found, nil
}

// after is where the search goes on behind something that was found: nothing is found twice. It is false at the end of the text.
func after(text string, found []int) (int, bool) {
	end := found[1]
	if found[0] < end {
		return end, true
	}
	_, width := utf8.DecodeRuneInString(text[end:])
	return end + width, width > 0
}
