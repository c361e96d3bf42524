package expr

import (
	"fmt"

	"atelier/internal/dsul/expr/internal/functions"
)

// Env is what an expression may see of the world: variables, time, random numbers, and how dates are written.
type Env = functions.Env

// Program is a compiled expression or template. It keeps nothing between runs and is safe for concurrent use.
type Program struct{ run step }

// step computes the value of a node.
type step func(*state) (any, error)

// state is one run of a program.
type state struct {
	env    *Env
	budget functions.Budget
	values []any // operands that wait for their operator
}

// Eval runs the program. The value is one of package value: undefined, null, a boolean, a number, a text, a list or an
// object. The errors are *EvalError and *PathError.
func (p Program) Eval(env *Env) (any, error) {
	s, spare := env.Spare.(*state)
	if !spare {
		s = &state{env: env}
	}
	env.Spare = nil // whatever runs inside of this one needs its own
	s.budget = functions.Budget{Left: functions.MaxCost, Large: env.Large}
	v, err := p.run(s)
	env.Spare = s
	return v, err
}

// EvalError says why an expression cannot be computed from what it was given. The language calls it
// InvalidExpressionSyntax, too.
type EvalError struct {
	At      int // where, in bytes of the expression or template
	Message string
}

func (e *EvalError) Error() string {
	return "the expression cannot be computed: " + e.Message
}

func failAt(n Node, format string, values ...any) error {
	return &EvalError{At: n.Pos(), Message: fmt.Sprintf(format, values...)}
}

// spend takes from the budget of the run.
func (s *state) spend(n Node, cost int) error {
	if err := s.budget.Spend(cost); err != nil {
		return failAt(n, "%v", err)
	}
	return nil
}

// text writes a value as it appears in a text.
func (s *state) text(n Node, v any) (string, error) {
	text, err := s.budget.Text(v)
	if err != nil {
		return "", failAt(n, "%v", err)
	}
	return text, nil
}
