package apps

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"atelier/internal/access"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

const columns = `a.slug, a.workspace_id, a.version, a.created_at, a.created_by, a.updated_at, a.updated_by, t.body,
	COALESCE((SELECT w.slug FROM ws_workspaces w WHERE w.id = a.workspace_id AND w.deleted_at = 0), '')`

// newest joins apps with the outline of their newest version.
const newest = ` FROM ws_apps a JOIN ws_app_versions v ON v.app_slug = a.slug AND v.name = a.version
	JOIN ws_texts t ON t.owner = 'app/' || a.slug AND t.hash = v.outline `

func scan(row func(...any) error) (app App, err error) {
	var created, updated int64
	var outline string
	err = row(&app.Slug, &app.WorkspaceID, &app.Version, &created, &app.CreatedBy, &updated, &app.UpdatedBy, &outline, &app.WorkspaceSlug)
	if err != nil {
		return app, err
	}
	app.CreatedAt, app.UpdatedAt = sqldb.Time(created), sqldb.Time(updated)
	return app, json.Unmarshal([]byte(outline), &app.Outline)
}

// get reads an app with the outline of its newest version; sql.ErrNoRows when there is none.
func get(ctx context.Context, r sqldb.Reader, slug string) (App, error) {
	return scan(r.QueryRow(ctx, `SELECT `+columns+newest+`WHERE a.slug = $1`, slug).Scan)
}

// ofWorkspace reads the app that a workspace publishes; sql.ErrNoRows when it publishes none.
func ofWorkspace(ctx context.Context, r sqldb.Reader, workspaceID string) (App, error) {
	return scan(r.QueryRow(ctx, `SELECT `+columns+newest+`WHERE a.workspace_id = $1 AND a.workspace_id <> ''`, workspaceID).Scan)
}

// hold keeps an app from being deleted, or used anew, until the transaction ends, and tells whether there is one.
func hold(ctx context.Context, tx *sqldb.Tx, slug string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_apps SET slug = slug WHERE slug = $1`, slug)
	return n == 1, err
}

// taken tells whether there is an app with the slug, or with one that differs from it in case alone.
func taken(ctx context.Context, r sqldb.Reader, slug string) (bool, error) {
	var one int
	err := r.QueryRow(ctx, `SELECT 1 FROM ws_apps WHERE folded = $1`, strings.ToLower(slug)).Scan(&one)
	if sqldb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// put stores an app in the place of the one with its slug.
func put(ctx context.Context, tx *sqldb.Tx, app App) error {
	labels, err := json.Marshal(app.Outline.Labels)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ws_apps (slug, folded, workspace_id, name, description, labels, version, created_at, created_by, updated_at, updated_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (slug) DO UPDATE SET name = excluded.name, description = excluded.description, labels = excluded.labels, version = excluded.version,
			updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		app.Slug, strings.ToLower(app.Slug), app.WorkspaceID, app.Outline.Name, string(app.Outline.Description), string(labels), app.Version,
		sqldb.Millis(app.CreatedAt), app.CreatedBy, sqldb.Millis(app.UpdatedAt), app.UpdatedBy)
	return err
}

const versionColumns = `name, number, description, tree, outline, created_at, created_by`

func scanVersion(row func(...any) error) (v Version, err error) {
	var created int64
	err = row(&v.Name, &v.number, &v.Description, &v.tree, &v.outline, &created, &v.CreatedBy)
	v.CreatedAt = sqldb.Time(created)
	return v, err
}

// versions lists the versions of an app, the newest first.
func versions(ctx context.Context, r sqldb.Reader, slug string) ([]Version, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Version, error) { return scanVersion(rows.Scan) },
		`SELECT `+versionColumns+` FROM ws_app_versions WHERE app_slug = $1 ORDER BY number DESC`, slug)
}

func putVersion(ctx context.Context, tx *sqldb.Tx, slug string, v Version) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_app_versions (app_slug, `+versionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		slug, v.Name, v.number, v.Description, v.tree, v.outline, sqldb.Millis(v.CreatedAt), v.CreatedBy)
	return err
}

