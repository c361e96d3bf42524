// Package identity holds the accounts and their sessions, and makes and reads the tokens of these.
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
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of accounts and sessions. They come after those of the keyring, which takes over old keys.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "gateway", Files: files}
}

// Deps is what identity needs.
type Deps struct {
	DB     *sqldb.DB
	Keys   *keyring.Ring
	Log    bus.Log
	Limits *limits.Limits
	Clock  clock.Clock
	IDs    ident.Source
	Config config.Config
	// Post mails a letter in the caller's transaction.
	Post func(ctx context.Context, tx *sqldb.Tx, letter Letter) error
	// Disown removes the second factors and passkeys of an account, in the caller's transaction.
	Disown func(ctx context.Context, tx *sqldb.Tx, userID string) error
	// TouchKey writes that an API key was used.
	TouchKey func(ctx context.Context, keyID string) error
	// Revoked tells that the token with an id was revoked while its session goes on.
	Revoked func(tokenID string) bool
	// Forget removes what a deleted account had access to, in the caller's transaction, and tells which workspaces it leaves
	// to the super admins.
	Forget func(ctx context.Context, tx *sqldb.Tx, userID string) ([]string, error)
}

// Identity answers who a caller is.
type Identity struct {
	deps   Deps
	keys   *keyring.Ring
	hashes chan struct{} // bounds how many passwords are hashed at once: each takes 19 MiB

	verified *otter.Cache[tokenHash, verifiedToken]
	sessions *otter.Cache[string, sessionState]
	tokens   *otter.Cache[string, tokenState]
	seen     sightings
}

const (
	verifiedMax = 100_000
	sessionsMax = 100_000
	// revocationDelay is how long a revoked session or a changed account may still be believed.
	revocationDelay = 2 * time.Second
	hashesAtOnce    = 4
)

// Open returns the identity of an installation.
func Open(_ context.Context, deps Deps) (*Identity, error) {
	verified, err := otter.New(&otter.Options[tokenHash, verifiedToken]{MaximumSize: verifiedMax})
	if err != nil {
		return nil, err
	}
	sessions, err := otter.New(&otter.Options[string, sessionState]{MaximumSize: sessionsMax})
	if err != nil {
		return nil, err
	}
	tokens, err := otter.New(&otter.Options[string, tokenState]{MaximumSize: sessionsMax})
	if err != nil {
		return nil, err
	}
	i := &Identity{
		deps: deps, keys: deps.Keys, hashes: make(chan struct{}, hashesAtOnce),
		verified: verified, sessions: sessions, tokens: tokens,
	}
	return i, nil
}
