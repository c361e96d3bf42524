package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"atelier/internal/sqldb"
)

// Denying picks those of some workspaces whose rules deny an action on a subject to somebody. In all others nobody has less
// than the built-in rules give, so that a list over many workspaces asks only these what its caller may do.
func (e *Enforcer) Denying(ctx context.Context, r sqldb.Reader, dialect Dialect, ids []string, action, subject string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, _ := json.Marshal(ids) // texts can always be written
	keys, err := sqldb.All(ctx, r, func(rows *sql.Rows) (k documentKey, err error) { return k, rows.Scan(&k.workspaceID, &k.digest) },
		`SELECT workspace_id, digest FROM access_security WHERE workspace_id IN (`+dialect.Elements("$1")+`) ORDER BY workspace_id`, string(list))
	if err != nil {
		return nil, err
	}
	var denying []string
	for _, key := range keys {
		d, err := e.compiled(ctx, r, key)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(d.rules[subject], func(r *rule) bool { return r.inverted && r.covers(action) }) {
			denying = append(denying, key.workspaceID)
		}
	}
	return denying, nil
}
