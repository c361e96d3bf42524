package runs

import (
	"context"
	"errors"
	"fmt"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
)

// plain is the journal of a run that is gone when its process dies: it keeps nothing.
type plain struct{ db *sqldb.DB }

// Once does an effect in a transaction.
func (p plain) Once(ctx context.Context, _ string, do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (result any, err error) {
	err = p.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		result, err = do(ctx, tx)
		return err
	})
	return result, err
}

// Durable tells that the run is not begun anew.
func (plain) Durable() bool { return false }

// RunID is empty.
func (plain) RunID() string { return "" }

// journal is that of a run that is begun anew when its process dies.
type journal struct {
	db  *sqldb.DB
	job *job
	// lost is told that the run belongs to another instance.
	lost func()
	// outage is told of failures of the database.
	outage *outage
}

var (
	_ machine.Journal = plain{}
	_ machine.Journal = (*journal)(nil)
)

// errLost is why an effect is not done: the run belongs to another instance, and ends here.
var errLost = fmt.Errorf("the run was taken over by another instance: %w", context.Canceled)

// Once does an effect and the note of it in one transaction, which only the instance that has the run can commit.
func (j *journal) Once(ctx context.Context, place string, do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (result any, err error) {
	if j.job.begun {
		result, found, err := j.earlier(ctx, j.db, place)
		if found || err != nil {
			return result, j.outage.notice(err)
		}
	}
	err = j.db.Tx(ctx, func(tx *sqldb.Tx) error {
		// The row is locked until the commit, so that nobody takes the run over in between.
		n, err := tx.Exec(ctx, `UPDATE runs SET owner = owner WHERE id = $1 AND owner = $2`, j.job.id, j.job.owner)
		if err != nil {
			return err
		}
		if n == 0 {
			return errLost
		}
		if result, err = do(ctx, tx); err != nil {
			return err
		}
		text, err := note(result)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO run_effects (run_id, place, result) VALUES ($1, $2, $3)`, j.job.id, place, text)
		return err
	})
	failpoint.At("runs.effect")
	if errors.Is(err, errLost) {
		j.lost()
	}
	return result, j.outage.notice(err)
}

// Recall gives the result of an effect that was done in an earlier life, without doing it.
func (j *journal) Recall(ctx context.Context, place string) (result any, done bool, err error) {
	if !j.job.begun {
		return nil, false, nil
	}
	result, done, err = j.earlier(ctx, j.db, place)
	return result, done, j.outage.notice(err)
}

// earlier gives the result of an effect that was done in an earlier life.
func (j *journal) earlier(ctx context.Context, r sqldb.Reader, place string) (result any, found bool, err error) {
	var text string
	err = r.QueryRow(ctx, `SELECT result FROM run_effects WHERE run_id = $1 AND place = $2`, j.job.id, place).Scan(&text)
	if sqldb.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if text == "" {
		return value.Undefined{}, true, nil
	}
	result, err = value.Decode(text)
	return result, true, err
}

// note is a result as it is stored; undefined is nothing.
func note(result any) (string, error) {
	const most = 16 << 20
	text, ok := value.JSON(result, "", most)
	if !ok {
		return "", machine.Fail(machine.QuotaExceeded, "What an instruction gave back is too large to be kept; ask for less at a time.")
	}
	return text, nil
}

// Durable tells that the run is begun anew.
func (*journal) Durable() bool { return true }

// RunID is the id of the run.
func (j *journal) RunID() string { return j.job.id }
