package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/sqldb"
)

// GitHead is the branch main of a workspace as git clients see it.
type GitHead struct {
	Commit string
	// Content is the content revision that the commit is known to have; zero when that is not known.
	Content int64
}

// GitPack is a part of the history of a workspace.
type GitPack struct {
	Number int64
	// Head is the commit that a repository has which received all packs up to this one.
	Head string
	// Hash and Size are those of its content in the blob store.
	Hash string
	Size int64
}

// GetGitHead reads where the branch of a workspace is; the zero head when it has none yet.
func GetGitHead(ctx context.Context, r sqldb.Reader, workspaceID string) (h GitHead, err error) {
	err = r.QueryRow(ctx, `SELECT head, content_revision FROM ws_git_heads WHERE workspace_id = $1`, workspaceID).Scan(&h.Commit, &h.Content)
	if sqldb.IsNotFound(err) {
		return GitHead{}, nil
	}
	return h, err
}

// MoveGitHead moves the branch of a workspace, and tells whether it did: not when it is somewhere else than before.
func MoveGitHead(ctx context.Context, tx *sqldb.Tx, workspaceID string, before string, after GitHead, at time.Time) (bool, error) {
	var n int64
	var err error
	if before == "" {
		n, err = tx.Exec(ctx, `INSERT INTO ws_git_heads (workspace_id, head, content_revision, updated_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (workspace_id) DO NOTHING`, workspaceID, after.Commit, after.Content, sqldb.Millis(at))
	} else {
		n, err = tx.Exec(ctx, `UPDATE ws_git_heads SET head = $1, content_revision = $2, updated_at = $3 WHERE workspace_id = $4 AND head = $5`,
			after.Commit, after.Content, sqldb.Millis(at), workspaceID, before)
	}
	return n == 1, err
}

// GitPacks lists the packs of a workspace in their order.
func GitPacks(ctx context.Context, r sqldb.Reader, workspaceID string) ([]GitPack, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (p GitPack, err error) { return p, rows.Scan(&p.Number, &p.Head, &p.Hash, &p.Size) },
		`SELECT number, head, hash, size FROM ws_git_packs WHERE workspace_id = $1 ORDER BY number`, workspaceID)
}

// AddGitPack adds a pack behind the others.
func AddGitPack(ctx context.Context, tx *sqldb.Tx, workspaceID string, p GitPack, at time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_git_packs (workspace_id, number, head, hash, size, created_at)
		SELECT CAST($1 AS TEXT), COALESCE(MAX(number), 0) + 1, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS BIGINT) FROM ws_git_packs WHERE workspace_id = $1`,
		workspaceID, p.Head, p.Hash, p.Size, sqldb.Millis(at))
	return err
}

// DropGitPacks forgets the packs of a workspace from a number up to another; their contents are removed when nothing uses them.
func DropGitPacks(ctx context.Context, tx *sqldb.Tx, workspaceID string, from, to int64, at time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_contents (hash, since, claimed_at) SELECT DISTINCT hash, CAST($1 AS BIGINT), 0 FROM ws_git_packs
		WHERE workspace_id = $2 AND number BETWEEN $3 AND $4
		ON CONFLICT (hash) DO UPDATE SET since = excluded.since WHERE ws_contents.claimed_at = 0`, sqldb.Millis(at), workspaceID, from, to)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM ws_git_packs WHERE workspace_id = $1 AND number BETWEEN $2 AND $3`, workspaceID, from, to)
	return err
}

// DropGit forgets the branch and all packs of a workspace.
func DropGit(ctx context.Context, tx *sqldb.Tx, workspaceID string, at time.Time) error {
	if err := DropGitPacks(ctx, tx, workspaceID, 0, 1<<62, at); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM ws_git_heads WHERE workspace_id = $1`, workspaceID)
	return err
}

// NoteContent puts a content that was just stored on the list of what is removed unless something uses it by then, and
// tells whether it did: not while it is being removed.
func NoteContent(ctx context.Context, tx *sqldb.Tx, hash string, at time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO ws_contents (hash, since, claimed_at) VALUES ($1, $2, 0)
		ON CONFLICT (hash) DO UPDATE SET since = excluded.since WHERE ws_contents.claimed_at = 0`, hash, sqldb.Millis(at))
	return n == 1, err
}

// UsesPack tells whether a content of the blob store is a part of the history of any workspace.
func UsesPack(ctx context.Context, r sqldb.Reader, hash string) (bool, error) {
	var one int
	err := r.QueryRow(ctx, `SELECT 1 FROM ws_git_packs WHERE hash = $1 LIMIT 1`, hash).Scan(&one)
	if sqldb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// LastEdit reads the edit that made a content revision; false when it is not known any more, or was no edit.
func LastEdit(ctx context.Context, r sqldb.Reader, workspaceID string, revision int64) (v Revision, known bool, err error) {
	found, err := sqldb.All(ctx, r, scanRevision, `SELECT revision, reason, note, created_at, created_by FROM ws_revisions
		WHERE workspace_id = $1 AND revision <= $2 ORDER BY revision DESC LIMIT 1`, workspaceID, revision)
	if err != nil || len(found) == 0 {
		return v, false, err
	}
	return found[0], true, nil
}
