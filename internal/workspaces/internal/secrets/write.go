package secrets

import (
	"context"
	"maps"
	"slices"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// Draft is what a caller may say of a secret. A nil value leaves that of a secret that exists as it is.
type Draft struct {
	Value       *vault.Secret
	Description *string
}

// Merge makes or changes the secrets that are named and leaves all others alone; a nil description stays as it is. It gives
// the secrets that the caller may read afterwards.
func (s *Secrets) Merge(ctx context.Context, ref string, drafts map[string]Draft) ([]Secret, error) {
	return s.write(ctx, ref, drafts, false)
}

// Replace makes the secrets of a workspace those that are named: others are deleted, and a nil description is none. Secrets
// that the caller can neither read nor delete are no part of it and stay.
func (s *Secrets) Replace(ctx context.Context, ref string, drafts map[string]Draft) ([]Secret, error) {
	return s.write(ctx, ref, drafts, true)
}

func (s *Secrets) write(ctx context.Context, ref string, drafts map[string]Draft, replace bool) (left []Secret, err error) {
	err = s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := s.enter(ctx, tx, ref, access.ActionUpdate, access.ActionCreate, access.ActionDelete)
		if err != nil {
			return err
		}
		if err := s.set(ctx, tx, v, drafts, replace); err != nil {
			return err
		}
		left, err = s.readable(ctx, tx, v)
		return err
	})
	return left, err
}

// MergeIn is Merge inside a transaction that does more, for the caller of a visit.
func (s *Secrets) MergeIn(ctx context.Context, tx *sqldb.Tx, v *door.Visit, drafts map[string]Draft) error {
	return s.set(ctx, tx, v, drafts, false)
}

// set writes what the caller may write, and tells of it.
func (s *Secrets) set(ctx context.Context, tx *sqldb.Tx, v *door.Visit, drafts map[string]Draft, replace bool) error {
	if err := valid(drafts); err != nil {
		return err
	}
	stored, err := s.hold(ctx, tx, v)
	if err != nil {
		return err
	}
	todo, err := plan(v, stored, drafts, replace)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, tx, v, todo); err != nil {
		return err
	}
	return s.tell(ctx, tx, v.Workspace.ID, todo.changes())
}

// Delete removes a secret.
func (s *Secrets) Delete(ctx context.Context, ref, name string) error {
	return s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := s.Door.Visit(ctx, tx, ref)
		if err != nil {
			return err
		}
		if err := check(v, access.ActionDelete, name); err != nil {
			return err
		}
		removed, err := remove(ctx, tx, v.Workspace.ID, name)
		if err != nil {
			return err
		}
		if !removed {
			return errs.Missing(access.SubjectSecrets, name)
		}
		return s.tell(ctx, tx, v.Workspace.ID, changes{deleted: []string{name}})
	})
}

// hold reads the secrets of a workspace for changing them: until the transaction ends nobody else does.
func (s *Secrets) hold(ctx context.Context, tx *sqldb.Tx, v *door.Visit) (map[string]Secret, error) {
	if _, err := store.Hold(ctx, tx, v.Workspace.ID); sqldb.IsNotFound(err) {
		return nil, errs.Missing(access.SubjectWorkspaces, v.Workspace.ID)
	} else if err != nil {
		return nil, err
	}
	every, err := list(ctx, tx, v.Workspace.ID, all())
	stored := make(map[string]Secret, len(every))
	for _, secret := range every {
		stored[secret.Name] = secret
	}
	return stored, err
}

// steps is what a write does, with the secrets as they will be.
type steps struct {
	create, update []step
	remove         []string
}

type step struct {
	Secret
	// value is the new one; nil when it stays.
	value *vault.Secret
}

// plan decides what a write does, and that the caller may do all of it. Nothing is written before that.
func plan(v *door.Visit, stored map[string]Secret, drafts map[string]Draft, replace bool) (todo steps, err error) {
	var missing []errs.Field
	for _, name := range slices.Sorted(maps.Keys(drafts)) {
		draft, before := drafts[name], stored[name]
		after := draft.on(before, replace)
		after.Name = name
		switch {
		case !known(stored, name):
			if draft.Value == nil {
				missing = append(missing, errs.Field{Field: name + ".value", Message: "it is required: there is no such secret yet"})
			}
			todo.create = append(todo.create, after)
		case draft.Value == nil && after.Description == before.Description:
			continue // a value counts as a change even when it is the same: who sets values must not learn them by guessing
		default:
			todo.update = append(todo.update, after)
		}
		if err := check(v, writing(name, known(stored, name)), name); err != nil {
			return steps{}, err
		}
	}
	if len(missing) > 0 {
		return steps{}, errs.Invalid(missing...)
	}
	if replace {
		if todo.remove, err = rest(v, stored, drafts); err != nil {
			return steps{}, err
		}
	}
	if len(todo.create) > 0 && len(stored)+len(todo.create)-len(todo.remove) > maxSecrets {
		return steps{}, errs.Newf(errs.QuotaExceeded, "A workspace has at most %d secrets; delete one that is not used any more.", maxSecrets).
			With("limit", maxSecrets)
	}
	return todo, nil
}

func known(stored map[string]Secret, name string) bool {
	_, known := stored[name]
	return known
}

// on gives the secret with what the draft says of it.
func (d Draft) on(before Secret, replace bool) step {
	after := step{Secret: before, value: d.Value}
	switch {
	case d.Description != nil:
		after.Description = *d.Description
	case replace:
		after.Description = ""
	}
	return after
}

// writing is the action that a write needs. Of names that are not the workspace's own it does not tell whether they are taken.
func writing(name string, exists bool) string {
	if exists || Reserved(name) {
		return access.ActionUpdate
	}
	return access.ActionCreate
}

// rest lists the secrets that a replacement leaves out and so deletes.
func rest(v *door.Visit, stored map[string]Secret, drafts map[string]Draft) (names []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if _, stays := drafts[name]; stays || !may(v, access.ActionRead, name) && !may(v, access.ActionDelete, name) {
			continue
		}
		if err := check(v, access.ActionDelete, name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// apply writes what was planned.
func (s *Secrets) apply(ctx context.Context, tx *sqldb.Tx, v *door.Visit, todo steps) error {
	now, author := s.now(), author(ctx)
	for _, name := range todo.remove {
		if _, err := remove(ctx, tx, v.Workspace.ID, name); err != nil {
			return err
		}
	}
	for _, made := range todo.create {
		made.ID, made.CreatedAt, made.CreatedBy = s.IDs.UUID(), now, author
		made.UpdatedAt, made.UpdatedBy = now, author
		if err := s.put(ctx, tx, v.Workspace.ID, made); err != nil {
			return err
		}
	}
	for _, changed := range todo.update {
		changed.UpdatedAt, changed.UpdatedBy = now, author
		if err := s.put(ctx, tx, v.Workspace.ID, changed); err != nil {
			return err
		}
	}
	return nil
}

// put stores a secret, with its new value when it has one.
func (s *Secrets) put(ctx context.Context, tx *sqldb.Tx, workspaceID string, changed step) error {
	if changed.value == nil {
		return describe(ctx, tx, workspaceID, changed.Secret)
	}
	changed.version++
	sealed, err := s.Vault.Seal(place(workspaceID, changed.Name, changed.version), []byte(changed.value.Reveal()))
	if err != nil {
		return errs.Wrap(err, "seal a secret")
	}
	return upsert(ctx, tx, workspaceID, changed.Secret, sealed)
}
