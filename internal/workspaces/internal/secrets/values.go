package secrets

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// place is what a sealed value is bound to: as another value of the same secret, or of another one, it cannot be opened.
func place(workspaceID, name string, version int64) string {
	return fmt.Sprintf("workspaces/%s/secrets/%s/%d", workspaceID, name, version)
}

// Values gives what {{secret.name}} stands for in a workspace: the stored values and, for names that have none, those that
// the operator gives in WORKSPACE_SECRET_{slug}_{name}. The platform's own names are not among them. It is for services, on
// behalf of the workspace: no caller is checked.
func (s *Secrets) Values(ctx context.Context, r sqldb.Reader, w workspaces.Workspace) (map[string]vault.Secret, error) {
	values, err := s.open(ctx, r, w, func(name string) bool { return !Reserved(name) })
	if err != nil {
		return nil, err
	}
	given := s.given(w)
	maps.Copy(given, values)
	return given, nil
}

// System gives the platform's own settings of a workspace by their names. It is for services alone.
func (s *Secrets) System(ctx context.Context, r sqldb.Reader, w workspaces.Workspace) (map[string]vault.Secret, error) {
	return s.open(ctx, r, w, Reserved)
}

// open gives the stored values whose names fulfil a condition.
func (s *Secrets) open(ctx context.Context, r sqldb.Reader, w workspaces.Workspace, wanted func(name string) bool) (map[string]vault.Secret, error) {
	stored, err := sealed(ctx, r, w.ID)
	if err != nil {
		return nil, err
	}
	values := make(map[string]vault.Secret, len(stored))
	for _, one := range stored {
		if !wanted(one.name) {
			continue
		}
		plain, err := s.Vault.Open(place(w.ID, one.name, one.version), one.Sealed)
		if err != nil {
			return nil, fmt.Errorf("secret %s of workspace %s: %w", one.name, w.ID, err)
		}
		values[one.name] = vault.Secret(plain)
	}
	return values, nil
}

// Names lists what {{secret.name}} may name in a workspace, in order.
func (s *Secrets) Names(ctx context.Context, r sqldb.Reader, workspaceID string) ([]string, error) {
	w, err := store.Get(ctx, r, workspaceID)
	if err != nil {
		return nil, err
	}
	stored, err := list(ctx, r, w.ID, all())
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(s.given(w)))
	for _, one := range stored {
		if !Reserved(one.Name) {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// given are the values that the operator gives. A slug has no underscore, so a variable is of one workspace alone.
func (s *Secrets) given(w workspaces.Workspace) map[string]vault.Secret {
	values := map[string]vault.Secret{}
	if s.Environ == nil {
		return values
	}
	for name, text := range s.Environ("WORKSPACE_SECRET_" + w.Slug + "_") {
		if text != "" && nameForm.MatchString(name) && !Reserved(name) {
			values[name] = vault.Secret(text)
		}
	}
	return values
}
