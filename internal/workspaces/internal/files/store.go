package files

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

const columns = `id, workspace_id, name, mimetype, size, hash, public, share_token, metadata, expires_after, expires_at, revision,
	created_at, created_by, updated_at, updated_by`

func scan(row func(...any) error) (Stored, error) {
	var s Stored
	var metadata string
	var public, expires, created, updated int64
	err := row(&s.ID, &s.WorkspaceID, &s.Name, &s.Mimetype, &s.Size, &s.Hash, &public, &s.ShareToken, &metadata, &s.ExpiresAfter, &expires,
		&s.Revision, &created, &s.CreatedBy, &updated, &s.UpdatedBy)
	if err != nil {
		return s, err
	}
	s.Public, s.CreatedAt, s.UpdatedAt = public != 0, sqldb.Time(created), sqldb.Time(updated)
	if expires > 0 {
		s.ExpiresAt = sqldb.Time(expires)
	}
	return s, json.Unmarshal([]byte(metadata), &s.Metadata)
}

func scanRows(rows *sql.Rows) (Stored, error) { return scan(rows.Scan) }

// byID reads a file; sql.ErrNoRows when there is none.
func byID(ctx context.Context, r sqldb.Reader, id string) (Stored, error) {
	return scan(r.QueryRow(ctx, `SELECT `+columns+` FROM ws_files WHERE id = $1`, id).Scan)
}

func insert(ctx context.Context, tx *sqldb.Tx, s Stored) error {
	metadata, err := json.Marshal(s.Metadata)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ws_files (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		s.ID, s.WorkspaceID, s.Name, s.Mimetype, s.Size, s.Hash, oneIf(s.Public), s.ShareToken, string(metadata), s.ExpiresAfter, millisSet(s.ExpiresAt),
		s.Revision, sqldb.Millis(s.CreatedAt), s.CreatedBy, sqldb.Millis(s.UpdatedAt), s.UpdatedBy)
	return err
}

// update writes a changed file as the revision after the one that was read; resource_conflict when that is another by now.
func update(ctx context.Context, tx *sqldb.Tx, s Stored) error {
	metadata, err := json.Marshal(s.Metadata)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `UPDATE ws_files SET mimetype = $1, size = $2, hash = $3, public = $4, share_token = $5, metadata = $6, expires_after = $7,
			expires_at = $8, revision = $9, updated_at = $10, updated_by = $11 WHERE id = $12 AND revision = $13`,
		s.Mimetype, s.Size, s.Hash, oneIf(s.Public), s.ShareToken, string(metadata), s.ExpiresAfter, millisSet(s.ExpiresAt),
		s.Revision, sqldb.Millis(s.UpdatedAt), s.UpdatedBy, s.ID, s.Revision-1)
	if err == nil && n == 0 {
		return errs.New(errs.Conflict, "The file was changed by someone else; read it again and repeat your change.")
	}
	return err
}

// remove deletes a file and tells whether there was one.
func remove(ctx context.Context, tx *sqldb.Tx, id string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ws_files WHERE id = $1`, id)
	return n == 1, err
}

// removeExpired deletes files that have ended, and gives them.
func removeExpired(ctx context.Context, tx *sqldb.Tx, now time.Time, most int) ([]Stored, error) {
	return sqldb.All(ctx, tx, scanRows, `DELETE FROM ws_files WHERE id IN (
		SELECT id FROM ws_files WHERE expires_at > 0 AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2) RETURNING `+columns,
		sqldb.Millis(now), most)
}

// millisSet writes a time of which 0 is none.
func millisSet(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return sqldb.Millis(t)
}

func oneIf(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
