// Package contexts keeps the variables that outlive an automation: run, user, session, socket and global. Each is a row of the
// database; a change reads the row anew under a lock, so that runs at the same time do not lose what the others change. What
// was read is remembered by its version, in the process.
package contexts

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

//go:embed migrations
var files embed.FS

// Migrations are the table of contexts.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "contexts", Files: steps}
}

// The roots of the variables that are kept, and config, which is a part of the workspace's definition.
const (
	rootRun     = "run"
	rootUser    = "user"
	rootSession = "session"
	rootSocket  = "socket"
	rootGlobal  = "global"
	rootConfig  = "config"
)

// Settings say how long contexts last and how large they may be.
type Settings struct {
	// Run is how long a run context lasts after it was last saved.
	Run time.Duration
	// Session is how long that of somebody who is signed in lasts when the end of the session is not known; Unauthenticated that
	// of everybody else.
	Session, Unauthenticated time.Duration
	// Socket is how long that of a connection lasts.
	Socket time.Duration
	// MaxSize are bytes of JSON, by root. A larger context is reported, and one that is ten times as large refused. Zero does not
	// limit.
	MaxSize map[string]int
	// Remembered is how many bytes of contexts the process remembers; zero means a sensible number.
	Remembered int
}

// Defaults are the settings of an installation that says nothing.
func Defaults() Settings {
	const day = 24 * time.Hour
	return Settings{
		Run: time.Minute, Session: 30 * day, Unauthenticated: time.Hour, Socket: 6 * time.Hour,
		MaxSize: map[string]int{
			rootSocket: 100_000, rootGlobal: 500_000, rootRun: 500_000, rootUser: 100_000, rootSession: 1_000_000, rootConfig: 100_000,
		},
	}
}

// People tells of accounts and their sessions; the directory of the gateway does.
type People interface {
	// Principal gives the caller that an account is; resource_not_found when there is none.
	Principal(ctx context.Context, r sqldb.Reader, userID string) (access.Principal, error)
	// Session gives the caller that has a session, and when that expires, which may have been; resource_not_found when there is no
	// such session.
	Session(ctx context.Context, r sqldb.Reader, sessionID string) (access.Principal, time.Time, error)
}

// Config changes the configuration of a workspace and of the app instances in it.
type Config interface {
	// SetConfig changes the configuration of the workspace, or of the instance that the slugs lead to, in the caller's
	// transaction. Apply gives all of the new configuration from all of the old one; path is what is changed in it.
	SetConfig(ctx context.Context, tx *sqldb.Tx, workspaceID string, instancePath, path []string, apply func(old any) (any, error)) (any, error)
}

// Deps is what a store needs.
type Deps struct {
	Log    *slog.Logger
	Clock  clock.Clock
	DB     *sqldb.DB
	Access *access.Enforcer
	People People
	// Config may be nil: then automations cannot change it.
	Config   Config
	Settings Settings
	// Alone tells that no other process uses the database, so that what this one remembers is what is stored.
	Alone bool
}

// Store keeps contexts. One serves a whole process.
type Store struct {
	deps  Deps
	cache *cache
}

// New returns a store. Nothing runs in it by itself.
func New(deps Deps) *Store {
	const sensible = 64 << 20
	remembered := deps.Settings.Remembered
	if remembered <= 0 {
		remembered = sensible
	}
	return &Store{deps: deps, cache: newCache(remembered)}
}

// Open gives the contexts of a run. Nothing is read before it is asked for.
func (s *Store) Open(run *machine.Run) machine.Scopes {
	return &scopes{store: s, run: run, identity: run.Caller}
}

// Forget removes all contexts of a workspace, in the caller's transaction.
func (s *Store) Forget(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM rt_contexts WHERE workspace_id = $1`, workspaceID)
	return err
}
