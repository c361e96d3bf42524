package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"atelier/internal/app"
	"atelier/internal/config"
)

// configFlag names the configuration file; every command takes it.
const configFlag = "config"

// dataDirFlag is the one setting that the commands on data alone take.
const dataDirFlag = "data-dir"

// settingFlags offers the settings that have a flag, or of them only the named ones. A flag wins over the environment and
// the file.
func settingFlags(cmd *cobra.Command, only ...string) {
	for _, flag := range config.Flags() {
		if len(only) == 0 || slices.Contains(only, flag.Name) {
			cmd.Flags().String(flag.Name, "", flag.Doc+" ("+flag.Setting+")")
		}
	}
}

// load reads the configuration the way every command does.
func load(cmd *cobra.Command, p process) (*config.Loaded, error) {
	settings := []string{configFlag}
	for _, flag := range config.Flags() {
		settings = append(settings, flag.Name)
	}
	given := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(settings, f.Name) {
			given[f.Name] = f.Value.String()
		}
	})
	return config.Load(config.Sources{Environ: p.environ, Flags: given, ReadFile: os.ReadFile, Targets: app.TargetNames()})
}
