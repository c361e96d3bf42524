package gateway

import (
	"context"

	"atelier/internal/config"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// Directory names the accounts for services that know only their ids; they share the gateway's database, not its tables.
type Directory = identity.Directory

// NewDirectory returns the directory of an installation with these settings, also in a process without a gateway.
func NewDirectory(cfg config.Config) *Directory { return identity.NewDirectory(cfg) }

// UsesContent tells whether the gateway needs a content of the blob store, also in a process without a gateway.
func UsesContent(ctx context.Context, r sqldb.Reader, hash string) (bool, error) {
	return identity.UsesContent(ctx, r, hash)
}
