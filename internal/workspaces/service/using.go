package service

import (
	"context"

	"atelier/internal/workspaces/internal/store"
)

// After gives the ids of workspaces that come after one, in the order of their ids.
func (d *Definitions) After(ctx context.Context, workspaceID string, limit int) ([]string, error) {
	return store.IDsAfter(ctx, d.db, workspaceID, limit)
}

// Using gives the ids of workspaces in which an app is installed: in the workspace itself, or in an app that it has installed.
func (d *Definitions) Using(ctx context.Context, appSlug string) ([]string, error) {
	var found []string
	seen, known := map[string]bool{}, map[string]bool{appSlug: true}
	for apps := []string{appSlug}; len(apps) > 0; {
		app := apps[0]
		apps = apps[1:]
		users, err := store.Installing(ctx, d.db, app)
		if err != nil {
			return nil, err
		}
		for _, workspaceID := range users {
			if seen[workspaceID] {
				continue
			}
			seen[workspaceID] = true
			found = append(found, workspaceID)
			published, err := store.Publishing(ctx, d.db, workspaceID)
			if err != nil {
				return nil, err
			}
			for _, other := range published {
				if !known[other] {
					known[other] = true
					apps = append(apps, other)
				}
			}
		}
	}
	return found, nil
}
