package limits

import (
	"context"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

const (
	// longestName is how many characters the names of limits and consumers may have.
	longestName = 500
	// longestWindow is a year, in seconds.
	longestWindow = 366 * 24 * 3600
	// mostUnits keeps counting exact.
	mostUnits = 1 << 50
)

// Instruction is rateLimit. When a limit is used up it ends the automation as break does, unless break is false.
func (l *Limits) Instruction() machine.Instruction {
	return machine.Simple(func(f *machine.Frame, parameters *value.Object) (any, error) {
		ask, err := read(parameters)
		if err != nil {
			return nil, err
		}
		home := f.Home()
		ask.WorkspaceID, ask.Name = home.WorkspaceID, home.FullSlug+":"+ask.Name // an app counts for itself
		answer, err := f.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
			answer, err := l.Take(ctx, tx, ask)
			return answer.shown(ask), err
		})
		if err != nil {
			return nil, err
		}
		if value.Truthy(value.Get(answer, "ok")) || !breaks(parameters) {
			return answer, nil
		}
		if err := f.Output(parameters.Get("output"), answer); err != nil { // the output of the automation may tell of it
			return nil, err
		}
		return nil, machine.BreakAutomation(nil)
	})
}

// shown is what the output of the instruction says.
func (a Answer) shown(ask Ask) *value.Object {
	return machine.Payload(
		"ok", a.OK, "retryAfter", math.Ceil(a.RetryAfter.Seconds()*1000)/1000, "remaining", float64(a.Remaining), //nolint:mnd // to the millisecond
		"limit", float64(ask.Limit), "window", ask.Window.Seconds(), "consumer", ask.Consumer,
	)
}

// breaks tells whether the automation ends when the limit is used up.
func breaks(parameters *value.Object) bool {
	said := parameters.Get("break")
	return !value.Exists(said) || value.Truthy(said)
}

// read makes sense of the parameters.
func read(parameters *value.Object) (ask Ask, err error) {
	if ask.Name, err = name(parameters, "name", true); err != nil {
		return ask, err
	}
	if ask.Consumer, err = name(parameters, "consumer", false); err != nil {
		return ask, err
	}
	window, err := number(parameters, "window", bounds{least: 0.001, most: longestWindow, unit: "seconds"})
	if err != nil {
		return ask, err
	}
	ask.Window = time.Duration(math.Round(window * float64(time.Second)))
	limit, err := number(parameters, "limit", bounds{most: mostUnits, unit: "units"})
	if err != nil {
		return ask, err
	}
	consume := 1.0
	if value.Exists(parameters.Get("consume")) {
		if consume, err = number(parameters, "consume", bounds{most: mostUnits, unit: "units"}); err != nil {
			return ask, err
		}
	}
	ask.Limit, ask.Consume = int64(limit), int64(math.Ceil(consume))
	return ask, nil
}

// invalid is the failure of a parameter.
func invalid(parameter, message string) *machine.Failure {
	return machine.Fail(machine.InvalidInstruction, "Invalid rateLimit instruction: "+message).With(machine.Payload("parameter", parameter))
}

// name reads a text; a number is one too.
func name(parameters *value.Object, parameter string, required bool) (string, error) {
	given := parameters.Get(parameter)
	var text string
	switch given := given.(type) {
	case string:
		text = given
	case float64, bool:
		text = value.String(given)
	case nil, value.Undefined:
	default:
		return "", invalid(parameter, parameter+" is a text.")
	}
	switch {
	case text == "" && required:
		return "", invalid(parameter, "give it a "+parameter+".")
	case utf8.RuneCountInString(text) > longestName:
		return "", invalid(parameter, fmt.Sprintf("%s may have %d characters at most.", parameter, longestName))
	}
	return text, nil
}

// bounds are what a number may be.
type bounds struct {
	least, most float64
	unit        string
}

// number reads a number, which may be written as a text.
func number(parameters *value.Object, parameter string, within bounds) (float64, error) {
	n := math.NaN()
	switch given := parameters.Get(parameter).(type) {
	case float64:
		n = given
	case string:
		if given != "" {
			n = value.ParseNumber(given)
		}
	}
	if math.IsNaN(n) || n < within.least || n > within.most {
		return 0, invalid(parameter, fmt.Sprintf("%s is a number of %s between %v and %.0f.", parameter, within.unit, within.least, within.most))
	}
	return n, nil
}
