// Package secrets is the module secrets: values that automations keep, of a user or of the whole workspace. They are encrypted where
// they are stored, and no automation reads them again: it gets references, which only a fetch of the same run or user puts the
// values in for, and only for some minutes.
package secrets

import (
	"context"
	"embed"
	"io/fs"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

//go:embed migrations
var files embed.FS

// Migrations are the table of secrets.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "runsecrets", Files: steps}
}

// Deps are what secrets need.
type Deps struct {
	DB     *sqldb.DB
	Vault  *vault.Vault
	Clock  clock.Clock
	IDs    ident.Source
	Access *access.Enforcer
	// Most is how many secrets all users of a workspace may have together; 0 is 100,000.
	Most int
}

// Secrets keeps the secrets of automations.
type Secrets struct{ deps Deps }

// New returns the secrets of a database.
func New(deps Deps) *Secrets {
	const usual = 100_000
	if deps.Most == 0 {
		deps.Most = usual
	}
	return &Secrets{deps: deps}
}

// Functions are the functions of the module.
func (s *Secrets) Functions() map[string]func(f *machine.Frame, parameters *value.Object) (any, error) {
	return map[string]func(f *machine.Frame, parameters *value.Object) (any, error){
		"set": func(f *machine.Frame, parameters *value.Object) (any, error) {
			if secret, ok := parameters.Get("value").(string); ok {
				f.Hide(secret)
			}
			return s.Set(f.Context(), f.Once, Of(f), parameters)
		},
		"get": func(f *machine.Frame, parameters *value.Object) (any, error) {
			return s.Get(f.Context(), Of(f), parameters)
		},
		"delete": func(f *machine.Frame, parameters *value.Object) (any, error) {
			return s.Delete(f.Context(), f.Once, Of(f), parameters)
		},
	}
}

// Once does an effect on the platform once, as a frame does.
type Once = func(do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (any, error)

// Actor is the run that asks.
type Actor struct {
	WorkspaceID string
	// Space is the app instance whose automation asks; it has secrets of its own.
	Space string
	// Caller is who acts, as it was proven: what an automation sets user.id to does not count.
	Caller        access.Principal
	CorrelationID string
	// Scheduled tells that a schedule started the run, so that it is the workspace itself that acts.
	Scheduled bool
}

// Of is the run of a frame.
func Of(f *machine.Frame) Actor {
	run := f.Run()
	return Actor{
		WorkspaceID: run.Root.WorkspaceID, Space: f.Home().FullSlug, Caller: run.Caller, CorrelationID: run.CorrelationID,
		Scheduled: run.Trigger.Type == "schedule",
	}
}

// The scopes of secrets.
const (
	scopeUser      = "user"
	scopeWorkspace = "workspace"
)

// key is what names a secret.
type key struct{ workspaceID, space, scope, owner, name string }

// now is the time as it is stored.
func (s *Secrets) now() int64 { return sqldb.Millis(s.deps.Clock.Now()) }

// life is how long a reference can be used.
const life = 5 * time.Minute
