package main

import (
	"fmt"
	"os"
	"slices"

	"atelier/internal/automation/worker"
)

// isWorker tells that the server has started this process to run custom code, in a process that can do nothing else. It is not a
// command for people, and does not wait until all of them are made ready: workers begin often.
func isWorker(args []string) bool { return slices.Equal(args, []string{"worker"}) }

// work is the whole of such a process, and gives its exit code.
func work() int {
	code := worker.Run(os.Exit)
	if code != exitOK {
		_, _ = fmt.Fprintln(os.Stderr, "atelier: the server that started this worker does not speak its language")
	}
	return code
}
