package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"atelier/internal/sqldb"
)

// The kinds of trees that are kept.
const (
	// Native versions are named by people.
	Native = "native"
	// Pushed is what was last pushed to a repository, Imported what was last imported: one of each, without a name.
	Pushed   = "push"
	Imported = "import"
	// First is what a workspace was made with, before anybody edited it: one, without a name. Workspaces that were made
	// before it was kept have none.
	First = "first"
	// Base is what a workspace and a repository had in common, named after the repository; Theirs the other side of a
	// conflict; Remote a version that was pushed to a repository; Planned one that is being pushed, named after the operation.
	Base    = "base"
	Theirs  = "theirs"
	Remote  = "remote"
	Planned = "planned"
)

// Version is a tree of documents that is kept.
type Version struct {
	Kind, Name string
	// Description is JSON: a text, or texts by language.
	Description string
	Tree        string
	Revision    int64
	CreatedAt   time.Time
	CreatedBy   string
	// RepositoryID is where a remote version is.
	RepositoryID string
}

// Entry is a document of a tree.
type Entry struct {
	Path string `json:"path"`
	Ext  string `json:"ext"`
	Hash string `json:"hash"`
}

// Tree lists the current documents of a workspace.
func Tree(ctx context.Context, r sqldb.Reader, workspaceID string) ([]Entry, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (e Entry, err error) { return e, rows.Scan(&e.Path, &e.Ext, &e.Hash) },
		`SELECT path, ext, hash FROM ws_documents WHERE workspace_id = $1 ORDER BY path`, workspaceID)
}

// PutTree keeps a tree of an owner as a text, and gives its hash.
func PutTree(ctx context.Context, tx *sqldb.Tx, owner string, tree []Entry) (string, error) {
	text, err := json.Marshal(tree)
	if err != nil {
		return "", err
	}
	return PutText(ctx, tx, owner, text)
}

// GetTree reads a tree that was kept.
func GetTree(ctx context.Context, r sqldb.Reader, owner, hash string) (tree []Entry, err error) {
	text, err := Text(ctx, r, owner, hash)
	if err != nil {
		return nil, err
	}
	return tree, json.Unmarshal(text, &tree)
}

const versionColumns = `kind, name, description, tree, revision, created_at, created_by, repository_id`

func scanVersion(row func(...any) error) (v Version, err error) {
	var created int64
	err = row(&v.Kind, &v.Name, &v.Description, &v.Tree, &v.Revision, &created, &v.CreatedBy, &v.RepositoryID)
	v.CreatedAt = sqldb.Time(created)
	return v, err
}

// PutVersion keeps a version, in the place of the one of its kind and name.
func PutVersion(ctx context.Context, tx *sqldb.Tx, workspaceID string, v Version) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_versions (workspace_id, `+versionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (workspace_id, kind, name) DO UPDATE SET description = excluded.description, tree = excluded.tree, revision = excluded.revision,
			created_at = excluded.created_at, created_by = excluded.created_by, repository_id = excluded.repository_id`,
		workspaceID, v.Kind, v.Name, v.Description, v.Tree, v.Revision, sqldb.Millis(v.CreatedAt), v.CreatedBy, v.RepositoryID)
	return err
}

// GetVersion reads a version; sql.ErrNoRows when there is none.
func GetVersion(ctx context.Context, r sqldb.Reader, workspaceID, kind, name string) (Version, error) {
	return scanVersion(r.QueryRow(ctx, `SELECT `+versionColumns+` FROM ws_versions WHERE workspace_id = $1 AND kind = $2 AND name = $3`,
		workspaceID, kind, name).Scan)
}

// Versions lists the versions of a kind, the newest first.
func Versions(ctx context.Context, r sqldb.Reader, workspaceID, kind string) ([]Version, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Version, error) { return scanVersion(rows.Scan) },
		`SELECT `+versionColumns+` FROM ws_versions WHERE workspace_id = $1 AND kind = $2 ORDER BY created_at DESC, name DESC`, workspaceID, kind)
}

// DeleteVersion removes a version and tells whether there was one.
func DeleteVersion(ctx context.Context, tx *sqldb.Tx, workspaceID, kind, name string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ws_versions WHERE workspace_id = $1 AND kind = $2 AND name = $3`, workspaceID, kind, name)
	return n == 1, err
}

// SweepTexts removes the texts of a workspace that nothing names any more: no document, no edit, no version.
func SweepTexts(ctx context.Context, tx *sqldb.Tx, workspaceID string) (int64, error) {
	used := map[string]bool{}
	hashes, err := sqldb.All(ctx, tx, scanID, `SELECT hash FROM ws_documents WHERE workspace_id = $1
		UNION SELECT before_hash FROM ws_changes WHERE workspace_id = $1 UNION SELECT after_hash FROM ws_changes WHERE workspace_id = $1
		UNION SELECT tree FROM ws_versions WHERE workspace_id = $1`, workspaceID)
	if err != nil {
		return 0, err
	}
	for _, hash := range hashes {
		used[hash] = true
	}
	trees, err := sqldb.All(ctx, tx, scanID, `SELECT tree FROM ws_versions WHERE workspace_id = $1`, workspaceID)
	if err != nil {
		return 0, err
	}
	for _, hash := range trees {
		tree, err := GetTree(ctx, tx, workspaceID, hash)
		if err != nil {
			return 0, err
		}
		for _, entry := range tree {
			used[entry.Hash] = true
		}
	}
	kept, err := sqldb.All(ctx, tx, scanID, `SELECT hash FROM ws_texts WHERE owner = $1`, workspaceID)
	if err != nil {
		return 0, err
	}
	var swept int64
	for _, hash := range kept {
		if used[hash] {
			continue
		}
		n, err := tx.Exec(ctx, `DELETE FROM ws_texts WHERE owner = $1 AND hash = $2`, workspaceID, hash)
		if err != nil {
			return swept, err
		}
		swept += n
	}
	return swept, nil
}
