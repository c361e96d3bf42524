package gateway

import (
	"atelier/internal/config"
	"atelier/internal/gateway/internal/identity"
)

// Directory names the accounts for services that know only their ids; they share the gateway's database, not its tables.
type Directory = identity.Directory

// NewDirectory returns the directory of an installation with these settings, also in a process without a gateway.
func NewDirectory(cfg config.Config) *Directory { return identity.NewDirectory(cfg) }
