package expr_test

import (
	"fmt"
	"strings"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

// show writes a tree so that a test can read it.
func show(n expr.Node) string {
	switch n := n.(type) {
	case *expr.Literal:
		return showLiteral(n)
	case *expr.Variable:
		return "{{" + showSteps(n.Steps) + "}}"
	case *expr.Text:
		return "text(" + showAll(n.Parts, " ") + ")"
	case *expr.Not:
		return "!" + show(n.X)
	case *expr.Exists:
		if n.Negated {
			return "missing(" + show(n.X) + ")"
		}
		return "exists(" + show(n.X) + ")"
	case *expr.Chain:
		return showChain(n)
	case *expr.Regex:
		if n.Compiled != nil {
			return "/" + n.Compiled.String() + "/"
		}
		return "/" + show(n.Source) + "/"
	case *expr.Call:
		call := n.Name + "(" + showAll(n.Args, ", ") + ")"
		if n.Field != "" {
			call += "." + n.Field
		}
		return call
	default:
		return fmt.Sprintf("%T", n)
	}
}

func showLiteral(n *expr.Literal) string {
	switch v := n.Value.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case value.Undefined:
		return "undefined"
	case nil:
		return "null"
	default:
		return fmt.Sprint(v)
	}
}

func showAll(nodes []expr.Node, between string) string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = show(n)
	}
	return strings.Join(all, between)
}

func showSteps(steps []expr.Step) string {
	all := make([]string, len(steps))
	for i, step := range steps {
		switch {
		case step.Parts != nil && step.Split:
			all[i] = "~" + showAll(step.Parts, "+")
		case step.Parts != nil:
			all[i] = showAll(step.Parts, "+")
		case step.Index >= 0:
			all[i] = fmt.Sprint("#", step.Index)
		default:
			all[i] = step.Key
		}
	}
	return strings.Join(all, "/")
}

func showChain(n *expr.Chain) string {
	var out strings.Builder
	for i, operand := range n.Operands {
		if i > 0 {
			out.WriteString(" " + sign(n.Operators[i-1]) + " ")
		}
		out.WriteString(show(operand))
	}
	return "[" + out.String() + "]"
}

func sign(op expr.Operator) string {
	return map[expr.Operator]string{
		expr.And: "and", expr.Or: "or", expr.Equal: "==", expr.NotEqual: "not equals", expr.Same: "===", expr.NotSame: "!==",
		expr.In: "in", expr.NotIn: "not in", expr.Matches: "matches", expr.NotMatches: "not matches", expr.Less: "<",
		expr.LessOrEqual: "<=", expr.Greater: ">", expr.GreaterOrEqual: ">=", expr.Add: "+", expr.Subtract: "-",
		expr.Multiply: "*", expr.Divide: "/", expr.Remainder: "%",
	}[op]
}
