package service

import (
	"context"

	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces/internal/secrets"
)

// Holdings tells under which master keys the secrets of all workspaces are.
type Holdings = secrets.Holdings

// SurveySecrets looks under which master keys the stored secrets are, and changes nothing.
func SurveySecrets(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return secrets.Survey(ctx, db, v)
}

// RewrapSecrets puts every stored secret under the current master key. It may be repeated, and run while servers use them.
func RewrapSecrets(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return secrets.Rewrap(ctx, db, v)
}
