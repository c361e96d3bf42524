package expr

import "fmt"

// SyntaxError says where an expression cannot be read, and what is allowed there. The language calls it
// InvalidExpressionSyntax.
type SyntaxError struct {
	Source  string // the expression
	Offset  int    // where in Source, in bytes
	Start   int    // where Source starts in the template that holds it; 0 for an expression on its own
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the expression is not valid at character %d: %s", characters(e.Source, e.Offset)+1, e.Message)
}

// characters counts what a reader sees before a byte offset.
func characters(source string, offset int) int {
	count := 0
	for at := range source {
		if at >= offset {
			break
		}
		count++
	}
	return count
}

// PathError says why a text is not the path of a variable. The language calls it InvalidVariableNameError.
type PathError struct {
	Path    string
	Start   int // where Path starts in the template that holds it; 0 for a path on its own
	Message string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("%q is not the name of a variable: %s", shorten(e.Path), e.Message)
}

// shorten keeps what is quoted in a message readable.
func shorten(text string) string {
	const longest = 60
	runes := 0
	for at := range text {
		if runes == longest {
			return text[:at] + "..."
		}
		runes++
	}
	return text
}
