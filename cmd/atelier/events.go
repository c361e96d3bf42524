package main

import (
	"github.com/spf13/cobra"

	"atelier/internal/app"
)

func eventsCommand(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "events",
		Short: "Print the catalogue of events that the platform emits, as YAML",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			text, err := app.Events("2") // of the product, not of a build
			if err != nil {
				return err
			}
			_, err = p.out.Write(text)
			return err
		},
	}
}
