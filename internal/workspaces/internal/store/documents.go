package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"atelier/internal/sqldb"
)

// Document is a definition document as it is stored: its text is found by the hash.
type Document struct {
	Path, Ext, Hash string
	Size            int64
	// Revision is that of the workspace when the document was last changed; it is its entity tag.
	Revision int64
	// ObjectID is the id of a page.
	ObjectID string
	// Summary is what lists show, as JSON.
	Summary string
	// Registered tells that it is the index of a workspace that lets others find it. It is written, not read.
	Registered           bool
	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy string
}

// Hash names a text by its content.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

const documentColumns = `path, ext, hash, size, revision, object_id, summary, created_at, created_by, updated_at, updated_by`

func scanDocument(row func(...any) error) (d Document, err error) {
	var created, updated int64
	err = row(&d.Path, &d.Ext, &d.Hash, &d.Size, &d.Revision, &d.ObjectID, &d.Summary, &created, &d.CreatedBy, &updated, &d.UpdatedBy)
	d.CreatedAt, d.UpdatedAt = sqldb.Time(created), sqldb.Time(updated)
	return d, err
}

// GetDocument reads a document; sql.ErrNoRows when there is none.
func GetDocument(ctx context.Context, r sqldb.Reader, workspaceID, path string) (Document, error) {
	return scanDocument(r.QueryRow(ctx, `SELECT `+documentColumns+` FROM ws_documents WHERE workspace_id = $1 AND path = $2`, workspaceID, path).Scan)
}

// Twin gives the path of the document that differs from this one in case alone, or is this one; empty when there is none.
func Twin(ctx context.Context, r sqldb.Reader, workspaceID, path string) (twin string, err error) {
	err = r.QueryRow(ctx, `SELECT path FROM ws_documents WHERE workspace_id = $1 AND folded = $2`, workspaceID, strings.ToLower(path)).Scan(&twin)
	if sqldb.IsNotFound(err) {
		return "", nil
	}
	return twin, err
}

// PageOf finds a page by its id, and its workspace; sql.ErrNoRows when there is none. Workspaces in the bin have none.
func PageOf(ctx context.Context, r sqldb.Reader, objectID string) (workspaceID, path string, err error) {
	err = r.QueryRow(ctx, `SELECT d.workspace_id, d.path FROM ws_documents d JOIN ws_workspaces w ON w.id = d.workspace_id
		WHERE d.object_id = $1 AND d.object_id <> '' AND w.deleted_at = 0`, objectID).Scan(&workspaceID, &path)
	return workspaceID, path, err
}

// Documents reads all documents of a workspace below a prefix, in the order of their paths.
func Documents(ctx context.Context, r sqldb.Reader, workspaceID, prefix string) ([]Document, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Document, error) { return scanDocument(rows.Scan) },
		`SELECT `+documentColumns+` FROM ws_documents WHERE workspace_id = $1 AND path LIKE $2 ESCAPE '!' ORDER BY path`,
		workspaceID, sqldb.EscapeLike(prefix)+"%")
}

// DocumentQuery filters and orders a list of documents. Search is in the slug, the name, the description, the labels or the
// app, in any case; Label is a whole one, as it is written.
type DocumentQuery struct {
	Prefix, Search, Label string
	// Sort is slug, createdAt or updatedAt.
	Sort          string
	Descending    bool
	Limit, Offset int
}

