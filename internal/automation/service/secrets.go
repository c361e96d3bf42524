package service

import (
	"context"

	"atelier/internal/automation/internal/modules/secrets"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Holdings tells under which master keys the secrets are that automations keep.
type Holdings = secrets.Holdings

// SecretMigrations are the table of the secrets that automations keep.
func SecretMigrations() sqldb.Migrations { return secrets.Migrations() }

// SurveySecrets looks under which master keys the secrets of automations are, and changes nothing.
func SurveySecrets(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return secrets.Rewrap(ctx, db, v, true)
}

// RewrapSecrets puts the secrets of automations under the current master key. It may be repeated, and run while servers use them.
func RewrapSecrets(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return secrets.Rewrap(ctx, db, v, false)
}
