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
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
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

const columns = `id, slug, name, description, localized, photo, labels, revision, content_revision, pushed_revision,
	created_at, created_by, updated_at, updated_by, last_push, last_pull, lock_reason, lock_by, lock_at, lock_until, lock_epoch,
	suspended_at, suspended_reason, deleted_at, deleted_by, deleted_slug`

func scan(row func(...any) error) (workspaces.Workspace, error) {
	var w workspaces.Workspace
	var labels, push, pull string
	var created, updated, localized, lockedAt, lockedUntil, suspended, deleted int64
	err := row(&w.ID, &w.Slug, &w.Name, &w.Description, &localized, &w.Photo, &labels, &w.Revision, &w.ContentRevision, &w.PushedRevision,
		&created, &w.CreatedBy, &updated, &w.UpdatedBy, &push, &pull, &w.Lock.Reason, &w.Lock.By, &lockedAt, &lockedUntil, &w.Lock.Epoch,
		&suspended, &w.SuspendedReason, &deleted, &w.DeletedBy, &w.DeletedSlug)
	if err != nil {
		return w, err
	}
	w.CreatedAt, w.UpdatedAt, w.Localized = sqldb.Time(created), sqldb.Time(updated), localized == 1
	w.Lock.At, w.Lock.Until = whenSet(lockedAt), whenSet(lockedUntil)
	w.SuspendedAt, w.DeletedAt = whenSet(suspended), whenSet(deleted)
	if w.LastPush, err = syncOf(push); err != nil {
		return w, err
	}
	if w.LastPull, err = syncOf(pull); err != nil {
		return w, err
	}
	return w, json.Unmarshal([]byte(labels), &w.Labels)
}

// whenSet reads a time of which 0 is none.
func whenSet(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return sqldb.Time(millis)
}

// millisSet writes a time of which 0 is none.
func millisSet(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return sqldb.Millis(t)
}

func syncOf(text string) (*workspaces.Sync, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // there was none
	}
	var s workspaces.Sync
	return &s, json.Unmarshal([]byte(text), &s)
}

func syncText(s *workspaces.Sync) (string, error) {
	text, err := json.Marshal(s)
	return string(text), err
}

func oneIf(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// Insert adds a workspace; a unique failure means that its id or slug is taken.
func Insert(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace) error {
	labels, err := json.Marshal(w.Labels)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ws_workspaces (id, slug, name, description, localized, photo, labels, revision, content_revision,
			pushed_revision, created_at, created_by, updated_at, updated_by, folded, search)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		w.ID, w.Slug, w.Name, w.Description, oneIf(w.Localized), w.Photo, string(labels), w.Revision, w.ContentRevision, w.PushedRevision,
		sqldb.Millis(w.CreatedAt), w.CreatedBy, sqldb.Millis(w.UpdatedAt), w.UpdatedBy, fold(w.Name), searchOf(w))
	return err
}

// Get reads a workspace; sql.ErrNoRows when there is none. One in the bin is none.
func Get(ctx context.Context, r sqldb.Reader, id string) (workspaces.Workspace, error) {
	return scan(r.QueryRow(ctx, `SELECT `+columns+` FROM ws_workspaces WHERE id = $1 AND deleted_at = 0`, id).Scan)
}

// Hold reads a workspace for changing it: until the transaction ends nobody else does. sql.ErrNoRows when there is none.
func Hold(ctx context.Context, tx *sqldb.Tx, id string) (workspaces.Workspace, error) {
	return scan(tx.QueryRow(ctx, `UPDATE ws_workspaces SET revision = revision WHERE id = $1 AND deleted_at = 0 RETURNING `+columns, id).Scan)
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
		`SELECT `+columns+` FROM ws_workspaces WHERE deleted_at = 0 AND id IN (`+dialect.Elements("$1")+`)`, string(list))
}

// SlugPrefix begins a reference to a workspace by its slug; no id does.
const SlugPrefix = "slug:"

// Find reads the workspace that a reference names: its id, or SlugPrefix and its slug. sql.ErrNoRows when there is none.
func Find(ctx context.Context, r sqldb.Reader, ref string) (workspaces.Workspace, error) {
	if slug, ok := strings.CutPrefix(ref, SlugPrefix); ok {
		return scan(r.QueryRow(ctx, `SELECT `+columns+` FROM ws_workspaces WHERE slug = $1 AND deleted_at = 0`, slug).Scan)
	}
	return Get(ctx, r, ref)
}