func deleteVersion(ctx context.Context, tx *sqldb.Tx, slug, name string) error {
	_, err := tx.Exec(ctx, `DELETE FROM ws_app_versions WHERE app_slug = $1 AND name = $2`, slug, name)
	return err
}

// outline reads what is known of a version of an app; sql.ErrNoRows when there is none.
func outline(ctx context.Context, r sqldb.Reader, slug, version string) (o Outline, err error) {
	var text string
	err = r.QueryRow(ctx, `SELECT t.body FROM ws_apps a
		JOIN ws_app_versions v ON v.app_slug = a.slug AND v.name = CASE WHEN $2 IN ('', 'current') THEN a.version ELSE $2 END
		JOIN ws_texts t ON t.owner = 'app/' || a.slug AND t.hash = v.outline WHERE a.slug = $1`, slug, version).Scan(&text)
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal([]byte(text), &o)
}

// remove deletes an app with everything that is kept of it.
func remove(ctx context.Context, tx *sqldb.Tx, slug string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM ws_apps WHERE slug = $1`, slug); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM ws_app_versions WHERE app_slug = $1`, slug); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM ws_texts WHERE owner = $1`, owner(slug))
	return err
}

// orphan leaves an app without a workspace.
func orphan(ctx context.Context, tx *sqldb.Tx, slug string) error {
	_, err := tx.Exec(ctx, `UPDATE ws_apps SET workspace_id = '' WHERE slug = $1`, slug)
	return err
}

// instance is an instance of an app in a workspace.
type instance struct{ workspaceID, slug, version string }

// instances lists where an app is used, also by workspaces in the bin, which can be restored.
func instances(ctx context.Context, r sqldb.Reader, slug string) ([]instance, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (i instance, err error) {
		var path, summary string
		if err := rows.Scan(&i.workspaceID, &path, &summary); err != nil {
			return i, err
		}
		var said struct {
			AppVersion string `json:"appVersion"`
		}
		err = json.Unmarshal([]byte(summary), &said)
		i.slug, i.version = strings.TrimPrefix(path, "imports/"), said.AppVersion
		return i, err
	}, `SELECT workspace_id, path, summary FROM ws_documents WHERE app_slug = $1 AND app_slug <> '' ORDER BY workspace_id, path`, slug)
}

// workspacesOf gives the slugs of apps by the workspaces that publish them, and those of the apps whose workspace is gone, or
// in the bin.
func workspacesOf(ctx context.Context, r sqldb.Reader) (byWorkspace map[string]string, gone []string, err error) {
	type row struct {
		slug, workspaceID string
		there             int64
	}
	rows, err := sqldb.All(ctx, r, func(rows *sql.Rows) (one row, err error) {
		return one, rows.Scan(&one.slug, &one.workspaceID, &one.there)
	},
		`SELECT a.slug, a.workspace_id, CASE WHEN w.id IS NULL THEN 0 ELSE 1 END
			FROM ws_apps a LEFT JOIN ws_workspaces w ON w.id = a.workspace_id AND w.deleted_at = 0`)
	byWorkspace = make(map[string]string, len(rows))
	for _, one := range rows {
		if one.there == 1 {
			byWorkspace[one.workspaceID] = one.slug
		} else {
			gone = append(gone, one.slug)
		}
	}
	return byWorkspace, gone, err
}

// list reads a page of apps without the hidden ones, and how many there are in all.
func list(ctx context.Context, r sqldb.Reader, dialect access.Dialect, hidden []string, q Query) ([]App, int, error) {
	where, args, err := filter(dialect, hidden, q)
	if err != nil {
		return nil, 0, err
	}
	var total int
	if err := r.QueryRow(ctx, `SELECT COUNT(*) FROM ws_apps a WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	order := map[string]string{"name": "LOWER(a.name)", "slug": "a.folded", "createdAt": "a.created_at", "updatedAt": "a.updated_at"}[q.Sort]
	direction := map[bool]string{true: "DESC", false: "ASC"}[q.Descending]
	args = append(args, q.Limit, q.Offset)
	found, err := sqldb.All(ctx, r, func(rows *sql.Rows) (App, error) { return scan(rows.Scan) },
		fmt.Sprintf(`SELECT %s%sWHERE %s ORDER BY %s %s, a.slug %s LIMIT $%d OFFSET $%d`,
			columns, newest, where, order, direction, direction, len(args)-1, len(args)), args...)
	return found, total, err
}

