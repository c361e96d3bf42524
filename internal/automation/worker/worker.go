// Package worker is the door of the processes that the runtime has beside itself: "atelier worker", in which custom code runs, and
// "atelier nursery", which starts those.
package worker

import (
	"atelier/internal/automation/internal/code/spawn"
	"atelier/internal/automation/internal/code/worker"
)

// Nurse starts workers for the runtime that has started this process, until that is gone, and gives the exit code.
func Nurse() int { return spawn.Serve() }

// Run serves the runtime that has started this process, over its standard input and output, and gives the exit code. It takes
// away from the process whatever it can do, for good; exit ends the process at once.
func Run(exit func(code int)) int { return worker.Run(worker.Standard(), exit) }
