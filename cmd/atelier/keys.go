package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"atelier/internal/app"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/keyring"
)

func keysCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "List, rotate and revoke the keys that sign tokens",
		Long: `List, rotate and revoke the keys that sign tokens. These commands work on the configured database, also while servers
are using it: every one of them follows a change within two seconds.

A key is made ahead of its turn and published ("next"), signs for JWKS_ROTATION_DAYS ("signing"), and verifies for
ACCESS_TOKENS_MAX_AGE more ("retired"). A running server sees to all of it by itself.`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(listKeys(p), rotateKeys(p), revokeKey(p))
	return cmd
}

func listKeys(p process) *cobra.Command {
	return onKeys(p, &cobra.Command{
		Use:   "list",
		Short: "List the signing keys and what each of them does",
		Args:  takes(),
	}, func(ctx context.Context, ring *keyring.Ring, _ []string) (shown, error) {
		keys, err := ring.List(ctx)
		return keyTable(keys), err
	})
}

func rotateKeys(p process) *cobra.Command {
	return onKeys(p, &cobra.Command{
		Use:   "rotate",
		Short: "Let the next key sign, making it when there is none yet",
		Long: `Let the next key sign, making it when there is none yet. It takes over when every server knows it, two seconds after it was
made. Tokens that were signed before stay valid.`,
		Args: takes(),
	}, func(ctx context.Context, ring *keyring.Ring, _ []string) (shown, error) {
		kid, err := ring.Rotate(ctx)
		if err != nil {
			return nil, err
		}
		keys, err := ring.List(ctx)
		index := slices.IndexFunc(keys, func(key keyring.Key) bool { return key.KID == kid })
		if err != nil || index < 0 {
			return nil, errors.Join(err, errors.New("the key was revoked by somebody else; list the keys"))
		}
		return rotated{KID: kid, SignsAt: keys[index].Signs}, nil
	})
}

func revokeKey(p process) *cobra.Command {
	return onKeys(p, &cobra.Command{
		Use:   "revoke KID",
		Short: "Remove a key at once; every token it signed is refused within five seconds",
		Long: `Remove a key at once; every token it signed is refused within five seconds, and who holds one has to sign in again. When it
is the key that signs, another one takes its place at the same moment.`,
		Example: `  atelier keys revoke "$(atelier keys list --json | jq -r '.[] | select(.state == "signing").kid')"`,
		Args:    takes("KID"),
	}, func(ctx context.Context, ring *keyring.Ring, args []string) (shown, error) {
		if err := ring.Revoke(ctx, args[0]); err != nil {
			if errors.Is(err, keyring.ErrUnknown) {
				return nil, fmt.Errorf("there is no signing key %q; see \"atelier keys list\"", args[0])
			}
			return nil, err
		}
		out := revoked{KID: args[0]}
		if key := ring.Signing(); key != nil {
			out.Signing = key.KeyID
		}
		return out, nil
	})
}

// shown is an outcome: text for people, and as JSON for programs.
type shown interface{ text() string }

// onKeys makes a command of something to do with the signing keys.
func onKeys(p process, cmd *cobra.Command, do func(context.Context, *keyring.Ring, []string) (shown, error)) *cobra.Command {
	var asJSON bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		loaded, err := load(cmd, p)
		if err != nil {
			return err
		}
		out, err := withKeys(cmd.Context(), loaded.Config, func(ring *keyring.Ring) (shown, error) { return do(cmd.Context(), ring, args) })
		if err != nil {
			return err
		}
		if !asJSON {
			_, err = fmt.Fprint(p.out, out.text())
			return err
		}
		encoder := json.NewEncoder(p.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(out)
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	settingFlags(cmd, dataDirFlag)
	return cmd
}

func withKeys(ctx context.Context, cfg config.Config, do func(*keyring.Ring) (shown, error)) (out shown, err error) {
	keys, err := app.OpenKeys(ctx, cfg, clock.System{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	return do(keys.Ring)
}

type keyTable []keyring.Key

func (keys keyTable) text() string {
	if len(keys) == 0 {
		return "there are no signing keys yet; the first start of the gateway makes one\n"
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "KID\tALG\tSTATE\tSIGNS FROM\tUNTIL\tVERIFIES UNTIL")
	for _, key := range keys {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", key.KID, key.Alg, key.State, stamp(key.Signs), stamp(key.Rotates), stamp(key.Expires))
	}
	_ = table.Flush()
	return text.String()
}

// MarshalJSON gives an array, also of no keys.
func (keys keyTable) MarshalJSON() ([]byte, error) {
	type item struct {
		KID       string        `json:"kid"`
		Alg       string        `json:"alg"`
		State     keyring.State `json:"state"`
		CreatedAt time.Time     `json:"createdAt"`
		SignsAt   time.Time     `json:"signsAt"`
		RotatesAt time.Time     `json:"rotatesAt"`
		ExpiresAt time.Time     `json:"expiresAt"`
	}
	items := make([]item, 0, len(keys))
	for _, key := range keys {
		items = append(items, item{key.KID, key.Alg, key.State, key.Created, key.Signs, key.Rotates, key.Expires})
	}
	return json.Marshal(items)
}

type rotated struct {
	KID     string    `json:"kid"`
	SignsAt time.Time `json:"signsAt"`
}

func (r rotated) text() string { return fmt.Sprintf("%s signs from %s\n", r.KID, stamp(r.SignsAt)) }

type revoked struct {
	KID     string `json:"revoked"`
	Signing string `json:"signing,omitempty"`
}

func (r revoked) text() string {
	return fmt.Sprintf("revoked %s: every token it signed is refused within five seconds; %s signs\n", r.KID, r.Signing)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
