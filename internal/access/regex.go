package access

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

const (
	maxRepeat       = 255   // PostgreSQL takes no more
	maxInstructions = 2_000 // keeps matching and translating cheap
)

// parsePattern compiles a regular expression that can also be asked of the database; otherwise it says why not.
func parsePattern(pattern string) (*regexp.Regexp, string) {
	if len(pattern) > maxPattern {
		return nil, fmt.Sprintf("the regular expression is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		if strings.Contains(pattern, "(?=") || strings.Contains(pattern, "(?!") || strings.Contains(pattern, "(?<") {
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
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, "not a regular expression of the RE2 syntax"
	}
	return re, ""
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
// neither the locale nor the flags of the server matter.
func advanced(re *regexp.Regexp) (string, error) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	translate(&b, tree)
	return b.String(), nil
}

func translate(b *strings.Builder, tree *syntax.Regexp) {
	switch tree.Op {
	case syntax.OpLiteral:
		for _, r := range tree.Rune {
			literal(b, r, tree.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		class(b, tree.Rune)
	case syntax.OpCapture:
		group(b, tree.Sub, "")
	case syntax.OpConcat:
		group(b, tree.Sub, "")
	case syntax.OpAlternate:
		group(b, tree.Sub, "|")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		group(b, tree.Sub, "")
		b.WriteString(quantifier(tree))
	default:
		b.WriteString(constant(tree.Op))
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

func group(b *strings.Builder, subs []*syntax.Regexp, between string) {
	b.WriteString("(?:")
	for i, sub := range subs {
		if i > 0 {
			b.WriteString(between)
		}
		translate(b, sub)
	}
	b.WriteString(")")
}

func literal(b *strings.Builder, r rune, fold bool) {
	if !fold || unicode.SimpleFold(r) == r {
		class(b, []rune{r, r})
		return
	}
	ranges := []rune{r, r}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		ranges = append(ranges, other, other)
	}
	class(b, ranges)
}

// class writes a set of characters, given as pairs of first and last. A text never contains the zero character.
func class(b *strings.Builder, ranges []rune) {
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
		b.WriteString(nothing)
		return
	}
	b.WriteString("[" + parts.String() + "]")
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
