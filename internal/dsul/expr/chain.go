package expr

import (
	"math"
	"strings"

	"atelier/internal/dsul/expr/internal/pattern"
	"atelier/internal/dsul/expr/value"
)

// compileChain computes all operands, then applies the operators: arithmetic from the left, all others from the right.
func compileChain(n *Chain) (step, error) {
	steps, err := compileAll(n.Operands)
	if err != nil {
		return nil, err
	}
	if len(n.Operators) == 0 || len(steps) != len(n.Operators)+1 {
		return nil, failAt(n, "an operator stands between two values")
	}
	level := n.Operators[0].Level()
	return func(s *state) (any, error) {
		before := len(s.values)
		defer s.forget(before)
		for _, run := range steps {
			v, err := run(s)
			if err != nil {
				return nil, err
			}
			s.values = append(s.values, v)
		}
		if level == Sum || level == Product {
			return s.foldLeft(n, s.values[before:])
		}
		return s.foldRight(n, s.values[before:])
	}, nil
}

// forget takes the operands away that were not there before.
func (s *state) forget(before int) {
	clear(s.values[before:])
	s.values = s.values[:before]
}

func (s *state) foldLeft(n *Chain, values []any) (any, error) {
	result := values[0]
	for i, op := range n.Operators {
		a, b, err := s.primitives(n, result, values[i+1])
		if err != nil {
			return nil, err
		}
		if op != Add {
			result = calculate(op, value.Number(a), value.Number(b))
			continue
		}
		if result, err = s.add(n, a, b); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (s *state) foldRight(n *Chain, values []any) (any, error) {
	result := values[len(values)-1]
	for i := len(n.Operators) - 1; i >= 0; i-- {
		var err error
		if result, err = s.apply(n, n.Operators[i], values[i], result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func calculate(op Operator, a, b float64) float64 {
	switch op {
	case Subtract:
		return a - b
	case Multiply:
		return a * b
	case Divide:
		return a / b
	default:
		return math.Mod(a, b)
	}
}

// primitives makes texts of lists and objects, as operators that compare or calculate do, and pays for texts.
func (s *state) primitives(n Node, a, b any) (x, y any, err error) {
	if x, err = s.primitive(n, a); err != nil {
		return nil, nil, err
	}
	y, err = s.primitive(n, b)
	return x, y, err
}

func (s *state) primitive(n Node, v any) (any, error) {
	const reading = 8 // a text is read faster than it is made
	switch v := v.(type) {
	case string:
		return v, s.spend(n, len(v)/reading)
	case []any:
		const item = 8 // an item takes longer than a byte
		if err := s.spend(n, item*len(v)); err != nil {
			return nil, err
		}
		text := value.String(v)
		return text, s.spend(n, len(text))
	case *value.Object:
		return value.String(v), nil
	default:
		return v, nil
	}
}

// add joins texts when one side is one.
func (s *state) add(n Node, a, b any) (any, error) {
	_, textA := a.(string)
	_, textB := b.(string)
	if textA || textB {
		joined := value.String(a) + value.String(b)
		return joined, s.spend(n, len(joined))
	}
	return value.Number(a) + value.Number(b), nil
}

func (s *state) apply(n Node, op Operator, a, b any) (any, error) {
	switch op {
	case And:
		if !value.Truthy(a) {
			return a, nil
		}
		return b, nil
	case Or:
		if value.Truthy(a) {
			return a, nil
		}
		return b, nil
	case Same:
		return value.StrictEqual(a, b), nil
	case NotSame:
		return !value.StrictEqual(a, b), nil
	case Equal, NotEqual:
		equal, err := s.equal(n, a, b)
		return equal == (op == Equal), err
	case In, NotIn:
		found, err := s.in(n, a, b)
		return found == (op == In), err
	case Matches, NotMatches:
		found, err := s.matches(n, a, b)
		return found == (op == Matches), err
	default:
		x, y, err := s.primitives(n, a, b)
		return relation(op, x, y), err
	}
}

// equal is loose equality. Lists and objects are equal only to themselves, but may be equal to the text they become.
func (s *state) equal(n Node, a, b any) (bool, error) {
	if isReference(a) && isReference(b) {
		return value.StrictEqual(a, b), nil
	}
	x, y, err := s.primitives(n, a, b)
	return value.LooseEqual(x, y), err
}

func isReference(v any) bool {
	switch v.(type) {
	case []any, *value.Object:
		return true
	default:
		return false
	}
}

func relation(op Operator, a, b any) bool {
	if op == Greater || op == LessOrEqual {
		a, b = b, a
	}
	less, ok := value.Less(a, b)
	if op == Less || op == Greater {
		return less
	}
	return ok && !less
}

// in looks for an item in a list, in a text with commas, or for a key in an object.
func (s *state) in(n Node, a, b any) (bool, error) {
	switch b := b.(type) {
	case []any:
		if err := s.spend(n, len(b)); err != nil {
			return false, err
		}
		for _, item := range b {
			if value.StrictEqual(item, a) {
				return true, nil
			}
		}
		return false, nil
	case string:
		return inText(a, b), s.spend(n, len(b))
	case *value.Object:
		return b.Has(value.String(a)), nil
	default:
		return false, nil
	}
}

// inText looks for a value in a text with commas. Where the value and an item both look like numbers, the item is a whole
// number, so that the text "5" is not found in "4,5", but the number 5 is.
func inText(a any, list string) bool {
	numeric := looksNumeric(a)
	for item := range strings.SplitSeq(list, ",") {
		if numeric && looksNumeric(item) {
			if value.StrictEqual(math.Trunc(value.ParseNumber(item)), a) {
				return true
			}
			continue
		}
		if value.StrictEqual(item, a) {
			return true
		}
	}
	return false
}

func looksNumeric(v any) bool {
	switch v := v.(type) {
	case float64:
		return !math.IsNaN(v)
	case string:
		return value.Trim(v) != "" && !math.IsNaN(value.ParseNumber(v))
	default:
		return false
	}
}

// matches searches a text for a regular expression, or for one of a list of them.
func (s *state) matches(n Node, a, b any) (bool, error) {
	text := value.String(a)
	if err := s.spend(n, len(text)); err != nil {
		return false, err
	}
	switch b := b.(type) {
	case nil, value.Undefined:
		return false, nil
	case []any:
		return s.matchesAny(n, text, b)
	case *pattern.Pattern:
		return s.search(n, text, b)
	default:
		return s.matchesSource(n, text, value.String(b), false)
	}
}

// matchesAny tries every item. A single one may be written /source/flags.
func (s *state) matchesAny(n Node, text string, list []any) (bool, error) {
	for _, item := range list {
		if found, err := s.matchesSource(n, text, value.String(item), len(list) == 1); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

func (s *state) matchesSource(n Node, text, source string, raw bool) (bool, error) {
	compiled, err := s.pattern(n, source, raw)
	if err != nil {
		return false, err
	}
	return s.search(n, text, compiled)
}

func (s *state) search(n Node, text string, p *pattern.Pattern) (bool, error) {
	if err := s.budget.Search(p, text); err != nil {
		return false, failAt(n, "%v", err)
	}
	found, err := p.Match(text)
	if err != nil {
		return false, failAt(n, "%v", err)
	}
	return found, nil
}

// compiling is what the compilation of one instruction of a pattern costs.
const compiling = 64

// pattern compiles a regular expression that is known only now.
func (s *state) pattern(n Node, source string, raw bool) (*pattern.Pattern, error) {
	compiled, err := compilePattern(source, raw)
	if err != nil {
		return nil, failAt(n, "%v", err)
	}
	return compiled, s.spend(n, compiling*(compiled.Weight()+len(source)))
}