func filter(dialect access.Dialect, hidden []string, q Query) (where string, args []any, err error) {
	conditions := []string{"1 = 1"}
	bind := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	if len(hidden) > 0 {
		list, err := json.Marshal(hidden)
		if err != nil {
			return "", nil, err
		}
		conditions = append(conditions, `a.slug NOT IN (`+dialect.Elements(bind(string(list)))+`)`)
	}
	if q.WorkspaceID != "" {
		conditions = append(conditions, `a.workspace_id = `+bind(q.WorkspaceID))
	}
	if q.Search != "" {
		like := bind("%" + sqldb.EscapeLike(strings.ToLower(q.Search)) + "%")
		conditions = append(conditions, `(a.folded LIKE `+like+` ESCAPE '!' OR LOWER(a.name) LIKE `+like+` ESCAPE '!' OR LOWER(a.description) LIKE `+like+` ESCAPE '!')`)
	}
	var labels []string
	for _, label := range q.Labels { // labels are a JSON array of texts without quotes in them
		labels = append(labels, `a.labels LIKE `+bind(`%"`+sqldb.EscapeLike(label)+`"%`)+` ESCAPE '!'`)
	}
	if len(labels) > 0 {
		conditions = append(conditions, "("+strings.Join(labels, " OR ")+")")
	}
	return strings.Join(conditions, " AND "), args, nil
}

// Dependant is a workspace that has instances of an app.
type Dependant struct {
	ID, Slug, Name string
	Instances      []Installed
}

// Installed is an instance of an app: its slug, and the version that it uses.
type Installed struct{ Slug, Version string }

// dependants reads those of the workspaces with an instance of an app that the caller may read, and how many there are.
func dependants(ctx context.Context, r sqldb.Reader, readable access.Filter, slug string, limit, offset int) ([]Dependant, int, error) {
	args := append([]any{}, readable.Args...)
	args = append(args, slug)
	where := fmt.Sprintf(`(%s) AND deleted_at = 0 AND id IN (SELECT workspace_id FROM ws_documents WHERE app_slug = $%d AND app_slug <> '')`, readable.SQL, len(args))
	var total int
	if err := r.QueryRow(ctx, `SELECT COUNT(*) FROM ws_workspaces WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	args = append(args, limit, offset)
	found, err := sqldb.All(ctx, r, func(rows *sql.Rows) (d Dependant, err error) { return d, rows.Scan(&d.ID, &d.Slug, &d.Name) },
		fmt.Sprintf(`SELECT id, slug, name FROM ws_workspaces WHERE %s ORDER BY LOWER(name), id LIMIT $%d OFFSET $%d`, where, len(args)-1, len(args)), args...)
	return found, total, err
}

// sweep removes the texts of a version that is gone and that no other version of its app has.
func sweep(ctx context.Context, tx *sqldb.Tx, slug string, gone Version, left []Version) error {
	unused := map[string]bool{gone.tree: true, gone.outline: true}
	tree, err := store.GetTree(ctx, tx, owner(slug), gone.tree)
	if err != nil {
		return err
	}
	for _, entry := range tree {
		unused[entry.Hash] = true
	}
	seen := map[string]bool{}
	for _, v := range left {
		delete(unused, v.outline)
		delete(unused, v.tree)
		if seen[v.tree] {
			continue
		}
		seen[v.tree] = true
		tree, err := store.GetTree(ctx, tx, owner(slug), v.tree)
		if err != nil {
			return err
		}
		for _, entry := range tree {
			delete(unused, entry.Hash)
		}
	}
	for hash := range unused {
		if _, err := tx.Exec(ctx, `DELETE FROM ws_texts WHERE owner = $1 AND hash = $2`, owner(slug), hash); err != nil {
			return err
		}
	}
	return nil
}
