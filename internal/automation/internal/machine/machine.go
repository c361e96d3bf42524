// Package machine runs automations. A definition is compiled once into steps, which are Go functions; a run calls them and parses
// nothing. It knows no service: what instructions do to the world stands in packages of their own, which are given frames.
package machine

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"atelier/internal/access"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

// Machine runs automations.
type Machine struct {
	Log    *slog.Logger
	Clock  clock.Clock
	IDs    ident.Source
	DB     *sqldb.DB
	Access *access.Enforcer
	// Recorder takes the technical events of runs.
	Recorder Recorder
	// Throttle holds runs back; nil holds nothing back.
	Throttle Throttle
	// Turns shares the processors out between workspaces; nil lets all of them work.
	Turns *turns.Turns
	// Tracer makes the spans of automations; nil makes none.
	Tracer trace.Tracer
	Limits Limits
	// Locale and Zone are used where a date names none.
	Locale string
	Zone   *time.Location

	zones sync.Map // by name
	env   atomic.Pointer[expr.Env]
}

// Limits bound a run.
type Limits struct {
	// Depth is how many automations may call each other, one in the other; 0 is 20.
	Depth int
	// Memory is how many bytes the variables of a run may take, about; Steps how many instructions it may do. 0 is no limit.
	Memory, Steps int64
	// Local is how many bytes the variables of one automation may take before it is reported.
	Local int64
}

// Recorder takes technical events, which are written behind the answer.
type Recorder interface {
	// Record hands events over. It waits while there are too many that are not written yet.
	Record(ctx context.Context, records ...bus.Record) error
}

// What a workspace is throttled by.
const (
	ThrottleAutomations = "automations"
	ThrottleEmits       = "emits"
	ThrottleFetches     = "fetchs"
	ThrottleRepeats     = "repeats"
)

// Throttle holds a workspace back that does too much of something.
type Throttle interface {
	// Limits tells whether a workspace may have to wait for units at all.
	Limits(home *Home, kind string) bool
	// Wait takes n units, and waits until they are free. It tells how long that was.
	Wait(ctx context.Context, home *Home, kind string, n int) (time.Duration, error)
}

// Result is what became of an automation.
type Result struct {
	Output any
	// Broken tells that it was left early.
	Broken bool
	Err    error
}