// Resolve gives the id of the workspace that a reference names; when there is none, the reference or something else that is
// the id of none.
func Resolve(ctx context.Context, r sqldb.Reader, ref string) (id string, err error) {
	slug, named := strings.CutPrefix(ref, SlugPrefix)
	if !named && strings.Contains(ref, ":") { // what others keep under such names is theirs
		return SlugPrefix + ref, nil
	}
	if !named {
		return ref, nil
	}
	err = r.QueryRow(ctx, `SELECT id FROM ws_workspaces WHERE slug = $1 AND deleted_at = 0`, slug).Scan(&id)
	if sqldb.IsNotFound(err) {
		return ref, nil
	}
	return id, err
}

// Known tells which of some workspaces there are, those in the bin included.
func Known(ctx context.Context, r sqldb.Reader, ids []string) ([]string, error) {
	args := make([]any, 0, len(ids))
	for _, id := range ids {
		args = append(args, id)
	}
	return sqldb.All(ctx, r, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT id FROM ws_workspaces WHERE id IN (`+sqldb.In(1, len(ids))+`)`, args...)
}

// Save writes a workspace that Hold has read; not_found when it is not there any more.
func Save(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace) error {
	labels, err := json.Marshal(w.Labels)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `UPDATE ws_workspaces SET slug = $1, name = $2, description = $3, localized = $4, photo = $5, labels = $6,
			revision = $7, content_revision = $8, updated_at = $9, updated_by = $10, folded = $11, search = $12 WHERE id = $13 AND deleted_at = 0`,
		w.Slug, w.Name, w.Description, oneIf(w.Localized), w.Photo, string(labels), w.Revision, w.ContentRevision,
		sqldb.Millis(w.UpdatedAt), w.UpdatedBy, fold(w.Name), searchOf(w), w.ID)
	if err == nil && n == 0 {
		return errs.Missing("workspaces", w.ID)
	}
	return err
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
	order := map[string]string{"name": "folded", "slug": "slug", "createdAt": "created_at", "updatedAt": "updated_at"}[q.Sort]
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
	conditions := []string{"(" + readable.SQL + ")", "deleted_at = 0"}
	args = append(args, readable.Args...)
	var ids, labels []string
	bind := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	if q.Name != "" {
		conditions = append(conditions, `folded LIKE `+bind(containing(q.Name))+` ESCAPE '!'`)
	}
	for _, id := range q.IDs {
		ids = append(ids, bind(id))
	}
	if len(q.IDs) > 0 {
		conditions = append(conditions, `id IN (`+strings.Join(ids, ", ")+`)`)
	}
	for _, label := range q.Labels { // labels are a JSON array of texts without quotes in them; LIKE does not mind the case on every engine
		labels = append(labels, `REPLACE(labels, `+bind(`"`+line(label)+`"`)+`, '') <> labels`)
	}
	if len(q.Labels) > 0 {
		conditions = append(conditions, "("+strings.Join(labels, " OR ")+")")
	}
	if q.SharedWith != "" {
		conditions = append(conditions, `id IN (`+access.SharedWorkspaces(bind(access.TargetUser(q.SharedWith)))+`)`)
	}
	if q.OwnedBy != "" {
		conditions = append(conditions, `id IN (`+access.OwnedWorkspaces(bind(access.TargetUser(q.OwnedBy)))+`)`)
	}
	if q.Slug != "" {
		conditions = append(conditions, `slug = `+bind(q.Slug))
	}
	if q.Search != "" {
		like := bind(containing(q.Search))
		conditions = append(conditions, `(search LIKE `+like+` ESCAPE '!' OR slug LIKE `+like+` ESCAPE '!')`)
	}
	if q.Dirty != nil {
		comparison := map[bool]string{true: ">", false: "<="}[*q.Dirty]
		conditions = append(conditions, `content_revision `+comparison+` pushed_revision`)
	}
	return strings.Join(conditions, " AND "), args
}

// Suspend writes whether a workspace is suspended.
func Suspend(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace) error {
	_, err := tx.Exec(ctx, `UPDATE ws_workspaces SET suspended_at = $1, suspended_reason = $2, revision = revision + 1 WHERE id = $3 AND deleted_at = 0`,
		millisSet(w.SuspendedAt), w.SuspendedReason, w.ID)
	return err
}
