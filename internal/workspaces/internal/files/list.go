package files

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/sqldb"
)

// Query filters and orders the files of a workspace.
type Query struct {
	// ID, Name, Mimetype, Path and CreatedBy ask for exactly this.
	ID, Name, Mimetype, Path, CreatedBy string
	Public                              *bool
	Size                                *int64
	// Metadata asks for these values, as text.
	Metadata map[string]string
	// Sort is name, mimetype, size, createdAt, updatedAt or expiresAt; Descending reverses it.
	Sort       string
	Descending bool
	Limit      int
	Offset     int
}

// List reads the files of a workspace whose security the caller manages, and how many there are in all.
func (f *Files) List(ctx context.Context, ref string, q Query) ([]Seen, int, error) {
	v, err := f.Door.May(ctx, f.DB, ref, access.ActionManageSecurity)
	if err != nil {
		return nil, 0, err
	}
	where, args := f.filter(v.Workspace.ID, q)
	var total int
	if err := f.DB.QueryRow(ctx, `SELECT COUNT(*) FROM ws_files WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	order := map[string]string{
		"name": "LOWER(name)", "mimetype": "mimetype", "size": "size", "createdAt": "created_at", "updatedAt": "updated_at", "expiresAt": "expires_at",
	}[q.Sort]
	direction := "ASC"
	if q.Descending {
		direction = "DESC"
	}
	args = append(args, q.Limit, q.Offset)
	items, err := sqldb.All(ctx, f.DB, scanRows, fmt.Sprintf(`SELECT %s FROM ws_files WHERE %s ORDER BY %s %s, id %s LIMIT $%d OFFSET $%d`,
		columns, where, order, direction, direction, len(args)-1, len(args)), args...)
	all := make([]Seen, 0, len(items))
	for _, s := range items {
		all = append(all, f.seen(v, s))
	}
	return all, total, err
}

// filter pushes the query into SQL, so that counts and pages are right.
func (f *Files) filter(workspaceID string, q Query) (where string, args []any) {
	var conditions []string
	add := func(condition string, values ...any) {
		names := make([]any, 0, len(values))
		for _, value := range values {
			args = append(args, value)
			names = append(names, fmt.Sprintf("$%d", len(args)))
		}
		conditions = append(conditions, fmt.Sprintf(condition, names...))
	}
	add(`workspace_id = %s`, workspaceID)
	add(`(expires_at = 0 OR expires_at > %s)`, sqldb.Millis(f.Clock.Now()))
	for _, exact := range []struct{ sql, value string }{
		{`id = %s`, q.ID},
		{`name = %s`, q.Name},
		{`mimetype = %s`, strings.ToLower(q.Mimetype)},
		{`workspace_id || '/' || id || '.' || name = %s`, q.Path},
		{`created_by = %s`, q.CreatedBy},
	} {
		if exact.value != "" {
			add(exact.sql, exact.value)
		}
	}
	if q.Public != nil {
		add(`public = %s`, oneIf(*q.Public))
	}
	if q.Size != nil {
		add(`size = %s`, *q.Size)
	}
	for _, key := range slices.Sorted(maps.Keys(q.Metadata)) {
		add(f.metadataIs(), key, q.Metadata[key])
	}
	return strings.Join(conditions, " AND "), args
}

// metadataIs is the condition on one value of the metadata, compared as text.
func (f *Files) metadataIs() string {
	if access.Dialect(f.DB.Driver()) == access.PostgreSQL {
		return `metadata::jsonb ->> (%s)::text = %s`
	}
	return `EXISTS (SELECT 1 FROM json_each(metadata) AS m WHERE m.key = %s
		AND CASE m.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(m.value AS TEXT) END = %s)`
}
