// Package worker is the door of the command "atelier worker": the process in which the runtime has custom code run.
package worker

import "atelier/internal/automation/internal/code/worker"

// Run serves the runtime that has started this process, over its standard input and output, and gives the exit code. It takes
// away from the process whatever it can do, for good; exit ends the process at once.
func Run(exit func(code int)) int { return worker.Run(worker.Standard(), exit) }
