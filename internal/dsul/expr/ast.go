package expr

import "atelier/internal/dsul/expr/internal/pattern"

// Node is a part of a parsed expression. Its kinds are *Literal, *Variable, *Text, *Not, *Exists, *Chain, *Regex and
// *Call. Nodes are never changed after parsing and may be shared.
type Node interface {
	// Pos is where the node starts, in bytes of the expression or template it was parsed from.
	Pos() int
}

// Literal is a value written in the expression: nil (null), value.Undefined, bool, float64 or string.
type Literal struct {
	At    int
	Value any
}

// Variable is {{path}}.
type Variable struct {
	At    int
	Steps []Step // at least one
}

// Step is one key of a variable's path.
type Step struct {
	Key   string // the key, when it is written out; numbers without leading zeros
	Index int    // the key as a number, -1 when it is none
	// Parts are the texts that make the key together, when it comes from data: Key is then empty.
	Parts []Node
	// Split says that the key from data stands between dots, not in brackets: it may then be a path itself, as in
	// {{order.{{path}}}}.
	Split bool
}

// Text is the text of its parts, one after the other: a piece of an expression in which variables stand.
type Text struct {
	At    int
	Parts []Node
}

// Not is the negation of what X is worth as a condition.
type Not struct {
	At int
	X  Node
}

// Exists is true when X is neither null nor undefined, or when it is, if Negated.
type Exists struct {
	At      int
	X       Node
	Negated bool
}

// Chain is a row of operands with operators between them, all of the same precedence. Every operand is evaluated, from
// left to right. Arithmetic then associates to the left, everything else to the right. It is one flat node, so that a
// long row is not a deep tree.
type Chain struct {
	At        int
	Operands  []Node
	Operators []Operator // one less than operands
}

// Regex is the right side of matches, or an argument of replace(): regex(...) or a text that is known.
type Regex struct {
	At       int
	Source   Node             // *Literal with a string, or *Text
	Raw      bool             // it stood in regex(...): outer quotes are taken away and /source/flags is understood
	Compiled *pattern.Pattern // nil when the pattern holds variables: it is then known only when it runs
}

// Call is name(args).field.
type Call struct {
	At    int
	Name  string
	Args  []Node
	Field string // empty without one
}

// Pos implements Node.
func (n *Literal) Pos() int { return n.At }

// Pos implements Node.
func (n *Variable) Pos() int { return n.At }

// Pos implements Node.
func (n *Text) Pos() int { return n.At }

// Pos implements Node.
func (n *Not) Pos() int { return n.At }

// Pos implements Node.
func (n *Exists) Pos() int { return n.At }

// Pos implements Node.
func (n *Chain) Pos() int { return n.At }

// Pos implements Node.
func (n *Regex) Pos() int { return n.At }

// Pos implements Node.
func (n *Call) Pos() int { return n.At }
