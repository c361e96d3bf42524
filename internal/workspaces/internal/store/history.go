package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/sqldb"
)

// Revision is an edit: one change of a workspace's documents, of one or of many.
type Revision struct {
	Revision int64
	// Reason is edit, import, undo or rollback; Note says more, such as the name of a version.
	Reason, Note string
	CreatedAt    time.Time
	CreatedBy    string
	Changes      []Change
}

// Change is what an edit did to one document. A hash is empty when there was, or is, no document.
type Change struct {
	Path                  string
	BeforeHash, AfterHash string
	BeforeExt, AfterExt   string
}

// AddRevision notes an edit.
func AddRevision(ctx context.Context, tx *sqldb.Tx, workspaceID string, v Revision) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_revisions (workspace_id, revision, reason, note, created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6)`,
		workspaceID, v.Revision, v.Reason, v.Note, sqldb.Millis(v.CreatedAt), v.CreatedBy)
	if err != nil {
		return err
	}
	for _, c := range v.Changes {
		_, err := tx.Exec(ctx, `INSERT INTO ws_changes (workspace_id, revision, path, before_hash, after_hash, before_ext, after_ext)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, workspaceID, v.Revision, c.Path, c.BeforeHash, c.AfterHash, c.BeforeExt, c.AfterExt)
		if err != nil {
			return err
		}
	}
	return nil
}

func scanRevision(rows *sql.Rows) (v Revision, err error) {
	var created int64
	err = rows.Scan(&v.Revision, &v.Reason, &v.Note, &created, &v.CreatedBy)
	v.CreatedAt = sqldb.Time(created)
	return v, err
}

// History reads edits of a workspace before a revision, the newest first; with a path only those of that document.
func History(ctx context.Context, r sqldb.Reader, workspaceID, path string, before int64, limit int) ([]Revision, error) {
	found, err := sqldb.All(ctx, r, scanRevision, `SELECT revision, reason, note, created_at, created_by FROM ws_revisions
		WHERE workspace_id = $1 AND revision < $2 AND ($3 = '' OR revision IN (SELECT revision FROM ws_changes WHERE workspace_id = $1 AND path = $3))
		ORDER BY revision DESC LIMIT $4`, workspaceID, before, path, limit)
	if err != nil || len(found) == 0 {
		return found, err
	}
	oldest, newest := found[len(found)-1].Revision, found[0].Revision
	type row struct {
		revision int64
		change   Change
	}
	changes, err := sqldb.All(ctx, r, func(rows *sql.Rows) (c row, err error) {
		return c, rows.Scan(&c.revision, &c.change.Path, &c.change.BeforeHash, &c.change.AfterHash, &c.change.BeforeExt, &c.change.AfterExt)
	}, `SELECT revision, path, before_hash, after_hash, before_ext, after_ext FROM ws_changes
		WHERE workspace_id = $1 AND revision BETWEEN $2 AND $3 AND ($4 = '' OR path = $4) ORDER BY revision DESC, path`, workspaceID, oldest, newest, path)
	if err != nil {
		return nil, err
	}
	at := make(map[int64]int, len(found))
	for i := range found {
		at[found[i].Revision] = i
	}
	for _, c := range changes {
		if i, ok := at[c.revision]; ok {
			found[i].Changes = append(found[i].Changes, c.change)
		}
	}
	return found, nil
}

// GetRevision reads one edit of a workspace; sql.ErrNoRows when it is not known any more.
func GetRevision(ctx context.Context, r sqldb.Reader, workspaceID string, revision int64) (Revision, error) {
	found, err := History(ctx, r, workspaceID, "", revision+1, 1)
	if err != nil {
		return Revision{}, err
	}
	if len(found) == 0 || found[0].Revision != revision {
		return Revision{}, sql.ErrNoRows
	}
	return found[0], nil
}

// PruneHistory forgets edits of a workspace made before a time; the texts they named are swept by SweepTexts.
func PruneHistory(ctx context.Context, tx *sqldb.Tx, workspaceID string, before time.Time) (int64, error) {
	_, err := tx.Exec(ctx, `DELETE FROM ws_changes WHERE workspace_id = $1 AND revision IN
		(SELECT revision FROM ws_revisions WHERE workspace_id = $1 AND created_at < $2)`, workspaceID, sqldb.Millis(before))
	if err != nil {
		return 0, err
	}
	return tx.Exec(ctx, `DELETE FROM ws_revisions WHERE workspace_id = $1 AND created_at < $2`, workspaceID, sqldb.Millis(before))
}

// WithHistoryBefore lists the workspaces that have edits made before a time.
func WithHistoryBefore(ctx context.Context, r sqldb.Reader, before time.Time, limit int) ([]string, error) {
	return sqldb.All(ctx, r, scanID, `SELECT DISTINCT workspace_id FROM ws_revisions WHERE created_at < $1 ORDER BY workspace_id LIMIT $2`,
		sqldb.Millis(before), limit)
}

func scanID(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }
