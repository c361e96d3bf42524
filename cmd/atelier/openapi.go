package main

import (
	"github.com/spf13/cobra"

	"atelier/internal/app"
)

func openapiCommand(p process) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI 3.1 document",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			// The document of the API, not of a build or an installation: no build stamp, no address.
			document, err := app.OpenAPI("2", "")
			if err != nil {
				return err
			}
			text := document.YAML
			if asJSON {
				text = document.JSON
			}
			_, err = p.out.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON instead of YAML.")
	return cmd
}
