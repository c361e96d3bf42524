package instructions_test

import (
	"errors"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
)

// scenario is an automation, what it is called with, and its output as JSON, or "error: " and the name and a part of the message
// of its failure.
type scenario struct {
	name, do, output, payload, want string
}

func play(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			text := "do: " + s.do
			if s.output != "" {
				text += "\noutput: " + s.output + "\n"
			}
			payload := s.payload
			if payload == "" {
				payload = "{}"
			}
			output, err := machinetest.Run(t, text, machinetest.Object(t, payload))
			expect(t, s.want, output, err)
		})
	}
}

func expect(t *testing.T, want string, output any, err error) {
	t.Helper()
	wanted, fails := strings.CutPrefix(want, "error: ")
	if !fails {
		if err != nil {
			t.Fatal(err)
		}
		if got := machinetest.JSON(output); got != want {
			t.Errorf("%s\ninstead of\n%s", got, want)
		}
		return
	}
	failure, ok := errors.AsType[*machine.Failure](err)
	if !ok {
		t.Fatalf("%v (output %s) is no failure", err, machinetest.JSON(output))
	}
	if name, message, _ := strings.Cut(wanted, " "); failure.Name != name || !strings.Contains(failure.Message, message) {
		t.Errorf("%v instead of %s", failure, wanted)
	}
}
