package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

// Sync is what a workspace and a repository last had in common.
type Sync struct {
	RepositoryID string `json:"repositoryId"`
	// Place is a fingerprint of where the repository is: another one is another history.
	Place string `json:"place"`
	// Commit is the commit of the target branch that the workspace incorporates, Tree the workspace's folder in it.
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	// Saved is what was last written to the intermediate branch.
	Saved string `json:"saved"`
	// Current tells that the content of the workspace incorporates Saved: nothing else was pulled since.
	Current bool `json:"current"`
	// Base is the hash of the tree of documents that both had. It is kept as a version of kind Base.
	Base string `json:"base"`
	// Previous is the state before the last pull, as JSON, and PulledRevision the edit that the pull was.
	Previous       string `json:"-"`
	PulledRevision int64  `json:"-"`
	// Drift is how the two were last found to differ, and CheckedAt when.
	Drift     string    `json:"-"`
	CheckedAt time.Time `json:"-"`
}

const syncColumns = `s.repository_id, s.place, s.target_commit, s.target_tree, s.saved_commit, s.current, s.previous, s.pulled_revision, s.drift, s.checked_at, COALESCE(v.tree, '')`

const syncTables = ` FROM ws_syncs s LEFT JOIN ws_versions v ON v.workspace_id = s.workspace_id AND v.kind = '` + Base + `' AND v.name = s.repository_id `

func scanSync(row func(...any) error, more ...any) (s Sync, err error) {
	var checked, current int64
	err = row(append(more, &s.RepositoryID, &s.Place, &s.Commit, &s.Tree, &s.Saved, &current, &s.Previous, &s.PulledRevision, &s.Drift, &checked, &s.Base)...)
	s.CheckedAt, s.Current = whenSet(checked), current == 1
	return s, err
}

// GetSync reads what a workspace and a repository had in common; sql.ErrNoRows when they never had anything.
func GetSync(ctx context.Context, r sqldb.Reader, workspaceID, repositoryID string) (Sync, error) {
	return scanSync(r.QueryRow(ctx, `SELECT `+syncColumns+syncTables+`WHERE s.workspace_id = $1 AND s.repository_id = $2`, workspaceID, repositoryID).Scan)
}

// SyncPulledBy reads the sync whose last pull was an edit; sql.ErrNoRows when the edit was no pull, or not the last.
func SyncPulledBy(ctx context.Context, r sqldb.Reader, workspaceID string, revision int64) (Sync, error) {
	return scanSync(r.QueryRow(ctx, `SELECT `+syncColumns+syncTables+`WHERE s.workspace_id = $1 AND s.pulled_revision = $2 AND s.previous <> ''`, workspaceID, revision).Scan)
}

// PutSync keeps what a workspace and a repository have in common, in the place of what they had.
func PutSync(ctx context.Context, tx *sqldb.Tx, workspaceID string, s Sync, at time.Time, by string) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_syncs (workspace_id, repository_id, place, target_commit, target_tree, saved_commit, current, previous, pulled_revision, drift, checked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (workspace_id, repository_id) DO UPDATE SET place = excluded.place, target_commit = excluded.target_commit, target_tree = excluded.target_tree,
			saved_commit = excluded.saved_commit, current = excluded.current, previous = excluded.previous, pulled_revision = excluded.pulled_revision, drift = excluded.drift, checked_at = excluded.checked_at`,
		workspaceID, s.RepositoryID, s.Place, s.Commit, s.Tree, s.Saved, oneIf(s.Current), s.Previous, s.PulledRevision, s.Drift, millisSet(s.CheckedAt))
	if err != nil {
		return err
	}
	return PutVersion(ctx, tx, workspaceID, Version{Kind: Base, Name: s.RepositoryID, Tree: s.Base, CreatedAt: at, CreatedBy: by})
}

// DeleteSync forgets what a workspace and a repository had in common.
func DeleteSync(ctx context.Context, tx *sqldb.Tx, workspaceID, repositoryID string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM ws_syncs WHERE workspace_id = $1 AND repository_id = $2`, workspaceID, repositoryID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM ws_versions WHERE workspace_id = $1 AND kind = $2 AND name = $3`, workspaceID, Base, repositoryID)
	return err
}

// Checked is a sync that is to be looked at, and its workspace.
type Checked struct {
	WorkspaceID string
	Sync
}

// Unchecked lists the syncs of workspaces outside the bin that nobody has looked at since a time, the longest first.
func Unchecked(ctx context.Context, r sqldb.Reader, since time.Time, limit int) ([]Checked, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (c Checked, err error) {
		c.Sync, err = scanSync(rows.Scan, &c.WorkspaceID)
		return c, err
	}, `SELECT s.workspace_id, `+syncColumns+syncTables+`WHERE s.checked_at < $1
		AND s.workspace_id IN (SELECT id FROM ws_workspaces WHERE deleted_at = 0) ORDER BY s.checked_at, s.workspace_id LIMIT $2`, sqldb.Millis(since), limit)
}

// ClaimCheck takes the looking at a sync, unless somebody else has taken it since it was listed.
func ClaimCheck(ctx context.Context, tx *sqldb.Tx, workspaceID string, s Sync, at time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_syncs SET checked_at = $1 WHERE workspace_id = $2 AND repository_id = $3 AND checked_at = $4`,
		sqldb.Millis(at), workspaceID, s.RepositoryID, millisSet(s.CheckedAt))
	return n == 1, err
}

// SetDrift notes how a workspace and a repository were found to differ, and tells whether that is news.
func SetDrift(ctx context.Context, tx *sqldb.Tx, workspaceID, repositoryID, drift string, at time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_syncs SET drift = $1, checked_at = $2 WHERE workspace_id = $3 AND repository_id = $4 AND drift <> $1`,
		drift, sqldb.Millis(at), workspaceID, repositoryID)
	if err != nil || n == 1 {
		return n == 1, err
	}
	_, err = tx.Exec(ctx, `UPDATE ws_syncs SET checked_at = $1 WHERE workspace_id = $2 AND repository_id = $3`, sqldb.Millis(at), workspaceID, repositoryID)
	return false, err
}

// SetPushed notes which content of a workspace that Hold has read a repository has, and the push when it was one.
func SetPushed(ctx context.Context, tx *sqldb.Tx, workspaceID string, revision int64, push *workspaces.Sync) error {
	if push == nil {
		_, err := tx.Exec(ctx, `UPDATE ws_workspaces SET pushed_revision = $1 WHERE id = $2`, revision, workspaceID)
		return err
	}
	text, err := syncText(push)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE ws_workspaces SET pushed_revision = $1, last_push = $2 WHERE id = $3`, revision, text, workspaceID)
	return err
}

// SetPulled notes the last pull of a workspace that Hold has read.
func SetPulled(ctx context.Context, tx *sqldb.Tx, workspaceID string, pull *workspaces.Sync) error {
	text, err := syncText(pull)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE ws_workspaces SET last_pull = $1 WHERE id = $2`, text, workspaceID)
	return err
}