// ListDocuments reads a page of the documents of a workspace, and how many there are in all.
func ListDocuments(ctx context.Context, r sqldb.Reader, workspaceID string, q DocumentQuery) ([]Document, int, error) {
	where, args := `workspace_id = $1 AND path LIKE $2 ESCAPE '!'`, []any{workspaceID, sqldb.EscapeLike(q.Prefix) + "%"}
	if q.Search != "" {
		args = append(args, containing(q.Search))
		where += fmt.Sprintf(` AND search LIKE $%d ESCAPE '!'`, len(args))
	}
	if q.Label != "" {
		args = append(args, onLines([]string{q.Label}))
		where += fmt.Sprintf(` AND REPLACE(labels, $%d, '') <> labels`, len(args)) // LIKE does not mind the case on every engine
	}
	var total int
	if err := r.QueryRow(ctx, `SELECT COUNT(*) FROM ws_documents WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	order := map[string]string{"slug": "path", "createdAt": "created_at", "updatedAt": "updated_at"}[q.Sort]
	direction := map[bool]string{true: "DESC", false: "ASC"}[q.Descending]
	args = append(args, q.Limit, q.Offset)
	found, err := sqldb.All(ctx, r, func(rows *sql.Rows) (Document, error) { return scanDocument(rows.Scan) },
		fmt.Sprintf(`SELECT %s FROM ws_documents WHERE %s ORDER BY %s %s, path %s LIMIT $%d OFFSET $%d`,
			documentColumns, where, order, direction, direction, len(args)-1, len(args)), args...)
	return found, total, err
}

// PutDocument stores a document in the place of the one with its path.
func PutDocument(ctx context.Context, tx *sqldb.Tx, workspaceID string, d Document) error {
	asked := d.asked()
	_, err := tx.Exec(ctx, `INSERT INTO ws_documents (workspace_id, folded, `+documentColumns+`, app_slug, search, labels, registered)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
		ON CONFLICT (workspace_id, path) DO UPDATE SET ext = excluded.ext, hash = excluded.hash, size = excluded.size, revision = excluded.revision,
			summary = excluded.summary, updated_at = excluded.updated_at, updated_by = excluded.updated_by, app_slug = excluded.app_slug,
			search = excluded.search, labels = excluded.labels, registered = excluded.registered`,
		workspaceID, strings.ToLower(d.Path), d.Path, d.Ext, d.Hash, d.Size, d.Revision, d.ObjectID, d.Summary,
		sqldb.Millis(d.CreatedAt), d.CreatedBy, sqldb.Millis(d.UpdatedAt), d.UpdatedBy, asked.appSlug, asked.search, asked.labels, oneIf(d.Registered))
	return err
}

// DeleteDocument removes a document.
func DeleteDocument(ctx context.Context, tx *sqldb.Tx, workspaceID, path string) error {
	_, err := tx.Exec(ctx, `DELETE FROM ws_documents WHERE workspace_id = $1 AND path = $2`, workspaceID, path)
	return err
}

// PutText keeps a text of an owner.
func PutText(ctx context.Context, tx *sqldb.Tx, owner string, text []byte) (hash string, err error) {
	hash = Hash(text)
	_, err = tx.Exec(ctx, `INSERT INTO ws_texts (owner, hash, body) VALUES ($1, $2, $3) ON CONFLICT (owner, hash) DO NOTHING`, owner, hash, string(text))
	return hash, err
}

// Text reads a text of an owner; sql.ErrNoRows when it is not kept any more.
func Text(ctx context.Context, r sqldb.Reader, owner, hash string) ([]byte, error) {
	var body string
	err := r.QueryRow(ctx, `SELECT body FROM ws_texts WHERE owner = $1 AND hash = $2`, owner, hash).Scan(&body)
	return []byte(body), err
}

// EachText reads all texts of the current documents of a workspace, in the order of their paths.
func EachText(ctx context.Context, r sqldb.Reader, workspaceID string, fn func(d Document, text []byte) error) error {
	type row struct {
		d    Document
		body string
	}
	rows, err := sqldb.All(ctx, r, func(rows *sql.Rows) (one row, err error) {
		one.d, err = scanDocument(func(into ...any) error { return rows.Scan(append(into, &one.body)...) })
		return one, err
	}, `SELECT d.path, d.ext, d.hash, d.size, d.revision, d.object_id, d.summary, d.created_at, d.created_by, d.updated_at, d.updated_by, t.body
		FROM ws_documents d JOIN ws_texts t ON t.owner = d.workspace_id AND t.hash = d.hash WHERE d.workspace_id = $1 ORDER BY d.path`, workspaceID)
	if err != nil {
		return err
	}
	for _, one := range rows {
		if err := fn(one.d, []byte(one.body)); err != nil {
			return err
		}
	}
	return nil
}

// Sizes tells how many bytes each current document of a workspace has, by path.
func Sizes(ctx context.Context, r sqldb.Reader, workspaceID string) (map[string]int64, error) {
	type row struct {
		path string
		size int64
	}
	rows, err := sqldb.All(ctx, r, func(rows *sql.Rows) (one row, err error) { return one, rows.Scan(&one.path, &one.size) },
		`SELECT path, size FROM ws_documents WHERE workspace_id = $1`, workspaceID)
	sizes := make(map[string]int64, len(rows))
	for _, one := range rows {
		sizes[one.path] = one.size
	}
	return sizes, err
}

// CopyTexts gives another owner all texts of the current documents of a workspace.
func CopyTexts(ctx context.Context, tx *sqldb.Tx, workspaceID, owner string) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_texts (owner, hash, body)
		SELECT DISTINCT $1, t.hash, t.body FROM ws_texts t JOIN ws_documents d ON t.owner = d.workspace_id AND t.hash = d.hash
		WHERE d.workspace_id = $2 ON CONFLICT (owner, hash) DO NOTHING`, owner, workspaceID)
	return err
}

// WithoutIndex lists the workspaces that have no index.
func WithoutIndex(ctx context.Context, r sqldb.Reader) ([]string, error) {
	return sqldb.All(ctx, r, scanID, `SELECT w.id FROM ws_workspaces w WHERE w.deleted_at = 0 AND NOT EXISTS
		(SELECT 1 FROM ws_documents d WHERE d.workspace_id = w.id AND d.path = 'index') ORDER BY w.id`)
}
