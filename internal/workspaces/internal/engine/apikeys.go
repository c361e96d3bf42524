package engine

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// APIKeys lists the keys of a workspace, without their secrets.
func (e *Engine) APIKeys(ctx context.Context, ref string) ([]access.APIKey, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionManagePermissions)
	if err != nil {
		return nil, err
	}
	return e.Keys.List(ctx, e.DB, v.Workspace.ID)
}

// APIKey reads one key of a workspace, named by its id or by itself.
func (e *Engine) APIKey(ctx context.Context, ref, key string) (access.APIKey, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionManagePermissions)
	if err != nil {
		return access.APIKey{}, err
	}
	return e.Keys.Get(ctx, e.DB, v.Workspace.ID, key)
}

// CreateAPIKey makes a key that can do no more than the caller, and gives its secret, which nobody can read again.
func (e *Engine) CreateAPIKey(ctx context.Context, ref string, request access.KeyRequest) (created access.APIKey, secret string, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.enter(ctx, tx, ref, access.ActionManagePermissions)
		if err != nil {
			return err
		}
		if created, secret, err = e.Keys.Create(ctx, tx, v.Ability, request); err != nil {
			return err
		}
		return e.audit(ctx, tx, v.Workspace.ID, keyAct(catalogue.Created, created, nil, keyFacts(created)))
	})
	return created, secret, err
}

// UpdateAPIKey replaces the name, the rules, the end and the state of a key; its secret stays.
func (e *Engine) UpdateAPIKey(ctx context.Context, ref, key string, request access.KeyRequest) (updated access.APIKey, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.enter(ctx, tx, ref, access.ActionManagePermissions)
		if err != nil {
			return err
		}
		before, err := e.Keys.Get(ctx, tx, v.Workspace.ID, key)
		if err != nil {
			return err
		}
		if updated, err = e.Keys.Update(ctx, tx, v.Ability, key, request); err != nil {
			return err
		}
		return e.audit(ctx, tx, v.Workspace.ID, keyAct(catalogue.Updated, updated, keyFacts(before), keyFacts(updated)))
	})
	return updated, err
}

// DeleteAPIKey removes a key.
func (e *Engine) DeleteAPIKey(ctx context.Context, ref, key string) (deleted access.APIKey, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.enter(ctx, tx, ref, access.ActionManagePermissions)
		if err != nil {
			return err
		}
		if deleted, err = e.Keys.Delete(ctx, tx, v.Workspace.ID, key); err != nil {
			return err
		}
		return e.audit(ctx, tx, v.Workspace.ID, keyAct(catalogue.Deleted, deleted, keyFacts(deleted), nil))
	})
	return deleted, err
}

// keyAct is something done to a key. The payload is that of the key's events; the secret has no place in it.
func keyAct(what catalogue.Verb, key access.APIKey, before, after map[string]any) envelope.Act {
	said := &catalogue.APIKey{
		Verb: what, ID: key.ID, APIKey: key.Masked(), Name: key.Name, SubjectType: access.SubjectWorkspaces, SubjectID: key.WorkspaceID,
	}
	act := envelope.Act{TargetType: "apikeys", TargetID: key.ID, Payload: said}
	if before != nil {
		act.Before = before
	}
	if after != nil {
		act.After, said.Rules = after, key.ShownRules()
	}
	return act
}

// keyFacts is what the audit shows of a key.
func keyFacts(key access.APIKey) map[string]any {
	facts := map[string]any{"name": key.Name, "rules": key.ShownRules(), "disabled": key.Disabled}
	if !key.ExpiresAt.IsZero() {
		facts["expiresAt"] = key.ExpiresAt
	}
	return facts
}
