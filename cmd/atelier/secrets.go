package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/spf13/cobra"

	"atelier/internal/app"
	"atelier/internal/config"
)

func secretsCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Change the master key of the secrets of workspaces",
		Args:  onlyCommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(rotateSecrets(p))
	return cmd
}

func rotateSecrets(p process) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Put every secret under the current master key",
		Long: `Put every secret under the current master key: the first of SECRETS_MASTER_KEYS, or the one made from INTERNAL_API_KEY when
there is none. The keys that the secrets are under now must be configured too. Values are not decrypted, servers may use
them meanwhile, and the command may be repeated.

Every server must know the new key before this is run, and the old one may be taken away afterwards. When some values
cannot be opened the others are done, and the exit code is 1.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := load(cmd, p)
			if err != nil {
				return err
			}
			done, problem, err := rotateMasterKey(cmd.Context(), loaded.Config)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(p.out)
				encoder.SetIndent("", "  ")
				return errors.Join(encoder.Encode(done), problem)
			}
			_, err = fmt.Fprint(p.out, done.text())
			return errors.Join(err, problem)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	settingFlags(cmd, dataDirFlag)
	return cmd
}

// rewrapped is what a rotation did.
type rewrapped struct {
	MasterKey  string         `json:"masterKey"`
	Rewrapped  int            `json:"rewrapped"`
	Already    int            `json:"already"`
	Unreadable map[string]int `json:"unreadable"` // by the id of the master key
}

func (r rewrapped) text() string {
	return fmt.Sprintf("%d secrets were put under the master key %q; %d were already\n", r.Rewrapped, r.MasterKey, r.Already)
}

// rotateMasterKey rewraps the secrets. The problem is that some of them cannot be opened.
func rotateMasterKey(ctx context.Context, cfg config.Config) (done rewrapped, problem, err error) {
	secrets, err := app.OpenSecrets(ctx, cfg)
	if err != nil {
		return done, nil, err
	}
	defer func() { err = errors.Join(err, secrets.Close()) }()
	found, err := secrets.Rewrap(ctx)
	done = rewrapped{MasterKey: secrets.MasterKey(), Rewrapped: found.Rewrapped, Already: found.Current, Unreadable: map[string]int{}}
	maps.Copy(done.Unreadable, found.Lost)
	for id, count := range found.Damaged {
		done.Unreadable[id] += count
	}
	return done, app.Unreadable(found), err
}
