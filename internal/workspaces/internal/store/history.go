package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
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
	// Total is how many documents the edit changed; History gives no more than MostChanges of them.
	Total int
}

// MostChanges is how many changes of an edit History gives: an import may have changed thousands of documents.
const MostChanges = 100

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

// History reads edits of a workspace before a revision, the newest first; with a path only those of that document, and of
// each only what it did to that document.
func History(ctx context.Context, r sqldb.Reader, workspaceID, path string, before int64, limit int) ([]Revision, error) {
	found, err := sqldb.All(ctx, r, scanRevision, `SELECT revision, reason, note, created_at, created_by FROM ws_revisions
		WHERE workspace_id = $1 AND revision < $2 AND ($3 = '' OR revision IN (SELECT revision FROM ws_changes WHERE workspace_id = $1 AND path = $3))
		ORDER BY revision DESC LIMIT $4`, workspaceID, before, path, limit)
	if err != nil || len(found) == 0 {
		return found, err
	}
	return found, addChanges(ctx, r, found, changesOf{workspaceID: workspaceID, path: path, most: MostChanges})
}

// changesOf says which changes of edits are read.
type changesOf struct {
	workspaceID string
	// path is of the document that matters; empty for all.
	path string
	most int
}

// addChanges reads what edits did, which are in the order of History.
func addChanges(ctx context.Context, r sqldb.Reader, edits []Revision, of changesOf) error {
	type row struct {
		revision int64
		total    int
		change   Change
	}
	oldest, newest := edits[len(edits)-1].Revision, edits[0].Revision
	changes, err := sqldb.All(ctx, r, func(rows *sql.Rows) (c row, err error) {
		return c, rows.Scan(&c.revision, &c.total, &c.change.Path, &c.change.BeforeHash, &c.change.AfterHash, &c.change.BeforeExt, &c.change.AfterExt)
	}, `SELECT revision, total, path, before_hash, after_hash, before_ext, after_ext FROM (
			SELECT revision, path, before_hash, after_hash, before_ext, after_ext, COUNT(*) OVER (PARTITION BY revision) AS total,
				ROW_NUMBER() OVER (PARTITION BY revision ORDER BY path) AS place
			FROM ws_changes WHERE workspace_id = $1 AND revision BETWEEN $2 AND $3 AND ($4 = '' OR path = $4)
		) AS numbered WHERE place <= $5 ORDER BY revision DESC, path`, of.workspaceID, oldest, newest, of.path, of.most)
	if err != nil {
		return err
	}
	at := make(map[int64]*Revision, len(edits))
	for i := range edits {
		at[edits[i].Revision] = &edits[i]
	}
	for _, c := range changes {
		if edit := at[c.revision]; edit != nil {
			edit.Total, edit.Changes = c.total, append(edit.Changes, c.change)
		}
	}
	return nil
}

// GetRevision reads one edit of a workspace with all its changes; sql.ErrNoRows when it is not known any more.
func GetRevision(ctx context.Context, r sqldb.Reader, workspaceID string, revision int64) (Revision, error) {
	found, err := sqldb.All(ctx, r, scanRevision, `SELECT revision, reason, note, created_at, created_by FROM ws_revisions
		WHERE workspace_id = $1 AND revision = $2`, workspaceID, revision)
	if err != nil {
		return Revision{}, err
	}
	if len(found) == 0 {
		return Revision{}, sql.ErrNoRows
	}
	err = addChanges(ctx, r, found, changesOf{workspaceID: workspaceID, most: math.MaxInt32})
	return found[0], err
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

// WithHistoryBefore lists the workspaces that have edits made before a time. Those in the bin are left as they are.
func WithHistoryBefore(ctx context.Context, r sqldb.Reader, before time.Time, limit int) ([]string, error) {
	return sqldb.All(ctx, r, scanID, `SELECT DISTINCT v.workspace_id FROM ws_revisions v JOIN ws_workspaces w ON w.id = v.workspace_id
		WHERE v.created_at < $1 AND w.deleted_at = 0 ORDER BY v.workspace_id LIMIT $2`,
		sqldb.Millis(before), limit)
}

func scanID(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }

// LastRevision is the newest edit with one of some reasons that was not undone; sql.ErrNoRows when there is none.
func LastRevision(ctx context.Context, r sqldb.Reader, workspaceID string, reasons []string) (revision int64, err error) {
	args := []any{workspaceID}
	var places []string
	for _, reason := range reasons {
		args = append(args, reason)
		places = append(places, fmt.Sprintf("$%d", len(args)))
	}
	err = r.QueryRow(ctx, `SELECT v.revision FROM ws_revisions v WHERE v.workspace_id = $1 AND v.reason IN (`+strings.Join(places, ", ")+`)
		AND NOT EXISTS (SELECT 1 FROM ws_revisions u WHERE u.workspace_id = $1 AND u.reason = 'undo' AND u.note = CAST(v.revision AS TEXT) AND u.revision > v.revision)
		ORDER BY v.revision DESC LIMIT 1`, args...).Scan(&revision)
	return revision, err
}
