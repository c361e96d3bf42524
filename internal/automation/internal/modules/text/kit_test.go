package text_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/text"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

type function func(parameters *value.Object) (any, error)

// timed is a function with all the time in the world.
func timed(t *testing.T, do func(w *text.Watch, parameters *value.Object) (any, error)) function {
	return func(parameters *value.Object) (any, error) {
		return do(text.NewWatch(t.Context(), clock.NewManual(time.Unix(0, 0))), parameters)
	}
}

// compact is a result as JSON.
func compact(t *testing.T, v any) string {
	t.Helper()
	out, short := value.JSON(v, "", 1<<20)
	if !short {
		t.Fatal("the result is long")
	}
	return out
}

// refused fails unless a call is refused with a failure of the name that says something.
func refused(t *testing.T, name string, do function, failure, says string, parameters ...any) {
	t.Helper()
	_, err := do(machine.Payload(parameters...))
	var found *machine.Failure
	if !errors.As(err, &found) || found.Name != failure || !strings.Contains(found.Message, says) {
		t.Errorf("%s: %v", name, err)
	}
}
