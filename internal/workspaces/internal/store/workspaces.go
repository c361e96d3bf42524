// Package store holds the SQL of the workspaces service, one file a noun.
package store

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"atelier/internal/access"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of workspaces.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "workspaces", Files: files}
}

const columns = `id, slug, name, description, labels, revision, content_revision, pushed_revision, created_at, created_by, updated_at, updated_by`

func scan(row func(...any) error) (workspaces.Workspace, error) {
	var w workspaces.Workspace
	var labels string
	var created, updated int64
	err := row(&w.ID, &w.Slug, &w.Name, &w.Description, &labels, &w.Revision, &w.ContentRevision, &w.PushedRevision,
		&created, &w.CreatedBy, &updated, &w.UpdatedBy)
	if err != nil {
		return w, err
	}
	w.CreatedAt, w.UpdatedAt = sqldb.Time(created), sqldb.Time(updated)
	return w, json.Unmarshal([]byte(labels), &w.Labels)
}

// Insert adds a workspace; a unique failure means that its id or slug is taken.
func Insert(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace) error {
	labels, err := json.Marshal(w.Labels)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ws_workspaces (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		w.ID, w.Slug, w.Name, w.Description, string(labels), w.Revision, w.ContentRevision, w.PushedRevision,
		sqldb.Millis(w.CreatedAt), w.CreatedBy, sqldb.Millis(w.UpdatedAt), w.UpdatedBy)
	return err
}

// Get reads a workspace; sql.ErrNoRows when there is none.
func Get(ctx context.Context, r sqldb.Reader, id string) (workspaces.Workspace, error) {
	return scan(r.QueryRow(ctx, `SELECT `+columns+` FROM ws_workspaces WHERE id = $1`, id).Scan)
}

// ByIDs reads those of some workspaces that exist.
func ByIDs(ctx context.Context, r sqldb.Reader, dialect access.Dialect, ids []string) ([]workspaces.Workspace, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	return sqldb.All(ctx, r, func(rows *sql.Rows) (workspaces.Workspace, error) { return scan(rows.Scan) },
		`SELECT `+columns+` FROM ws_workspaces WHERE id IN (`+dialect.Elements("$1")+`)`, string(list))
}

// SlugPrefix begins a reference to a workspace by its slug; no id does.
const SlugPrefix = "slug:"

// Find reads the workspace that a reference names: its id, or SlugPrefix and its slug. sql.ErrNoRows when there is none.
func Find(ctx context.Context, r sqldb.Reader, ref string) (workspaces.Workspace, error) {
	if slug, ok := strings.CutPrefix(ref, SlugPrefix); ok {
		return scan(r.QueryRow(ctx, `SELECT `+columns+` FROM ws_workspaces WHERE slug = $1`, slug).Scan)
	}
	return Get(ctx, r, ref)
}

// Resolve gives the id of the workspace that a reference names; the reference itself when there is none.
func Resolve(ctx context.Context, r sqldb.Reader, ref string) (id string, err error) {
	slug, named := strings.CutPrefix(ref, SlugPrefix)
	if !named {
		return ref, nil
	}
	err = r.QueryRow(ctx, `SELECT id FROM ws_workspaces WHERE slug = $1`, slug).Scan(&id)
	if sqldb.IsNotFound(err) {
		return ref, nil
	}
	return id, err
}

// Update writes a changed workspace if it is still at the revision before, and tells whether it was.
func Update(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, before int64) (bool, error) {
	labels, err := json.Marshal(w.Labels)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `UPDATE ws_workspaces SET slug = $1, name = $2, description = $3, labels = $4, revision = $5,
			content_revision = $6, updated_at = $7, updated_by = $8 WHERE id = $9 AND revision = $10`,
		w.Slug, w.Name, w.Description, string(labels), w.Revision, w.ContentRevision, sqldb.Millis(w.UpdatedAt), w.UpdatedBy, w.ID, before)
	return n == 1, err
}

// Delete removes a workspace and tells whether there was one.
func Delete(ctx context.Context, tx *sqldb.Tx, id string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ws_workspaces WHERE id = $1`, id)
	return n == 1, err
}

// Columns maps what rules say of workspaces to this table, for the readable workspaces that List takes.
func Columns(db *sqldb.DB) access.List {
	return access.List{Dialect: access.Dialect(db.Driver()), First: 1, Columns: map[string]access.Column{
		"id": {SQL: "id", Kind: access.Text}, "slug": {SQL: "slug", Kind: access.Text}, "name": {SQL: "name", Kind: access.Text},
		"labels": {SQL: "labels", Kind: access.JSON}, "createdBy": {SQL: "created_by", Kind: access.Text},
	}}
}

// List reads workspaces of those that the caller may read, and how many there are in all.
func List(ctx context.Context, r sqldb.Reader, readable access.Filter, q workspaces.ListQuery) ([]workspaces.Workspace, int, error) {
	where, args := filter(readable, q)
	var total int
	if err := r.QueryRow(ctx, `SELECT COUNT(*) FROM ws_workspaces WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	order := map[string]string{"name": "LOWER(name)", "slug": "slug", "createdAt": "created_at", "updatedAt": "updated_at"}[q.Sort]
	direction := "ASC"
	if q.Descending {
		direction = "DESC"
	}
	args = append(args, q.Limit, q.Offset)
	items, err := sqldb.All(ctx, r, func(rows *sql.Rows) (workspaces.Workspace, error) { return scan(rows.Scan) },
		fmt.Sprintf(`SELECT %s FROM ws_workspaces WHERE %s ORDER BY %s %s, id %s LIMIT $%d OFFSET $%d`,
			columns, where, order, direction, direction, len(args)-1, len(args)), args...)
	return items, total, err
}

// filter pushes the caller's rights and the query into SQL, so that counts and pages are right.
func filter(readable access.Filter, q workspaces.ListQuery) (where string, args []any) {
	conditions := []string{"(" + readable.SQL + ")"}
	args = append(args, readable.Args...)
	bind := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	if q.Slug != "" {
		conditions = append(conditions, `slug = `+bind(q.Slug))
	}
	if q.Search != "" {
		like := bind("%" + sqldb.EscapeLike(strings.ToLower(q.Search)) + "%")
		conditions = append(conditions, `(LOWER(name) LIKE `+like+` ESCAPE '!' OR slug LIKE `+like+` ESCAPE '!' OR LOWER(description) LIKE `+like+` ESCAPE '!')`)
	}
	if q.Dirty != nil {
		comparison := map[bool]string{true: ">", false: "<="}[*q.Dirty]
		conditions = append(conditions, `content_revision `+comparison+` pushed_revision`)
	}
	return strings.Join(conditions, " AND "), args
}
