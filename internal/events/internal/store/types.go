package store

import (
	"context"
	"database/sql"

	"atelier/internal/errs"
)

// Types lists the types of the events of a workspace, up to most. It asks the index for one after the other, which takes as
// long for a long history as for a short one.
func (s SQL) Types(ctx context.Context, workspaceID string, most int) ([]string, error) {
	var types []string
	last := ""
	for len(types) < most {
		var next sql.NullString
		err := s.DB.QueryRow(ctx, `SELECT MIN(type) FROM bus_events WHERE workspace_id = $1 AND type > $2`, workspaceID, last).Scan(&next)
		if err != nil {
			return nil, errs.Wrap(err, "list the types of events of a workspace")
		}
		if !next.Valid {
			break
		}
		types, last = append(types, next.String), next.String
	}
	return types, nil
}
