//go:build failpoint

// Package failpoint names the steps of an operation at which a test may kill the process, so that what a restart finds can
// be held against what was promised. This is the armed build, for tests only.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Variable names the point to die at: "import.locked", or "import.locked#2" for the second time it is reached. It does not
// begin as settings do: a setting that nobody knows is refused.
const Variable = "FAILPOINT"

// trigger is the point that was asked for and how often it has still to be reached.
type trigger struct {
	name string
	left atomic.Int64
}

var armed = sync.OnceValue(func() *trigger {
	name, count, counted := strings.Cut(os.Getenv(Variable), "#") //nolint:forbidigo // no setting of the product: it exists in test builds only
	t := &trigger{name: name}
	t.left.Store(1)
	if counted {
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 {
			panic(Variable + ": the number after # counts from 1") //nolint:forbidigo // a test that would silently never kill is worse
		}
		t.left.Store(n)
	}
	return t
})

// At kills the process, without a chance to clean up, when the environment asks for this point.
func At(name string) {
	t := armed()
	if t.name != name || t.left.Add(-1) != 0 {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil || self.Kill() != nil {
		os.Exit(137) // as if it had been killed
	}
	select {} // the signal is on its way; nothing after this point may run
}
