package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"atelier/internal/automation/worker"
)

// workerCommand is not for people: the server starts it to run custom code in a process that can do nothing else.
func workerCommand(process) *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Run custom code for the server that starts this process",
		Hidden: true,
		Args:   takes(),
		RunE: func(*cobra.Command, []string) error {
			if worker.Run(os.Exit) != exitOK {
				return errors.New("the server that started this worker does not speak its language")
			}
			return nil
		},
	}
}
