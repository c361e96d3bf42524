// Package identity holds the accounts, their sessions, and the keys that sign tokens.
package identity

import (
	"context"
	"embed"
	"io/fs"
	"time"

	"github.com/maypok86/otter/v2"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/ident"
	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of accounts, sessions and keys.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "gateway", Files: files}
}

// Deps is what identity needs.
type Deps struct {
	DB     *sqldb.DB
	Log    bus.Log
	Limits kv.Limiter
	Clock  clock.Clock
	IDs    ident.Source
	Config config.Config
}

// Identity answers who a caller is.
type Identity struct {
	deps   Deps
	keys   *keyring
	hashes chan struct{} // bounds how many passwords are hashed at once: each takes 19 MiB

	verified *otter.Cache[tokenHash, verifiedToken]
	sessions *otter.Cache[string, sessionState]
}

const (
	verifiedMax = 100_000
	sessionsMax = 100_000
	// revocationDelay is how long a revoked session or a changed account may still be believed.
	revocationDelay = 2 * time.Second
	hashesAtOnce    = 4
)

// Open loads the signing keys, making the first one when there is none.
func Open(ctx context.Context, deps Deps) (*Identity, error) {
	verified, err := otter.New(&otter.Options[tokenHash, verifiedToken]{MaximumSize: verifiedMax})
	if err != nil {
		return nil, err
	}
	sessions, err := otter.New(&otter.Options[string, sessionState]{MaximumSize: sessionsMax})
	if err != nil {
		return nil, err
	}
	i := &Identity{
		deps: deps, keys: &keyring{db: deps.DB, clock: deps.Clock}, hashes: make(chan struct{}, hashesAtOnce),
		verified: verified, sessions: sessions,
	}
	if err := i.keys.load(ctx); err != nil {
		return nil, err
	}
	if i.keys.signing() == nil {
		if err := i.keys.addFirst(ctx, deps.Config); err != nil {
			return nil, err
		}
	}
	return i, nil
}
