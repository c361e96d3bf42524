// Package secrets keeps the secrets of workspaces: values that are set and used, and that no caller can read again.
package secrets

import (
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces/internal/door"
)

// Secrets is the use cases of secrets. Who may do what is checked here, below every way in.
type Secrets struct {
	DB    *sqldb.DB
	Bus   bus.Log
	Clock clock.Clock
	IDs   ident.Source
	Door  *door.Door
	Vault *vault.Vault
	// Environ gives the environment variables that begin with a prefix, by the rest of their names; nil when there are none.
	Environ func(prefix string) map[string]string
}

// Secret is a secret without its value.
type Secret struct {
	ID, Name, Description string
	CreatedAt, UpdatedAt  time.Time
	CreatedBy, UpdatedBy  string
	// version counts the values that it has had.
	version int64
}

// List reads the secrets of a workspace that the caller may read, without their values. Somebody who may read none of
// them, whatever they are called, is refused.
func (s *Secrets) List(ctx context.Context, ref string) ([]Secret, error) {
	v, err := s.enter(ctx, s.DB, ref, access.ActionRead)
	if err != nil {
		return nil, err
	}
	return s.readable(ctx, s.DB, v)
}

// enter opens a visit of a caller that may do one of these to some secret of the workspace.
func (s *Secrets) enter(ctx context.Context, r sqldb.Reader, ref string, actions ...string) (*door.Visit, error) {
	v, err := s.Door.Visit(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	for _, action := range actions {
		some, err := s.filter(v, action)
		if err != nil {
			return nil, err
		}
		if !some.Nothing && !some.Everything {
			return v, nil
		}
		if some.Everything { // with everything comes the question whether there is such a workspace
			return v, check(v, action, "")
		}
	}
	return v, check(v, actions[0], "")
}

// readable reads the secrets that the caller may read.
func (s *Secrets) readable(ctx context.Context, r sqldb.Reader, v *door.Visit) ([]Secret, error) {
	some, err := s.filter(v, access.ActionRead)
	if err != nil {
		return nil, err
	}
	return list(ctx, r, v.Workspace.ID, some)
}

func (s *Secrets) filter(v *door.Visit, action string) (access.Filter, error) {
	return v.Ability.Filter(action, access.SubjectSecrets, access.List{
		Dialect: access.Dialect(s.DB.Driver()), First: firstFree, Known: map[string]string{"workspaceId": v.Workspace.ID, "scope": scope},
		Columns: map[string]access.Column{"name": {SQL: "name", Kind: access.Text}},
	})
}

// scope is that of every secret here, as rules name it.
const scope = "workspace"

// check refuses the caller that may not do this to the secret of this name.
func check(v *door.Visit, action, name string) error {
	return v.CheckObject(action, access.SubjectSecrets, fieldsOf(v, name))
}

func may(v *door.Visit, action, name string) bool {
	return v.Ability.Decide(action, access.SubjectSecrets, fieldsOf(v, name)).Allowed
}

// fieldsOf is what the conditions of rules on secrets look at.
func fieldsOf(v *door.Visit, name string) access.Fields {
	return access.Fields{"workspaceId": v.Workspace.ID, "name": name, "scope": scope}
}

// author names the caller as whoever changed something: a user by the id, a key by its own.
func author(ctx context.Context) string {
	caller := access.From(ctx)
	if caller.UserID != "" {
		return caller.UserID
	}
	return caller.Key()
}

// now is the time as it is stored, so that an answer shows what a later read will show.
func (s *Secrets) now() time.Time { return sqldb.Time(sqldb.Millis(s.Clock.Now())) }
