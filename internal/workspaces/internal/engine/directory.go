package engine

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/sqldb"
)

// Directory knows the accounts of the installation, which another service keeps.
type Directory interface {
	// Names gives the names of accounts by their ids; ids that no account has are left out.
	Names(ctx context.Context, r sqldb.Reader, ids []string) (map[string]string, error)
	// Principal gives the caller that an account is when it has signed in; resource_not_found when there is none.
	Principal(ctx context.Context, r sqldb.Reader, userID string) (access.Principal, error)
	// ByEmail gives the id of the account with an address; empty when there is none.
	ByEmail(ctx context.Context, r sqldb.Reader, email string) (string, error)
}
