package access

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

const (
	maxRepeat       = 255   // PostgreSQL takes no more
	maxInstructions = 2_000 // keeps matching and translating cheap
	maxTranslated   = 64 << 10
)

// pattern is a regular expression, and what it costs: the size of its program.
type pattern struct {
	*regexp.Regexp

	translated   string // for PostgreSQL; empty when it was not asked for yet
	instructions int
}

// advanced is the expression for PostgreSQL.
func (p *pattern) advanced() string {
	if p.translated != "" {
		return p.translated
	}
	return advanced(p.Regexp, math.MaxInt)
}

// translate keeps the expression for PostgreSQL; false when it is too long.
func (p *pattern) translate() bool {
	p.translated = advanced(p.Regexp, maxTranslated)
	return len(p.translated) <= maxTranslated
}

// parsePattern compiles a regular expression that can also be asked of the database; otherwise it says why not.
func parsePattern(text string) (*pattern, string) {
	if len(text) > maxPattern {
		return nil, fmt.Sprintf("the regular expression is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		if strings.Contains(text, "(?=") || strings.Contains(text, "(?!") || strings.Contains(text, "(?<") {
			return nil, "look-ahead and look-behind are not supported; write it without, or as a second, inverted rule (RE2 syntax)"
		}
		return nil, "not a regular expression of the RE2 syntax: " + shorten(err.Error())
	}
	if repeats(tree) {
		return nil, fmt.Sprintf("a repetition may be at most %d times", maxRepeat)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxInstructions {
		return nil, "the regular expression is too large"
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, "not a regular expression of the RE2 syntax"
	}
	return &pattern{Regexp: re, instructions: len(program.Inst)}, ""
}

func repeats(tree *syntax.Regexp) bool {
	if tree.Op == syntax.OpRepeat && (tree.Min > maxRepeat || tree.Max > maxRepeat) {
		return true
	}
	return slices.ContainsFunc(tree.Sub, repeats)
}

// wordClass are the characters that \b looks at.
const wordClass = "[0-9A-Za-z_]"

// advanced translates an expression to one of PostgreSQL that matches the same texts: classes are written out, so that
// neither the locale nor the flags of the server matter. Beyond a length it is of no use and is not finished.
func advanced(re *regexp.Regexp, most int) string {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // it was parsed before
		return nothing
	}
	t := translator{most: most}
	t.translate(tree)
	return t.text.String()
}

// translator writes an expression.
type translator struct {
	text strings.Builder
	most int
}

func (b *translator) translate(tree *syntax.Regexp) {
	if b.text.Len() > b.most {
		return
	}
	switch tree.Op {
	case syntax.OpLiteral:
		for _, r := range tree.Rune {
			b.literal(r, tree.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		b.class(tree.Rune)
	case syntax.OpCapture:
		b.group(tree.Sub, "")
	case syntax.OpConcat:
		b.group(tree.Sub, "")
	case syntax.OpAlternate:
		b.group(tree.Sub, "|")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		b.group(tree.Sub, "")
		b.text.WriteString(quantifier(tree))
	default:
		b.text.WriteString(constant(tree.Op))
	}
}

func quantifier(tree *syntax.Regexp) string {
	switch {
	case tree.Op == syntax.OpStar:
		return "*"
	case tree.Op == syntax.OpPlus:
		return "+"
	case tree.Op == syntax.OpQuest:
		return "?"
	case tree.Max < 0:
		return fmt.Sprintf("{%d,}", tree.Min)
	default:
		return fmt.Sprintf("{%d,%d}", tree.Min, tree.Max)
	}
}

// constant translates what has no parts.
func constant(op syntax.Op) string {
	const before, notBefore = "(?<=" + wordClass + ")", "(?<!" + wordClass + ")"
	const after, notAfter = "(?=" + wordClass + ")", "(?!" + wordClass + ")"
	switch op {
	case syntax.OpEmptyMatch:
		return "(?:)"
	case syntax.OpAnyChar:
		return "."
	case syntax.OpAnyCharNotNL:
		return `[^\u000A]`
	case syntax.OpBeginText:
		return `\A`
	case syntax.OpEndText:
		return `\Z`
	case syntax.OpBeginLine:
		return `(?:\A|(?<=\u000A))`
	case syntax.OpEndLine:
		return `(?:\Z|(?=\u000A))`
	case syntax.OpWordBoundary:
		return "(?:" + notBefore + after + "|" + before + notAfter + ")"
	case syntax.OpNoWordBoundary:
		return "(?:" + notBefore + notAfter + "|" + before + after + ")"
	default:
		return nothing
	}
}

// nothing matches no text: a text has no character outside of these.
const nothing = `[^\u0001-\U0010FFFF]`

func (b *translator) group(subs []*syntax.Regexp, between string) {
	b.text.WriteString("(?:")
	for i, sub := range subs {
		if i > 0 {
			b.text.WriteString(between)
		}
		b.translate(sub)
	}
	b.text.WriteString(")")
}

func (b *translator) literal(r rune, fold bool) {
	if !fold || unicode.SimpleFold(r) == r {
		b.class([]rune{r, r})
		return
	}
	ranges := []rune{r, r}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		ranges = append(ranges, other, other)
	}
	b.class(ranges)
}

// class writes a set of characters, given as pairs of first and last. A text never contains the zero character.
func (b *translator) class(ranges []rune) {
	var parts strings.Builder
	for i := 0; i+1 < len(ranges); i += 2 {
		first, last := max(ranges[i], 1), ranges[i+1]
		if last < first {
			continue
		}
		escape(&parts, first)
		if last > first {
			parts.WriteString("-")
			escape(&parts, last)
		}
	}
	if parts.Len() == 0 {
		b.text.WriteString(nothing)
		return
	}
	b.text.WriteString("[" + parts.String() + "]")
}

func escape(b *strings.Builder, r rune) {
	switch {
	case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9':
		b.WriteRune(r)
	case r <= 0xFFFF:
		fmt.Fprintf(b, `\u%04X`, r)
	default:
		fmt.Fprintf(b, `\U%08X`, r)
	}
}
