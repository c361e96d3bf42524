package main

import (
	"fmt"
	"os"

	"atelier/internal/automation/worker"
)

// aside are the processes that the server has beside itself: one that runs custom code and can do nothing else, and one that starts
// those. They are no commands for people, and do not wait until all of them are made ready: workers begin often.
func aside(args []string) (run func() int, ok bool) {
	if len(args) != 1 {
		return nil, false
	}
	switch args[0] {
	case "worker":
		return work, true
	case "nursery":
		return worker.Nurse, true
	default:
		return nil, false
	}
}

// work is the whole of a worker, and gives its exit code.
func work() int {
	code := worker.Run(os.Exit)
	if code != exitOK {
		_, _ = fmt.Fprintln(os.Stderr, "atelier: the server that started this worker does not speak its language")
	}
	return code
}
