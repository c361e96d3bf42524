package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// measure refuses a pattern that would become too large, before anything large is made: a{1000}{1000} is ten characters.
func measure(text string) (int, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, explain(err)
	}
	size := sizeOf(tree)
	if size > MaxSize {
		return 0, errors.New("the repetitions of this regular expression make it too large: use smaller numbers in {}")
	}
	return size, nil
}

// sizeOf counts the instructions of the compiled pattern, roughly and never beyond a little more than MaxSize. The parser
// bounds the depth of the tree.
func sizeOf(tree *syntax.Regexp) int {
	size := 1
	switch tree.Op {
	case syntax.OpLiteral:
		size = len(tree.Rune)
	case syntax.OpCapture:
		size = 2
	case syntax.OpAlternate:
		size = len(tree.Sub)
	default:
	}
	for _, sub := range tree.Sub {
		size = min(size+sizeOf(sub), MaxSize+1)
	}
	if tree.Op == syntax.OpRepeat {
		times := max(tree.Max, tree.Min+1) // without an upper end one more turns in a loop
		size = min(size*times, MaxSize+1)
	}
	return size
}

// explain words what RE2 says.
func explain(err error) error {
	var found *syntax.Error
	if !errors.As(err, &found) {
		return err
	}
	switch {
	case found.Code == syntax.ErrInvalidPerlOp, found.Code == syntax.ErrInvalidEscape && isReference(found.Expr),
		strings.HasPrefix(found.Expr, "(?<=") || strings.HasPrefix(found.Expr, "(?<!"):
		return fmt.Errorf("the regular expression is not valid: %s is not available, as look-around and back-references are not", shorten(found.Expr))
	case found.Code == syntax.ErrLarge, found.Code == syntax.ErrInvalidRepeatSize, found.Code == syntax.ErrNestingDepth:
		return fmt.Errorf("the regular expression is too large at %s", shorten(found.Expr))
	default:
		return fmt.Errorf("the regular expression is not valid: %s: %s", found.Code, shorten(found.Expr))
	}
}

func isReference(escape string) bool {
	return len(escape) > 1 && (escape[1] >= '1' && escape[1] <= '9' || escape[1] == 'k')
}

func shorten(text string) string {
	const longest = 40
	if len(text) <= longest {
		return text
	}
	return string([]rune(text[:longest])) + "..."
}
