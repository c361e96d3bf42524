// Package signals is the instructions by which automations send events and wait for them.
package signals

import (
	"math"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/dsul/expr/value"
)

// Deps is what the instructions need.
type Deps struct {
	Bus   bus.Log
	Waits *waits.Store
	// MaxLen is the largest event, in characters: 100,000 when it is zero.
	MaxLen int
	// Timeout is how long wait waits when it does not say it: 20 seconds when it is zero.
	Timeout time.Duration
}

// Signals sends events and waits for them.
type Signals struct{ Deps }

// New returns the instructions' work.
func New(deps Deps) *Signals {
	const maxLen, timeout = 100_000, 20 * time.Second
	if deps.MaxLen <= 0 {
		deps.MaxLen = maxLen
	}
	if deps.Timeout <= 0 {
		deps.Timeout = timeout
	}
	return &Signals{deps}
}

// Instructions are emit and wait.
func (s *Signals) Instructions() machine.Instructions {
	return machine.Instructions{"emit": machine.Simple(s.emit), "wait": machine.Simple(s.wait)}
}

// prefixed is a type of event as the workspace that runs sees it: apps speak under the name of their instance.
func prefixed(home *machine.Home, eventType string) string {
	if home.FullSlug == "" {
		return eventType
	}
	return home.FullSlug + "." + eventType
}

// seconds reads a number of seconds.
func seconds(v any, standard time.Duration) (time.Duration, error) {
	if !value.Exists(v) {
		return standard, nil
	}
	const longest = 366 * 24 * 3600
	n := value.Number(v)
	if math.IsNaN(n) || n < 0 || n > longest {
		return 0, badWait("The timeout of wait is a number of seconds, from 0 to those of a year.")
	}
	return time.Duration(n * float64(time.Second)), nil
}
