package expr

// Operator stands between the operands of a Chain.
type Operator int

// The operators. Within a Chain all have the same Level.
const (
	And            Operator = iota + 1 // and, &&: the left side when it is false, else the right side
	Or                                 // or, ||: the left side when it is true, else the right side
	Equal                              // =, ==, equals: 1 equals "1"
	NotEqual                           // not equals: the opposite of equals
	Same                               // ===: equal and of the same type
	NotSame                            // !=, !==: the opposite of ===
	In                                 // in: item of a list, of a text with commas, or key of an object
	NotIn                              // not in
	Matches                            // matches: the text matches a regular expression
	NotMatches                         // not matches
	Less                               // <
	LessOrEqual                        // <=
	Greater                            // >
	GreaterOrEqual                     // >=
	Add                                // +: a sum, or a text when one side is one
	Subtract                           // -
	Multiply                           // *
	Divide                             // /
	Remainder                          // %
	exists                             // never part of a Chain: it makes an Exists
	notExists
)

// Level is the precedence of operators: those of a higher level bind tighter.
type Level int

// The levels, from loosest to tightest. Only arithmetic associates to the left.
const (
	Logic Level = iota + 1
	Equality
	Relation
	Sum
	Product
)

// Level is how tight the operator binds.
func (o Operator) Level() Level {
	switch o {
	case And, Or:
		return Logic
	case Less, LessOrEqual, Greater, GreaterOrEqual:
		return Relation
	case Add, Subtract:
		return Sum
	case Multiply, Divide, Remainder:
		return Product
	default:
		return Equality
	}
}

// wordOperator knows the operators that are words. "not" comes with the word behind it.
func wordOperator(word string) Operator {
	switch word {
	case "and":
		return And
	case "or":
		return Or
	case "equals":
		return Equal
	case "not equals":
		return NotEqual
	case "in":
		return In
	case "not in":
		return NotIn
	case "matches":
		return Matches
	case "not matches":
		return NotMatches
	case "exists":
		return exists
	case "not exists":
		return notExists
	default:
		return 0
	}
}

// signOperator knows the operators that are signs and need a space on both sides.
func signOperator(sign string) Operator {
	switch sign {
	case "&&":
		return And
	case "||":
		return Or
	case "=", "==":
		return Equal
	case "===":
		return Same
	case "!=", "!==":
		return NotSame
	case "<":
		return Less
	case "<=":
		return LessOrEqual
	case ">":
		return Greater
	case ">=":
		return GreaterOrEqual
	default:
		return 0
	}
}

// arithmeticOperator knows the operators that need no space around them.
func arithmeticOperator(sign byte) Operator {
	switch sign {
	case '+':
		return Add
	case '-':
		return Subtract
	case '*':
		return Multiply
	case '/':
		return Divide
	case '%':
		return Remainder
	default:
		return 0
	}
}
