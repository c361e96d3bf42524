package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	automation "atelier/internal/automation/service"
	"atelier/internal/config"
	events "atelier/internal/events/service"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	workspaces "atelier/internal/workspaces/service"
)

// newVault seals with the first configured master key, and without one with that made from the internal key. That one opens
// in any case, so that nobody loses values by configuring keys.
func newVault(cfg config.Config, internalKey string) (*vault.Vault, error) {
	keys, err := vault.ParseKeys(cfg.SecretsMasterKeys.Reveal())
	if err != nil {
		return nil, fmt.Errorf("SECRETS_MASTER_KEYS: %w", err)
	}
	derived, err := vault.DerivedKey(internalKey)
	if err != nil {
		return nil, err
	}
	return vault.New(append(keys, derived)...)
}

func (p *parts) openSecrets(context.Context) (err error) {
	p.vault, err = newVault(p.opts.Config, p.internalKey)
	return err
}

// Secrets are the stored secrets as a command sees them, beside the servers that use the same database.
type Secrets struct {
	db    *sqldb.DB
	vault *vault.Vault
	// keyless tells that there is no internal key, and so none of the values that are under the master key made from it can
	// be opened.
	keyless bool
}

// OpenSecrets opens the secrets of an installation without taking part in it: nothing is made, migrated or locked.
func OpenSecrets(ctx context.Context, cfg config.Config) (*Secrets, error) {
	if err := hasDatabase(cfg); err != nil {
		return nil, err
	}
	key, err := knownInternalKey(cfg)
	if err != nil {
		return nil, err
	}
	v, err := newVault(cfg, key)
	if err != nil {
		return nil, err
	}
	db, err := OpenDatabase(ctx, cfg)
	if err != nil {
		return nil, err
	}
	const step = 3 // the one that makes their table
	for component, step := range map[string]int{workspaces.Migrations().Component: step, events.Migrations().Component: 1, automation.SecretMigrations().Component: 1} {
		if err := hasTables(ctx, db, component, step); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return &Secrets{db: db, vault: v, keyless: key == ""}, nil
}

// MasterKey is the id of the master key that new values are sealed with.
func (s *Secrets) MasterKey() string { return s.vault.Current() }

// Rewrap puts every value under that master key. Servers may use the secrets meanwhile.
func (s *Secrets) Rewrap(ctx context.Context) (workspaces.Holdings, error) {
	if s.keyless {
		return workspaces.Holdings{}, errors.New("INTERNAL_API_KEY: set it to that of the servers; the data directory has none")
	}
	found, err := workspaces.RewrapSecrets(ctx, s.db, s.vault)
	if err != nil {
		return found, err
	}
	ofWebhooks, err := events.RewrapWebhooks(ctx, s.db, s.vault)
	if err != nil {
		return together(found, held(ofWebhooks)), err
	}
	ofAutomations, err := automation.RewrapSecrets(ctx, s.db, s.vault)
	return together(found, held(ofWebhooks), held(ofAutomations)), err
}

// Survey looks under which master keys the values are.
func (s *Secrets) Survey(ctx context.Context) (workspaces.Holdings, error) {
	found, err := workspaces.SurveySecrets(ctx, s.db, s.vault)
	if err != nil {
		return found, err
	}
	ofWebhooks, err := events.SurveyWebhooks(ctx, s.db, s.vault)
	if err != nil {
		return together(found, held(ofWebhooks)), err
	}
	ofAutomations, err := automation.SurveySecrets(ctx, s.db, s.vault)
	return together(found, held(ofWebhooks), held(ofAutomations)), err
}

// held are the figures that all services count alike.
type held struct {
	Current, Older, Rewrapped int
	Lost, Damaged             map[string]int
}

// together counts the secrets of workspaces, webhooks and automations as one.
func together(found workspaces.Holdings, others ...held) workspaces.Holdings {
	for _, more := range others {
		found.Current, found.Older, found.Rewrapped = found.Current+more.Current, found.Older+more.Older, found.Rewrapped+more.Rewrapped
		for id, n := range more.Lost {
			found.Lost[id] += n
		}
		for id, n := range more.Damaged {
			found.Damaged[id] += n
		}
	}
	return found
}

// Close closes the database.
func (s *Secrets) Close() error { return s.db.Close() }

// Unreadable says which values cannot be opened and why; nil when all can.
func Unreadable(found workspaces.Holdings) error {
	var problems []string
	for _, id := range slices.Sorted(maps.Keys(found.Lost)) {
		problems = append(problems, fmt.Sprintf("%d under the master key %q, which is not configured", found.Lost[id], id))
	}
	for _, id := range slices.Sorted(maps.Keys(found.Damaged)) {
		problems = append(problems, fmt.Sprintf("%d under the master key %q, which is not the one it was", found.Damaged[id], id))
	}
	if problems == nil {
		return nil
	}
	return errors.New("secrets that cannot be opened: " + strings.Join(problems, "; "))
}
