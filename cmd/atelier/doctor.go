package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"atelier/internal/app"
)

func doctorCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check git, disk, port and every configured driver, and say what to fix",
		Long: `Check what "atelier serve" would need with the same settings: disk, port, data directory, git, and a round trip with every
configured driver. Nothing is changed. What is wrong is shown with FIX and what to do about it, and the exit code is 1.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := load(cmd, p)
			if err != nil {
				return err
			}
			opts := options(loaded.Config, p)
			opts.Log = slog.New(slog.DiscardHandler) // the findings say it
			findings, err := app.Examine(cmd.Context(), opts)
			if err != nil {
				return err
			}
			return report(p, findings)
		},
	}
	settingFlags(cmd)
	return cmd
}

func report(p process, findings []app.Finding) error {
	problems := 0
	for _, finding := range findings {
		if finding.Problem == nil {
			_, _ = fmt.Fprintf(p.out, "ok   %s: %s\n", finding.Name, finding.Good)
			continue
		}
		problems++
		problem := strings.Join(strings.Fields(finding.Problem.Error()), " ") // a finding is one line
		_, _ = fmt.Fprintf(p.out, "FIX  %s: %s\n     %s\n", finding.Name, problem, finding.Fix)
	}
	if problems > 0 {
		return fmt.Errorf("%d of %d checks failed", problems, len(findings))
	}
	return nil
}
