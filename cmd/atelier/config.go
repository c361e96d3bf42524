package main

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"atelier/internal/app"
	"atelier/internal/config"
)

func configCommand(p process) *cobra.Command {
	var reference, changed bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the effective configuration and where each value comes from",
		Long: `Show the effective configuration and where each value comes from: default, file, environment or flag; the later wins.
Secrets are shown as ***.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reference {
				_, err := fmt.Fprint(p.out, config.Reference())
				return err
			}
			loaded, err := load(cmd, p)
			if err != nil {
				return err
			}
			return showConfig(p, loaded, changed)
		},
	}
	settingFlags(cmd)
	cmd.Flags().BoolVar(&reference, "reference", false, "Print the reference of all settings as Markdown instead.")
	cmd.Flags().BoolVar(&changed, "changed", false, "Show only what differs from the defaults.")
	return cmd
}

func showConfig(p process, loaded *config.Loaded, changed bool) error {
	effective := derived(loaded.Config)
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
	for _, v := range loaded.Values {
		if changed && v.Origin == "default" {
			continue
		}
		if value, ok := effective[v.Name]; ok {
			v.Value = value
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", v.Name, v.Value, v.Origin)
	}
	return table.Flush()
}

// derived gives the settings whose default follows from others.
func derived(cfg config.Config) map[string]string {
	return map[string]string{
		"PORT":                                  strconv.Itoa(cfg.ListenPort()),
		"API_URL":                               cfg.PublicURL(),
		"OIDC_PROVIDER_URL":                     cfg.Issuer(),
		"INTERNAL_API_URL":                      cfg.InternalURL(),
		"WORKSPACES_STORAGE_FILESYSTEM_DIRPATH": app.BlobDir(cfg),
	}
}
