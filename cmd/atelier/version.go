package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func versionCommand(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(p.out, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("atelier %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
