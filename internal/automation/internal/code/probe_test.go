package code_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/automation/internal/code/worker"
)

// probe is a worker that does by itself what code could do that has broken out of the engine. It answers what became of it.
func probe() int {
	pipes := worker.Standard()
	var setup wire.Setup
	if _, err := wire.Read(pipes.In, 4096, &setup); err != nil {
		return 1
	}
	shields := worker.Lock(setup)
	if err := wire.Write(pipes.Out, wire.Ready{Version: wire.Version, Shields: shields}, nil); err != nil {
		return 1
	}
	for {
		var request wire.Request
		if _, err := wire.Read(pipes.In, setup.Request, &request); err != nil {
			return 0
		}
		said := "there is no such probe"
		if try, ok := probes()[request.Code]; ok {
			said = try()
		}
		body, err := json.Marshal(said)
		if err != nil {
			return 1
		}
		if err := wire.Write(pipes.Out, wire.Response{ID: request.ID}, body); err != nil {
			return 1
		}
	}
}

// Whatever a worker does natively fails, in namespaces of its own and without.
func TestNothingCanBeDoneNatively(t *testing.T) {
	onLinux(t)
	t.Parallel()
	for name, plain := range map[string]bool{"isolated": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := program("probe")
			as.Plain = plain
			c := room(t, code.Limits{}, as)
			for what := range probes() {
				got, err := inline(t, c, "a", what)
				if text, ok := got.(string); err != nil || !ok || !denied(text) {
					t.Errorf("%s: %v %v", what, got, err)
				}
			}
			t.Log(c.Shields())
			for _, needed := range []string{"limits", "no_new_privs", "seccomp"} {
				if !slices.Contains(c.Shields(), needed) {
					t.Errorf("there is no %s, only %v", needed, c.Shields())
				}
			}
		})
	}
}

func denied(said string) bool {
	return slices.ContainsFunc([]string{"operation not permitted", "no such file", "permission denied", "nothing there", "resolution", "lookup"}, func(text string) bool {
		return strings.Contains(said, text)
	})
}

func said(err error) string {
	if err == nil {
		return "IT WORKED"
	}
	return err.Error()
}

func readsEnvironment() string {
	if all := os.Environ(); len(all) > 0 { //nolint:forbidigo // what a worker finds there is the question
		return "IT WORKED: " + strings.Join(all, " ")
	}
	return "nothing there"
}
