package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/sqldb"
)

// The states of an operation.
const (
	Running   = "running"
	Succeeded = "succeeded"
	Failed    = "failed"
)

// Operation is something long that holds the lock of a workspace.
type Operation struct {
	ID, WorkspaceID, Kind string
	Epoch                 int64
	StartedAt             time.Time
	StartedBy             string
	LeaseUntil            time.Time
	RepositoryID          string
	// Step is what it is doing.
	Step string
	// Plan is what it is about to do to a repository, as JSON; whoever recovers it asks the repository whether it was done.
	Plan string
	// Previous is the lock that it took over, as JSON, which comes back when it fails.
	Previous string
	// Status is one of the above, Result the answer or the error, as JSON.
	Status, Result string
	EndedAt        time.Time
}

const operationColumns = `id, workspace_id, kind, epoch, started_at, started_by, lease_until, repository_id, step, plan, previous, status, result, ended_at`

func scanOperation(row func(...any) error) (o Operation, err error) {
	var started, lease, ended int64
	err = row(&o.ID, &o.WorkspaceID, &o.Kind, &o.Epoch, &started, &o.StartedBy, &lease, &o.RepositoryID, &o.Step, &o.Plan, &o.Previous, &o.Status, &o.Result, &ended)
	o.StartedAt, o.LeaseUntil, o.EndedAt = sqldb.Time(started), sqldb.Time(lease), whenSet(ended)
	return o, err
}

// PutOperation notes an operation that begins.
func PutOperation(ctx context.Context, tx *sqldb.Tx, o Operation) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_operations (id, workspace_id, kind, epoch, started_at, started_by, lease_until, repository_id, plan, previous)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		o.ID, o.WorkspaceID, o.Kind, o.Epoch, sqldb.Millis(o.StartedAt), o.StartedBy, sqldb.Millis(o.LeaseUntil), o.RepositoryID, o.Plan, o.Previous)
	return err
}

// GetOperation reads an operation of a workspace; sql.ErrNoRows when there is none.
func GetOperation(ctx context.Context, r sqldb.Reader, workspaceID, id string) (Operation, error) {
	return scanOperation(r.QueryRow(ctx, `SELECT `+operationColumns+` FROM ws_operations WHERE workspace_id = $1 AND id = $2`, workspaceID, id).Scan)
}

// Operations lists the operations of a workspace, the newest first.
func Operations(ctx context.Context, r sqldb.Reader, workspaceID string, limit int) ([]Operation, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Operation, error) { return scanOperation(rows.Scan) },
		`SELECT `+operationColumns+` FROM ws_operations WHERE workspace_id = $1 ORDER BY started_at DESC, id LIMIT $2`, workspaceID, limit)
}

// RenewOperation lengthens the lease of an operation, notes its step, and tells whether it still runs.
func RenewOperation(ctx context.Context, tx *sqldb.Tx, id, step string, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_operations SET lease_until = $1, step = $2 WHERE id = $3 AND status = '`+Running+`'`, sqldb.Millis(until), step, id)
	return n == 1, err
}

// PlanOperation notes what an operation is about to do, and tells whether it still runs.
func PlanOperation(ctx context.Context, tx *sqldb.Tx, id, plan string, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_operations SET lease_until = $1, plan = $2 WHERE id = $3 AND status = '`+Running+`'`, sqldb.Millis(until), plan, id)
	return n == 1, err
}

// EndOperation notes how an operation ended, and tells whether it was running.
func EndOperation(ctx context.Context, tx *sqldb.Tx, id, status, result string, at time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_operations SET status = $1, result = $2, ended_at = $3 WHERE id = $4 AND status = '`+Running+`'`,
		status, result, sqldb.Millis(at), id)
	return n == 1, err
}

// LostOperations lists the running operations whose lease ended before a time: their process is gone.
func LostOperations(ctx context.Context, r sqldb.Reader, before time.Time) ([]Operation, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Operation, error) { return scanOperation(rows.Scan) },
		`SELECT `+operationColumns+` FROM ws_operations WHERE lease_until < $1 AND status = '`+Running+`' ORDER BY id`, sqldb.Millis(before))
}

// ClaimOperation takes a lost operation over for as long as recovering it takes, unless somebody else has.
func ClaimOperation(ctx context.Context, tx *sqldb.Tx, o Operation, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_operations SET lease_until = $1 WHERE id = $2 AND status = '`+Running+`' AND lease_until = $3`,
		sqldb.Millis(until), o.ID, sqldb.Millis(o.LeaseUntil))
	return n == 1, err
}

// PlannedCommit tells whether a commit is one that an operation of a workspace was about to write: a plan begins with it, so
// that nothing else in it can be taken for one.
func PlannedCommit(ctx context.Context, r sqldb.Reader, workspaceID, commit string) (bool, error) {
	var one int
	err := r.QueryRow(ctx, `SELECT 1 FROM ws_operations WHERE workspace_id = $1 AND plan LIKE $2 LIMIT 1`, workspaceID, `{"commit":"`+commit+`"%`).Scan(&one)
	if sqldb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// EndLeases ends the leases of all running operations.
func EndLeases(ctx context.Context, tx *sqldb.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE ws_operations SET lease_until = 0 WHERE status = '`+Running+`'`)
	return err
}

// ForgetOperations removes operations that ended before a time.
func ForgetOperations(ctx context.Context, tx *sqldb.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM ws_operations WHERE status <> '`+Running+`' AND ended_at < $1`, sqldb.Millis(before))
	return err
}
