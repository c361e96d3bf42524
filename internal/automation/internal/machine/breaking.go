package machine

import (
	"errors"

	"atelier/internal/dsul/expr/value"
)

// The scopes of a break.
const (
	ScopeAutomation = "automation"
	ScopeAll        = "all"
	ScopeRepeat     = "repeat"
)

// breaking is the signal that leaves instructions early. It travels like an error and is none: nothing catches it but what it
// is meant for.
type breaking struct {
	scope  string
	output any // undefined without one
}

func (b *breaking) Error() string { return "break " + b.scope }

// Break leaves the nearest repeat, the automation, or all of the run. The output, unless it is undefined, is what the automation
// gives back. An unknown scope is that of the automation.
func Break(scope string, output any) error {
	if scope != ScopeAll && scope != ScopeRepeat {
		scope = ScopeAutomation
	}
	return &breaking{scope: scope, output: output}
}

// BreakAutomation leaves the automation, as the instruction break does. The payload is its output; nil and undefined leave the
// output that it has.
func BreakAutomation(payload any) error {
	if payload == nil {
		payload = value.Undefined{}
	}
	return Break(ScopeAutomation, payload)
}

// Leaves tells whether an error is a break, and of which scope.
func Leaves(err error) (scope string, ok bool) {
	if b, is := errors.AsType[*breaking](err); is {
		return b.scope, true
	}
	return "", false
}
